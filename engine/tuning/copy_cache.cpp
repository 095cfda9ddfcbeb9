#include "engine/tuning/copy_cache.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace mpixrma::engine {

namespace {

constexpr std::string_view title = "MPIX-RMA methods of copies, version 1\n";

/// FNV-1a: detects damage; the file's owner and mode protect against forgery.
std::uint64_t checksum(std::string_view text) noexcept {
  std::uint64_t sum = 0xcbf29ce484222325u;
  for (char const byte : text) sum = (sum ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  return sum;
}

std::string hexadecimal(std::uint64_t number) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

bool is_writable_by_owner_only(struct stat const& found) noexcept {
  return found.st_uid == ::geteuid() && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Returns the contents; "" if the file is missing, too long, or not this user's own.
std::string read_own_file(std::string const& path) {
  // O_NONBLOCK: a FIFO in the file's place must not block open().
  int const file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return {};
  struct stat found {};
  std::array<char, 8192> text{};
  ssize_t bytes = 0;
  if (::fstat(file, &found) == 0 && S_ISREG(found.st_mode) && is_writable_by_owner_only(found))
    bytes = ::read(file, text.data(), text.size());
  ::close(file);
  bool const whole = bytes > 0 && static_cast<std::size_t>(bytes) < text.size();
  return {text.data(), whole ? static_cast<std::size_t>(bytes) : 0};
}

bool write_all(int file, std::string_view text) noexcept {
  while (!text.empty()) {
    ssize_t const bytes = ::write(file, text.data(), text.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(bytes));
  }
  return true;
}

/// Removes `prefix` from the beginning of `text`; returns false if `text` does not begin with `prefix`.
bool skip(std::string_view& text, std::string_view prefix) noexcept {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::string cache_directory() {
  char const* const cache = ::secure_getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/mpix-rma";
  char const* const home = ::secure_getenv("HOME");
  if (home != nullptr && *home == '/') return std::string(home) + "/.cache/mpix-rma";
  return {};
}

CopyCache::Turn::~Turn() {
  if (file_ >= 0) ::close(file_);
}

CopyCache::Turn::Turn(Turn&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

CopyCache::CopyCache(std::string directory, std::string key)
    : directory_(std::move(directory)), key_(std::move(key)) {
  if (!directory_.empty()) path_ = directory_ + "/copies-" + hexadecimal(checksum(key_));
}

std::string CopyCache::contents(CopyTable const& table) const {
  std::string text(title);
  text.append("host ").append(key_).append("\nmethods ").append(to_text(table)).append("\n");
  return text.append("sum ").append(hexadecimal(checksum(text))).append("\n");
}

std::optional<CopyTable> CopyCache::read() const {
  if (path_.empty()) return std::nullopt;
  std::string const text = read_own_file(path_);
  std::string_view rest = text;
  if (!skip(rest, title) || !skip(rest, "host " + key_ + "\nmethods ")) return std::nullopt;
  CopyTable table;
  if (!read_copy_methods(rest.substr(0, rest.find('\n')), table).empty()) return std::nullopt;
  if (text != contents(table)) return std::nullopt;
  return table;
}

bool CopyCache::is_usable() const {
  if (directory_.empty()) return false;
  std::string const parent = directory_.substr(0, directory_.rfind('/'));
  if (!parent.empty()) (void)::mkdir(parent.c_str(), S_IRWXU);
  (void)::mkdir(directory_.c_str(), S_IRWXU);
  struct stat found {};
  return ::lstat(directory_.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         is_writable_by_owner_only(found);
}

CopyCache::Turn CopyCache::take_turn() const {
  if (!is_usable()) return Turn();
  std::string const name = path_ + ".lock";
  int const file = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  if (file < 0) return Turn();
  Turn turn(file);
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) return Turn();
  return turn;
}

bool CopyCache::write(CopyTable const& table) const {
  if (!is_usable()) return false;
  std::string name = path_ + ".XXXXXX";
  int const file = ::mkostemp(name.data(), O_CLOEXEC);  // readable and writable by this user only
  if (file < 0) return false;
  bool written = write_all(file, contents(table));
  written = ::close(file) == 0 && written;
  written = written && ::rename(name.c_str(), path_.c_str()) == 0;
  if (!written) ::unlink(name.c_str());
  return written;
}

}  // namespace mpixrma::engine
