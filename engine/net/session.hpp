/// Sessions: how a process proves to a target that it has the target's secret, and the tokens that identify
/// the sender of later messages.
///
/// The handshake at the start of every connection contains a proof of who opens the session with whom: a MAC
/// with the target's secret. From the same secret both sides derive two tokens, which the handshake does not
/// reveal. Requests carry one token, replies the other, and a message without a token that its receiver knows
/// is dropped. A session outlives its connections: a handshake on a new connection leads to the same tokens.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "engine/net/address.hpp"
#include "engine/net/session_secrets.hpp"

namespace mpixrma::engine {

/// The identities of both sides of a session. Sent in this form; the proof covers all of it.
struct SessionOpening {
  std::uint64_t origin = 0;
  std::uint64_t origin_incarnation = 0;
  std::uint64_t target = 0;           ///< the target's secret identifies its incarnation
  std::uint64_t number = 0;           ///< increases with each handshake of the origin; each is accepted once
  std::uint64_t connection = 1;       ///< Connections::number_of the connection; equal at both sides
  std::array<std::byte, 16> nonce{};  ///< nonce of the origin, equal for all its sessions
};
static_assert(sizeof(SessionOpening) == 56 && std::has_unique_object_representations_v<SessionOpening>);

/// The tokens that the messages of a session carry.
struct SessionTokens {
  std::uint64_t request = 0;
  std::uint64_t reply = 0;
  bool operator==(SessionTokens const&) const = default;
};

/// The rights of peers with a process's secret, and the protection of its messages.
struct CredentialOptions {
  bool exposed_only = false;  ///< as Credentials::exposed_only
  bool encrypt = false;       ///< as Credentials::encrypt
};

/// A process's own data for its sessions.
struct Credentials {
  std::uint64_t process = 0;
  std::uint64_t incarnation = 0;      ///< increases with each incarnation of the same identity
  Secret secret{};                    ///< for processes that open sessions with this one
  std::array<std::byte, 16> nonce{};  ///< for sessions that this process opens
  /// Peers with the secret may access exposed memory only, and may belong to any job.
  bool exposed_only = false;
  bool encrypt = false;  ///< messages of sessions that peers open with this process are encrypted (seal.hpp)
  /// With `exposed_only`: further secrets, one per session, each under its own identity.
  std::shared_ptr<SessionSecrets> sessions;

  /// Returns the secret for sessions with this process under the identity `target`, if any.
  std::optional<Secret> secret_of(std::uint64_t target) const {
    if (target == process) return secret;
    return sessions != nullptr ? sessions->find(target) : std::nullopt;
  }

  /// Creates random credentials; without a source of randomness the process is aborted.
  static Credentials make(std::uint64_t process, CredentialOptions options = {});
};

/// Returns the payload of a handshake: the opening, the proof (a MAC of the opening and the address with the
/// target's secret), and the origin's address.
std::vector<std::byte> make_handshake(Secret const& target, SessionOpening const& opening,
                                      std::span<std::byte const> address);

/// The content of a verified handshake.
struct Handshake {
  SessionOpening opening;
  std::span<std::byte const> address;  ///< a view into the payload
};

/// Returns the target identity in a handshake, which is not verified yet; 0 if the payload is too short.
std::uint64_t target_of(std::span<std::byte const> payload) noexcept;
/// Reads and verifies a handshake; false if it is damaged or its sender does not have `secret`.
bool read_handshake(Secret const& secret, std::span<std::byte const> payload, Handshake* out);

/// Returns the query for the worker addresses of a process that has deferred UCX (address_service.hpp).
/// `opening.number` identifies the query.
std::vector<std::byte> make_address_query(Secret const& target, SessionOpening const& opening);
/// Reads and verifies a query to the process with this secret.
bool read_address_query(Secret const& secret, std::span<std::byte const> payload, SessionOpening* out);
/// Returns the reply: the address of the process; empty if UCX does not start there.
std::vector<std::byte> make_address_reply(Secret const& secret, SessionOpening const& query,
                                          std::span<std::byte const> address);
/// Reads and verifies a reply to `query`. `*address` is a view into the payload.
bool read_address_reply(Secret const& target, SessionOpening const& query, std::span<std::byte const> payload,
                        std::span<std::byte const>* address);

/// Returns the notice that the process in `opening` has lost the connection to the process with this secret.
/// `silent`: the former can no longer change memory of the latter at all.
std::vector<std::byte> make_loss_notice(Secret const& target, SessionOpening const& opening, bool silent);
/// Reads and verifies a notice to the process with this secret.
bool read_loss_notice(Secret const& secret, std::span<std::byte const> payload, SessionOpening* out,
                      bool* silent);

/// Returns the tokens of the session, which do not depend on the connection.
SessionTokens tokens_of(Secret const& target, SessionOpening opening);

/// Returns the secret of the connection that begins with this opening.
Secret connection_key_of(Secret const& target, SessionOpening const& opening);

}  // namespace mpixrma::engine
