#include "nam/server/server_keys.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "engine/base/shared_memory.hpp"
#include "nam/protocol/error.hpp"
#include "nam/protocol/private_file.hpp"
#include "nam/protocol/user_secret.hpp"

namespace mpixrma::nam {

namespace {

constexpr std::size_t max_keys = 16;
constexpr std::size_t max_bytes = 4096;

[[noreturn]] void fail(std::filesystem::path const& file, std::string const& why) {
  throw Error(ErrorCode::internal, "the server's key in " + file.string() + ": " + why);
}

}  // namespace

ServerKeys::ServerKeys(std::filesystem::path file) : file_(std::move(file)) {
  if (std::filesystem::exists(file_)) {
    read();
  } else {
    keys_ = {{KeyPair::make(), 0}};
    write(keys_, Target::absent);
  }
}

/// The file has a line for each key: the secret key in hexadecimal, and for an earlier key the time until
/// which it is accepted.
void ServerKeys::read() {
  engine::FileDescriptor const opened(::open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (!opened || ::fstat(opened.get(), &status) != 0) fail(file_, std::strerror(errno));
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0 || status.st_uid != ::geteuid())
    throw Error(ErrorCode::denied, "the server's key in " + file_.string() +
                                       " must belong to the server's user and have mode 0600");
  std::string text(max_bytes, '\0');
  ssize_t const got = ::read(opened.get(), text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  std::istringstream lines(text);
  std::string secret;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::int64_t until = 0;
    words >> secret >> until;
    try {
      keys_.push_back({KeyPair::from_secret(secret_from_hex(secret)), until});
    } catch (Error const&) {
      fail(file_, "it is damaged");
    }
  }
  if (keys_.empty() || keys_.front().until != 0) fail(file_, "it is damaged");
}

/// The file is replaced as a whole, or not at all; the first file does not replace another one.
void ServerKeys::write(std::vector<Key> const& keys, Target target) const {
  std::string text;
  for (Key const& key : keys) {
    text += to_hex(key.pair.secret_key);
    if (key.until != 0) text.append(1, ' ').append(std::to_string(key.until));
    text.append(1, '\n');
  }
  std::filesystem::path const made = file_.string() + ".new";
  ::unlink(made.c_str());
  create_file(made, text);
  int const done =
      target == Target::absent ? ::link(made.c_str(), file_.c_str()) : ::rename(made.c_str(), file_.c_str());
  if (done != 0) fail(file_, std::strerror(errno));
  if (target == Target::absent) ::unlink(made.c_str());
  sync_parent_of(file_);
}

KeyPair const& ServerKeys::find(std::optional<PublicKey> const& expected) const noexcept {
  auto const found = std::find_if(keys_.begin(), keys_.end(), [&](Key const& key) {
    return expected && key.pair.public_key == *expected;
  });
  return found != keys_.end() ? found->pair : current();
}

void ServerKeys::rotate(std::int64_t until) {
  std::vector<Key> keys = keys_;
  // A shorter overlap than an earlier one applies to all earlier keys: one of them may be stolen.
  for (Key& key : keys) key.until = key.until == 0 ? until : std::min(key.until, until);
  keys.insert(keys.begin(), {KeyPair::make(), 0});
  if (keys.size() > max_keys) keys.resize(max_keys);
  write(keys, Target::replaced);
  keys_ = std::move(keys);
}

void ServerKeys::drop_expired(std::int64_t now) {
  std::vector<Key> keys = keys_;
  std::erase_if(keys, [=](Key const& key) { return key.until != 0 && key.until <= now; });
  if (keys.size() == keys_.size() && !has_unwritten_) return;
  // They are not accepted any more, even if they remain in the file.
  keys_ = std::move(keys);
  has_unwritten_ = true;
  write(keys_, Target::replaced);
  has_unwritten_ = false;
}

}  // namespace mpixrma::nam
