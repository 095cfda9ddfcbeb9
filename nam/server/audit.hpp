/// The audit log: denied requests, and changes of objects that belong to others or to the server.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

/// The other end of a connection: "pid 1234" on this host, "10.1.0.6:40000" over TCP, "unknown".
std::string describe_peer(engine::FileDescriptor const& socket);

class AuditLog {
 public:
  struct Act {
    std::string_view user;  ///< a claimed one where the connection is not authenticated
    std::string_view from;  ///< as of describe_peer()
    std::string_view request;
    std::string_view object;
    std::string_view result;  ///< "done", "denied"
    std::string_view reason = {};
  };

  /// Appends to `file`, which only the server's user can read; to the server's log if it is empty. Throws
  /// Error(bad_request).
  explicit AuditLog(std::string file);
  /// Opens the file again, which may have been moved away.
  void reopen();

  /// Writes a line. The lines of a user, or of the peer of a connection without one, are limited to a number
  /// per second; the next line says how many were left out.
  void record(Act const& act);

 private:
  struct Source {
    double lines = 0;  ///< that may be written now
    std::chrono::steady_clock::time_point seen;
    std::uint64_t omitted = 0;
  };
  /// Returns whether the source may write a line, and sets `*omitted` to the number of lines left out before.
  bool admit(std::string const& source, std::uint64_t* omitted);
  void write(std::string const& line);

  std::string file_;
  engine::FileDescriptor opened_;
  bool has_failed_ = false;
  std::map<std::string, Source> sources_;
};

}  // namespace mpixrma::nam
