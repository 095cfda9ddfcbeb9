/// Windows in the user's own grants whose memory this process cannot map, because the server runs on another
/// host. Operations are the engine's messages to the process that has the memory.
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

/// A grant that this process uses over the network.
class RemoteGrant : public NamSession {
 public:
  /// Throws nam::Error.
  explicit RemoteGrant(nam::Locator const& locator);

  /// The key for GrantRegistry.
  static std::string name_of(nam::Locator const& locator) { return NamGrant::name_of(locator); }
  /// Returns the object of the locator, cached or new.
  static std::shared_ptr<RemoteGrant> of(nam::Locator const& locator);
  /// Returns the cached object if its session is open, or nullptr.
  static std::shared_ptr<RemoteGrant> known(nam::Locator const& locator);

  /// Address of the engine of the process that has the memory.
  std::vector<std::byte> const& address() const noexcept { return address_; }
  /// Returns that process as a peer, which the caller releases; nullptr if it is unreachable. When the
  /// session ends, the process rejects connections, and operations to the peer fail, even those that still
  /// wait for a connection.
  engine::Peer* peer(engine::Engine& engine);
  /// Ends a use that began with peer(). The engine may be destroyed once all its uses have ended.
  void forget(engine::Engine& engine) noexcept;

 private:
  int on_end();

  std::vector<std::byte> address_;
  std::mutex peers_lock_;
  /// An engine of this process and its connection to the other process.
  struct Use {
    engine::Engine* engine;
    std::uint64_t process;  ///< the other process's identity in the engine
  };
  std::vector<Use> uses_;
  bool has_ended_ = false;
  ConnectionWatch watch_;  ///< watches the session; last member, because its thread uses the others
};

/// `window` is the description from the grant's session. Throws NamError.
std::unique_ptr<ServedWindow> make_remote(std::shared_ptr<RemoteGrant> grant, nam::WindowInfo window);

}  // namespace mpixrma::windows
