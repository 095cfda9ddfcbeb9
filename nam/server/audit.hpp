/// The audit log: denied requests, requests that change objects of the server, and acts of the server itself.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/shared_memory.hpp"
#include "nam/process/token_buckets.hpp"

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
    std::uint64_t omitted = 0;      ///< earlier acts of the user that were not recorded
    std::string_view account = {};  ///< whose budget of lines the act uses, if not `user`'s
  };

  /// Appends to `file`, which is made so that only the server's user can read it; to the server's log if
  /// `file` is empty. Throws Error(bad_request).
  explicit AuditLog(std::string file);
  /// Opens the file again, because log rotation may have moved it away.
  void reopen();

  /// The result of a line that reports only how many acts were left out.
  static constexpr std::string_view omitted_acts = "omitted";

  /// Writes a line. Each user, each host of unauthenticated connections, and all these hosts together have a
  /// budget of lines a second; the next line reports how many acts were left out.
  void record(Act const& act);
  /// Called once a second. Writes a line for each user or host with acts left out since its last line, as far
  /// as its budget permits.
  void report_omitted();

 private:
  void write_line(Act const& act, std::uint64_t omitted);
  void write(std::string const& line);

  std::string file_;
  engine::FileDescriptor opened_;
  bool has_failed_ = false;
  TokenBuckets users_;
  TokenBuckets hosts_;
  TokenBuckets all_hosts_;  ///< for all hosts: one may have any number of addresses
};

}  // namespace mpixrma::nam
