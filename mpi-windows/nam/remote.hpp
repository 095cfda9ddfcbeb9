/// Windows in the user's own grants whose memory this process cannot map: the server runs on another host.
/// Operations are the engine's messages to the process that has the memory.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mpi-windows/nam/connection_watch.hpp"
#include "mpi-windows/nam/grant.hpp"
#include "mpi-windows/nam/session.hpp"

namespace mpixrma::windows {

/// A grant that this process uses so.
class RemoteGrant : public NamSession {
 public:
  /// Throws nam::Error.
  explicit RemoteGrant(nam::Locator const& locator);

  /// As GrantRegistry asks for it.
  static std::string name_of(nam::Locator const& locator) { return NamGrant::name_of(locator); }
  /// The one of the locator, or a new one.
  static std::shared_ptr<RemoteGrant> of(nam::Locator const& locator);
  /// nullptr: it is not used so.
  static std::shared_ptr<RemoteGrant> known(nam::Locator const& locator);

  /// Of the process that has the memory, at engines.
  std::vector<std::byte> const& address() const noexcept { return address_; }
  /// That process, until it is released. When the session ends, operations to it fail,
  /// also those that wait for a connection, which the process refuses then. nullptr: it cannot be reached.
  engine::Peer* peer(engine::Engine& engine);
  /// The caller's engine may go.
  void forget(engine::Engine& engine) noexcept;

 private:
  int on_end();

  std::vector<std::byte> address_;
  std::mutex peers_lock_;
  /// Of this process, by which operations reach the other one.
  struct Use {
    engine::Engine* engine;
    std::uint64_t process;  ///< the other one, as the engine knows it
  };
  std::vector<Use> uses_;
  bool has_ended_ = false;
  ConnectionWatch watch_;  ///< of the session; the last member: its thread uses the others
};

/// `window` is what the grant's session has told. Throws NamError.
std::unique_ptr<ServedWindow> make_remote(std::shared_ptr<RemoteGrant> grant, nam::WindowInfo window);

}  // namespace mpixrma::windows
