/// The control process's side of its link to the main process (MainProcess).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nam/protocol/channel.hpp"

namespace mpixrma::nam {

/// Limits of messages between the main process and the control process.
inline constexpr ChannelLimits main_process_limits{
    .head_bytes = 64 * 1024, .data_bytes = 0, .descriptors = 3};

class MainProcessLink {
 public:
  /// Takes over the sockets and the memory that the main process has. `patience`: longest time without an
  /// answer. Throws Error(unavailable).
  explicit MainProcessLink(FileDescriptor socket,
                           std::chrono::milliseconds patience = std::chrono::seconds(60));

  int descriptor() const noexcept { return channel_.descriptor(); }

  struct Listener {
    FileDescriptor socket;
    std::string host;           ///< as --listen names it; empty for a Unix or inherited socket
    bool is_inherited = false;  ///< made by the service manager
  };
  /// Sockets at which the server listens already.
  std::vector<Listener> take_listeners() noexcept { return std::exchange(listeners_, {}); }
  /// Returns the list of segments, the control block and the memory of a grant; empty if they do not exist
  /// any more.
  std::vector<FileDescriptor> take_memory(std::string const& grant);
  /// Returns the grants whose memory nobody has taken.
  std::vector<std::string> untaken() const;
  /// Whether data processes run as `uid`.
  bool is_data_user(uid_t uid) const noexcept;

  /// Starts the data process of a grant, which gets `socket`. Throws Error.
  pid_t start(std::string const& grant, FileDescriptor socket);
  /// Reports that a data process of an earlier server continues.
  void report_adopted(std::string const& grant, uid_t uid);
  void hold(std::string const& grant, std::vector<FileDescriptor> memory);
  void drop(std::string const& grant);
  /// Ends a data process that does not end when it is requested to. The main process sends the signal: it can
  /// become the user of the data process.
  void kill(std::string const& grant, pid_t pid);
  /// Whether another process has the memory of a grant open. The main process checks: it can become the user
  /// to whom the memory belongs. Throws Error(unavailable).
  bool is_open_elsewhere(FileDescriptor const& memory);
  void keep_listener(FileDescriptor const& listener, std::string const& host);
  /// Reports to the service manager.
  void notify(std::string const& state);

 private:
  void send(Json const& head, std::vector<FileDescriptor> descriptors);
  void await_resources(std::chrono::milliseconds* waited);
  Message receive();
  Json ask(Json request, std::vector<FileDescriptor> descriptors);
  void await(short events) const;

  Channel channel_;
  std::chrono::milliseconds patience_;
  std::uint64_t requests_ = 0;  ///< number of the last request that has an answer
  std::vector<Listener> listeners_;
  std::map<std::string, std::vector<FileDescriptor>> memory_;
  std::map<std::string, uid_t> adopted_;  ///< users of data processes that another main process has started
  std::uint64_t first_user_ = 0;
  std::uint64_t users_ = 0;
};

}  // namespace mpixrma::nam
