/// The audit log: denied requests, and changes of objects that belong to others or to the server.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/shared_memory.hpp"
#include "nam/process/budgets.hpp"

namespace mpixrma::nam {

/// The other end of a connection: "pid 1234" on this host, "10.1.0.6:40000" over TCP, "unknown".
std::string describe_peer(engine::FileDescriptor const& socket);

class AuditLog {
 public:
  struct Act {
    std::string_view user;  ///< empty where the connection is not authenticated
    std::string_view from;  ///< as in describe_peer()
    std::string_view request;
    std::string_view object;
    std::string_view result;  ///< "done", "denied", or omitted_acts
    std::string_view reason = {};
    std::uint64_t omitted = 0;      ///< earlier acts of the user that nobody has recorded
    std::string_view account = {};  ///< the user whose lines these are, if not `user`
  };

  /// Appends to `file`, which only the server's user can read; to the server's log if it is empty. Throws
  /// Error(bad_request).
  explicit AuditLog(std::string file);
  /// Opens the file again, which may have been moved away.
  void reopen();

  /// The result of a line that reports only how many acts were left out.
  static constexpr std::string_view omitted_acts = "omitted";

  /// A line. A user, or the host of a connection without one, has so many lines a second, and all such hosts
  /// together; the next line says how many were left out.
  void record(Act const& act);
  /// Once a second: a line for each whose acts were left out, and who has done nothing since.
  void report_omitted();

 private:
  void write_line(Act const& act, std::uint64_t omitted);
  void write(std::string const& line);

  std::string file_;
  engine::FileDescriptor opened_;
  bool has_failed_ = false;
  Budgets users_;
  Budgets hosts_;
  Budgets all_hosts_;  ///< of one source: a host may have any number of addresses
};

}  // namespace mpixrma::nam
