/// Sessions: how a process shows a target that it was given the target's secret, and what the messages
/// between the two carry from then on in the place of a sender's name.
///
/// The introduction that every connection begins with has a proof over who opens the session with whom: a MAC
/// with the target's secret. From the same secret both sides derive two tokens, which the introduction does
/// not show. Requests carry one, replies the other, and a message without a token that its receiver knows is
/// dropped. A session outlives its connections: an introduction on a new one leads to the same tokens.
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

/// Who opens a session with whom. Sent as it stands; all of it is proven.
struct SessionOpening {
  std::uint64_t origin = 0;
  std::uint64_t origin_incarnation = 0;
  std::uint64_t target = 0;           ///< its secret tells the incarnation
  std::uint64_t connection = 0;       ///< rises with each introduction of the origin, which is taken once
  std::array<std::byte, 16> nonce{};  ///< of the origin, the same for all its sessions
};
static_assert(sizeof(SessionOpening) == 48 && std::has_unique_object_representations_v<SessionOpening>);

/// What the messages of a session carry.
struct SessionTokens {
  std::uint64_t request = 0;
  std::uint64_t reply = 0;
  bool operator==(SessionTokens const&) const = default;
};

/// What a process has of its own for its sessions.
struct Credentials {
  std::uint64_t process = 0;
  std::uint64_t incarnation = 0;      ///< later ones of the same identity have greater numbers
  Secret secret{};                    ///< for those who open sessions with it
  std::array<std::byte, 16> nonce{};  ///< for those that it opens
  /// Who has the secret is let to what is exposed and to nothing else, and may be of any job.
  bool exposed_only = false;
  bool encrypt =
      false;  ///< messages of those who open sessions with it, and those to them, are sealed (seal.hpp)
  /// Besides `secret`, where `exposed_only`: those of sessions, each under an identity of its own.
  std::shared_ptr<SessionSecrets> sessions;

  /// The secret that admits to this process under the identity `target`; nothing where there is none.
  std::optional<Secret> secret_of(std::uint64_t target) const {
    if (target == process) return secret;
    return sessions != nullptr ? sessions->find(target) : std::nullopt;
  }

  /// New ones; without a source of randomness libsodium ends the process.
  static Credentials make(std::uint64_t process, bool exposed_only = false, bool encrypt = false);
};

/// The payload of an introduction: the opening, its proof with the target's secret, and the origin's address.
std::vector<std::byte> make_introduction(Secret const& target, SessionOpening const& opening,
                                         std::span<std::byte const> address);

/// What an introduction said, once it is proven.
struct Introduction {
  SessionOpening opening;
  std::span<std::byte const> address;  ///< a view into the payload
};

/// The identity of the target that an introduction names, which nothing proves yet. 0: it is too short.
std::uint64_t target_of(std::span<std::byte const> payload) noexcept;
/// Reads an introduction; false when it is damaged or whoever made it does not have `secret`.
bool read_introduction(Secret const& secret, std::span<std::byte const> payload, Introduction* out);

/// The tokens of the session, whatever the connection.
SessionTokens tokens_of(Secret const& target, SessionOpening opening);

/// A secret of the one connection that begins with this opening.
Secret connection_key_of(Secret const& target, SessionOpening const& opening);

}  // namespace mpixrma::engine
