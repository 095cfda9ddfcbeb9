/// The main process of the server. It starts the control process and the data processes, each under its user,
/// and restarts the control process when it has ended. It keeps the descriptors that must outlive them: the
/// memory of grants, and the sockets at which the server listens. It reads nothing that clients send.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nam/process/connection.hpp"
#include "nam/server/options.hpp"

namespace mpixrma::nam {

class MainProcess {
 public:
  /// `arguments`: those of the server, for the control process.
  MainProcess(Options const& options, std::vector<std::string> arguments);

  /// Runs until the control process has ended and is not restarted. Returns its exit code.
  int run();

 private:
  struct GrantState {
    std::vector<FileDescriptor> memory;  ///< control block and memory of the grant
    pid_t pid = 0;                       ///< of the data process, while that is a child of this process
    std::optional<uid_t> uid;            ///< the user of the data process, if known
  };

  void choose_users();
  void check_data_users() const;
  void start_control();
  void restart_control();
  void restart_later(std::string const& why);
  void on_message(Message& message);
  void answer(Json const& request, Json content);
  void hold(std::string const& grant, std::vector<FileDescriptor> memory);
  void drop(std::string const& grant);
  Json start_data(Message& message);
  static void kill_data(GrantState const& state);
  static void end_data(GrantState& state);
  void kill_earlier(pid_t pid, uid_t uid) const;
  bool is_data_user(uid_t uid) const noexcept;
  uid_t user_for(std::string const& grant, GrantState const& state) const;
  uid_t free_user(std::string const& grant) const;
  void on_signal(int signal);
  void on_exit(pid_t pid, int status);
  void on_control_exit(int status);

  Options const& options_;
  std::vector<std::string> arguments_;
  bool has_data_users_ = false;
  EventLoop loop_;
  int restart_timer_ = -1;
  std::unique_ptr<Connection> control_;
  pid_t control_pid_ = 0;
  bool was_ready_ = false;
  bool is_ending_ = false;
  std::chrono::milliseconds restart_delay_;
  int exit_code_ = 0;
  std::map<std::string, GrantState> grants_;
  struct Listener {
    FileDescriptor socket;
    std::string host;           ///< as --listen names it; empty for a Unix or inherited socket
    bool is_inherited = false;  ///< made by the service manager
  };
  std::vector<Listener> listeners_;
};

}  // namespace mpixrma::nam
