/// The control process: knows the users, keeps grants, windows and names in the catalog, and admits sessions
/// to the data processes. No byte of a window passes through it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "nam/server/main_process_link.hpp"
#include "nam/server/options.hpp"
#include "nam/server/request.hpp"
#include "nam/server/server_state.hpp"

namespace mpixrma::nam {

class ControlServer {
 public:
  /// `reread` returns the present options, or nothing if they are wrong. Throws Error.
  ControlServer(Options options, std::function<std::optional<Options>()> reread,
                MainProcessLink& main_process);

  /// Runs until it is requested to end. Returns the exit code.
  int run();

 private:
  void on_request(ClientId id, Message& message);
  bool is_delayed(std::string const& op, Error const& error, ClientId id);
  Json answer_to(std::string const& op, Request& request);
  void on_signal(int signal);
  void reread_options();
  void end();
  void tick();

  std::function<std::optional<Options>()> reread_;
  ServerState state_;
  int seconds_ending_ = 0;
};

}  // namespace mpixrma::nam
