/// The sockets at which the control process takes connections, and its address.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nam/process/event_loop.hpp"
#include "nam/protocol/locator.hpp"
#include "nam/server/main_process_link.hpp"
#include "nam/server/options.hpp"
#include "nam/server/retry.hpp"
#include "nam/server/server_keys.hpp"

namespace mpixrma::nam {

class Listeners {
 public:
  /// `admit` gets each connection.
  Listeners(EventLoop& loop, std::function<void(FileDescriptor)> admit)
      : loop_(loop), admit_(std::move(admit)) {}
  Listeners(Listeners const&) = delete;
  Listeners& operator=(Listeners const&) = delete;

  /// Takes over the sockets that the main process has, and opens those of the kinds that are missing. Throws
  /// Error.
  void open(Options const& options, MainProcessLink& main_process, ServerKeys const& keys);
  Address const& address() const noexcept { return address_; }
  /// Removes the Unix socket, unless the service manager has made it and passes it to the next server, too.
  void remove_path() const noexcept;
  /// From now on the address has this key, which clients over TCP expect.
  void set_key(std::string const& key) {
    if (address_.port != 0) address_.key = key;
  }

 private:
  void open_unix(Options const& options, MainProcessLink& main_process);
  void open_tcp(Options const& options, std::string const& endpoint, MainProcessLink& main_process);
  void add(FileDescriptor listener);
  void take_connections(FileDescriptor const& listener);

  EventLoop& loop_;
  std::function<void(FileDescriptor)> admit_;
  std::vector<FileDescriptor> listeners_;
  Address address_;
  bool owns_path_ = false;  ///< the server has made the Unix socket
  Retry shortage_log_;
};

}  // namespace mpixrma::nam
