/// The client's side of the memory server. Calls wait for their answer, and throw Error. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nam/client/lease_keeper.hpp"
#include "nam/protocol/channel.hpp"
#include "nam/protocol/locator.hpp"
#include "nam/protocol/server_key.hpp"

namespace mpixrma::nam {

/// How long a client waits for an answer, milliseconds.
inline constexpr int default_patience_ms = 30000;

/// An authenticated connection to a server: over its Unix socket where that is at hand, else over TCP,
/// encrypted, with the user's secret. Over TCP the server has to have a key that is pinned
/// (nam/client/known_servers.hpp) or stands in the address; before that is known, nothing is sent that
/// derives from the secret.
class Client {
 public:
  /// Error(unavailable): nobody listens there; denied: the server is not known here, its key has changed, it
  /// does not know who this is, or does not have the user's secret.
  explicit Client(Address const& address, int patience_ms = default_patience_ms);

  /// The answer to a request to the control process.
  Json request(Json const& request);

  /// The same, with data in both directions; `data` receives that of the answer, if it is not null.
  Json exchange(Json const& request, std::span<std::byte const> sent, std::vector<std::byte>* received,
                std::vector<FileDescriptor>* descriptors);

  /// A request that nobody needs an answer to: returns when it is sent. It is served before those that come
  /// after it.
  void tell(Json request);

  bool is_local() const noexcept { return !shared_->channel.is_protected(); }
  /// Of a session over TCP: it lasts as long as this process runs. One round trip; nothing for a local one.
  void keep_lease();
  /// The server's key, over TCP; empty on its host.
  std::string const& server_key() const noexcept { return server_key_; }
  /// Of the connection: what is received from it is the object's.
  int descriptor() const noexcept { return shared_->channel.descriptor(); }
  /// Whether the server has not closed the connection, as far as this host knows.
  bool is_open() const noexcept;

 private:
  Client(FileDescriptor socket, int patience_ms);
  void authenticate(Address const& server);
  friend PublicKey offered_key(Address const& server, int patience_ms);
  Message receive();

  std::shared_ptr<GuardedChannel> shared_;
  int patience_ms_;
  bool has_version_ = false;  ///< the server was told the protocol's
  int told_ = 0;              ///< by tell() since the last answer
  std::string server_key_;
};

/// The key that whoever answers at HOST:PORT says is his: it proves nothing until a session has been opened
/// with it. Throws Error.
PublicKey offered_key(Address const& server, int patience_ms = default_patience_ms);

/// Where the server is: MPIX_NAM_SERVER (an address, the path of a socket, or HOST:PORT), or that of the
/// job's first grant, or the default socket.
Address server_address();
/// The grants of the job, over which its windows are spread: MPIX_NAM_ALLOCATION; none where it is not set.
std::vector<Locator> job_grants();

}  // namespace mpixrma::nam
