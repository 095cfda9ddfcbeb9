/// The client side of the memory server. Calls wait for their answer and throw Error. Not thread-safe.
#pragma once

#include <sys/types.h>

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

/// Time that a client waits for an answer, in milliseconds. Client::expect_work() extends it.
inline constexpr int default_timeout_ms = 30000;

struct ServerTrust;

/// An authenticated connection to a server: over its Unix socket if available and not forbidden by
/// MPIX_NAM_TCP, else over TCP, encrypted, with the user's secret. Over TCP the server must have a key that
/// is pinned (nam/client/known_servers.hpp) or given in the address; before the key is verified, nothing
/// derived from the secret is sent.
class Client {
 public:
  /// Throws Error(unavailable) if nobody listens at the address, and Error(denied) if the server is not known
  /// here, its key or the user of its Unix socket is not the expected one, it does not know the user, or it
  /// does not have the user's secret.
  explicit Client(Address const& address, int timeout_ms = default_timeout_ms);

  /// Sends a request to the process at the other end, and returns its answer. Throws Error(unavailable) if
  /// there is none in time; a late answer is ignored.
  Json request(Json const& request);
  /// Extends the time for the next answer, because the server first stores this many bytes.
  void expect_work(std::uint64_t bytes) noexcept;

  /// As request(), with data in both directions; `received` gets the data of the answer unless it is null.
  Json exchange(Json const& request, std::span<std::byte const> sent, std::vector<std::byte>* received,
                std::vector<FileDescriptor>* descriptors);

  /// Sends a request, which the server executes before later requests. Does not wait for the answer, except
  /// now and then, for one answer to all requests before it.
  void send_unanswered(Json request);

  /// Returns the user who runs the server; nothing if the connection is not local.
  std::optional<uid_t> server_user() const;
  bool is_local() const noexcept { return !shared_->channel.is_protected(); }
  /// Keeps the lease of a session over TCP until this object is destroyed. One round trip; does nothing for a
  /// local session.
  void keep_lease();
  /// The server's key for a TCP connection; empty for a Unix socket.
  std::string const& server_key() const noexcept { return server_key_; }
  /// The connection's descriptor, for polling only; the object receives the data.
  int descriptor() const noexcept { return shared_->channel.descriptor(); }
  /// Whether the connection is open, as far as this host knows.
  bool is_open() const noexcept;

 private:
  Client(FileDescriptor socket, int timeout_ms);
  void authenticate(Address const& server);
  void begin_session(Address const& server, ServerTrust const& trust);
  friend PublicKey offered_key(Address const& server, int timeout_ms);
  Message receive();
  std::optional<Message> next_answer();

  std::shared_ptr<GuardedChannel> shared_;
  int timeout_ms_;
  std::uint64_t work_bytes_ = 0;  ///< of expect_work(), since the last answer
  bool has_version_ = false;      ///< the protocol version was sent to the server
  int late_answers_ = 0;          ///< answers to come for which receive() no longer waits
  int unanswered_ = 0;            ///< number of send_unanswered() calls since the last answer
  std::string server_key_;
};

/// Returns the key that the server at HOST:PORT claims to have, which proves nothing until a session has been
/// opened with it. Throws Error.
PublicKey offered_key(Address const& server, int timeout_ms = default_timeout_ms);

/// Returns the server's address: MPIX_NAM_SERVER (an address, the path of a socket, or HOST:PORT), or the
/// address of the job's first grant, or the default socket.
Address server_address();
/// Returns the grants of the job, over which its windows are spread: MPIX_NAM_ALLOCATION; empty if it is not
/// set.
std::vector<Locator> job_grants();

}  // namespace mpixrma::nam
