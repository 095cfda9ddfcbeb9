/// How a client and a server show each other over TCP that they have the same secret of a user, which does
/// not travel: a challenge from each side, and a MAC over both.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "nam/protocol/user_secret.hpp"

namespace mpix::nam {

/// What both sides have said when the proofs are made.
struct Challenge {
  std::string user;
  std::string client_nonce;
  std::string server_nonce;
};

enum class Prover { client, server };

std::string make_proof(UserSecret const& secret, Prover prover, Challenge const& challenge);
/// In constant time.
bool is_proof(UserSecret const& secret, Prover prover, Challenge const& challenge, std::string const& proof);

/// Encrypts for the other side of a session that was opened with this challenge.
std::vector<std::byte> seal(UserSecret const& secret, Challenge const& challenge,
                            std::span<std::byte const> plain);
/// Throws Error(malformed) where it was not made by seal() with the same secret and challenge.
std::vector<std::byte> unseal(UserSecret const& secret, Challenge const& challenge,
                              std::span<std::byte const> sealed);

}  // namespace mpix::nam
