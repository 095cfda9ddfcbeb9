#include "nam/protocol/handshake.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "engine/segment/shared_memory.hpp"
#include "nam/protocol/error.hpp"

namespace mpix::nam {

namespace {

using Mac = std::array<unsigned char, crypto_auth_hmacsha256_BYTES>;
static_assert(std::tuple_size_v<UserSecret> == crypto_auth_hmacsha256_KEYBYTES);
static_assert(crypto_secretbox_KEYBYTES == crypto_auth_hmacsha256_BYTES);

void require_sodium() {
  if (sodium_init() < 0) std::abort();
}

std::string hex(unsigned char const* bytes, std::size_t length) {
  std::string text(2 * length + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), bytes, length);
  text.pop_back();
  return text;
}

/// Each text with its length before it, so that two cannot be taken for one.
void cover(crypto_auth_hmacsha256_state& state, std::string_view text) {
  std::uint64_t const length = text.size();
  crypto_auth_hmacsha256_update(&state, reinterpret_cast<unsigned char const*>(&length), sizeof length);
  crypto_auth_hmacsha256_update(&state, reinterpret_cast<unsigned char const*>(text.data()), text.size());
}

Mac mac_of(UserSecret const& secret, std::string_view purpose, Challenge const& challenge) {
  require_sodium();
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, secret.data(), secret.size());
  for (std::string_view const part :
       {purpose, std::string_view(challenge.user), std::string_view(challenge.client_nonce),
        std::string_view(challenge.server_nonce)})
    cover(state, part);
  Mac mac;
  crypto_auth_hmacsha256_final(&state, mac.data());
  return mac;
}

std::string_view purpose_of(Prover prover) noexcept {
  return prover == Prover::client ? "mpix nam client proof 1" : "mpix nam server proof 1";
}

unsigned char const* raw(std::byte const* bytes) noexcept {
  return reinterpret_cast<unsigned char const*>(bytes);
}
unsigned char* raw(std::byte* bytes) noexcept { return reinterpret_cast<unsigned char*>(bytes); }

}  // namespace

std::string random_identifier() {
  require_sodium();
  std::array<unsigned char, 16> bytes;
  randombytes_buf(bytes.data(), bytes.size());
  return hex(bytes.data(), bytes.size());
}

UserSecret random_secret() {
  require_sodium();
  UserSecret secret;
  randombytes_buf(secret.data(), secret.size());
  return secret;
}

std::optional<UserSecret> read_secret(std::filesystem::path const& file) {
  engine::FileDescriptor const opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (!opened || ::fstat(opened.get(), &status) != 0) return std::nullopt;
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0 || status.st_uid != ::geteuid())
    throw Error(ErrorCode::denied,
                "the secret in " + file.string() + " is not its owner's alone; chmod 600 it");
  std::string text(2 * std::tuple_size_v<UserSecret>, '\0');
  if (::read(opened.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw Error(ErrorCode::malformed, "there is no secret in " + file.string());
  return secret_from_hex(text);
}

void write_secret(std::filesystem::path const& file, UserSecret const& secret) {
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  engine::FileDescriptor const opened(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  std::string const text = to_hex(secret) + "\n";
  if (!opened || ::fchmod(opened.get(), S_IRUSR | S_IWUSR) != 0 ||
      ::write(opened.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw Error(ErrorCode::internal, "cannot write " + file.string() + ": " + std::strerror(errno));
}

std::string to_hex(UserSecret const& secret) { return hex(secret.data(), secret.size()); }

UserSecret secret_from_hex(std::string const& text) {
  UserSecret secret;
  std::size_t length = 0;
  if (sodium_hex2bin(secret.data(), secret.size(), text.c_str(), text.size(), nullptr, &length, nullptr) !=
          0 ||
      length != secret.size() || text.size() != 2 * length)
    throw Error(ErrorCode::malformed, "this is not a secret");
  return secret;
}

std::string make_proof(UserSecret const& secret, Prover prover, Challenge const& challenge) {
  Mac const mac = mac_of(secret, purpose_of(prover), challenge);
  return hex(mac.data(), mac.size());
}

bool is_proof(UserSecret const& secret, Prover prover, Challenge const& challenge, std::string const& proof) {
  std::string const expected = make_proof(secret, prover, challenge);
  return proof.size() == expected.size() &&
         sodium_memcmp(proof.data(), expected.data(), expected.size()) == 0;
}

std::vector<std::byte> seal(UserSecret const& secret, Challenge const& challenge,
                            std::span<std::byte const> plain) {
  Mac const key = mac_of(secret, "mpix nam key 1", challenge);
  std::vector<std::byte> sealed(crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES + plain.size());
  randombytes_buf(sealed.data(), crypto_secretbox_NONCEBYTES);
  crypto_secretbox_easy(raw(sealed.data() + crypto_secretbox_NONCEBYTES), raw(plain.data()), plain.size(),
                        raw(sealed.data()), key.data());
  return sealed;
}

std::vector<std::byte> unseal(UserSecret const& secret, Challenge const& challenge,
                              std::span<std::byte const> sealed) {
  constexpr std::size_t overhead = crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES;
  if (sealed.size() < overhead) throw Error(ErrorCode::malformed, "what was sealed is cut");
  Mac const key = mac_of(secret, "mpix nam key 1", challenge);
  std::vector<std::byte> plain(sealed.size() - overhead);
  if (crypto_secretbox_open_easy(raw(plain.data()), raw(sealed.data() + crypto_secretbox_NONCEBYTES),
                                 sealed.size() - crypto_secretbox_NONCEBYTES, raw(sealed.data()),
                                 key.data()) != 0)
    throw Error(ErrorCode::malformed, "what was sealed is damaged");
  return plain;
}

}  // namespace mpix::nam
