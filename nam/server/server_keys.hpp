/// The key pairs of a server, in a file of its directory: the current one, and earlier ones that are accepted
/// for some time after a rotation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "nam/protocol/server_key.hpp"

namespace mpixrma::nam {

class ServerKeys {
 public:
  /// Makes the file and a key if there is none. Throws Error(denied) if others can read or own the file,
  /// another Error if it is damaged or cannot be made.
  explicit ServerKeys(std::filesystem::path file);

  KeyPair const& current() const noexcept { return keys_.front().pair; }
  /// Returns the key that a client expects, if it is among them; else the current one.
  KeyPair const& find(std::optional<PublicKey> const& expected) const noexcept;

  /// Replaces the current key by a new one. It and earlier ones are accepted until `until` (seconds since
  /// 1970) at the longest. Throws Error(internal, no_space), and then nothing has changed.
  void rotate(std::int64_t until);
  /// Forgets earlier keys that have expired. Throws Error(internal, no_space) if they remain in the file.
  void drop_expired(std::int64_t now);

 private:
  struct Key {
    KeyPair pair;
    std::int64_t until = 0;  ///< 0: the current one
  };

  void read();
  enum class Target { absent, replaced };
  void write(std::vector<Key> const& keys, Target target) const;

  std::filesystem::path file_;
  std::vector<Key> keys_;       ///< the current one first
  bool has_unwritten_ = false;  ///< the file has keys that were dropped
};

}  // namespace mpixrma::nam
