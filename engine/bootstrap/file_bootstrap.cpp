#include "engine/bootstrap/file_bootstrap.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/base/liveness.hpp"
#include "engine/base/log.hpp"
#include "engine/base/shared_memory.hpp"
#include "engine/bootstrap/exit_notices.hpp"

namespace {

using mpixrma::engine::common_log;
using mpixrma::engine::FileDescriptor;
using mpixrma::engine::LogLevel;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

using Bytes = std::vector<std::byte>;

constexpr std::size_t name_digits = 16;
constexpr std::size_t largest_address = 1 << 20;
constexpr milliseconds shortest_pause{1};
constexpr milliseconds longest_pause{20};

std::string name_of(std::uint64_t process) {
  std::array<char, name_digits + 1> name{};
  std::snprintf(name.data(), name.size(), "%016llx", static_cast<unsigned long long>(process));
  return name.data();
}

/// Returns nullopt if `name` is not that of a complete file with an address.
std::optional<std::uint64_t> process_of(std::string_view name) {
  std::uint64_t process = 0;
  auto const [end, error] = std::from_chars(name.data(), name.data() + name.size(), process, 16);
  if (name.size() != name_digits || error != std::errc() || end != name.data() + name.size())
    return std::nullopt;
  return process;
}

bool write_all(int file, std::byte const* bytes, std::size_t length) {
  while (length != 0) {
    ssize_t const written = ::write(file, bytes, length);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    length -= static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

struct mpix_file_bootstrap {
 public:
  mpix_file_bootstrap(char const* directory, std::uint64_t process, int timeout_ms)
      : path_(directory), process_(process), timeout_(timeout_ms) {
    ops_.size = sizeof ops_;
    ops_.context = this;
    ops_.process = process;
    ops_.publish = [](void* self, void const* address, std::size_t length) {
      return static_cast<mpix_file_bootstrap*>(self)->publish(static_cast<std::byte const*>(address), length);
    };
    ops_.peer_address = [](void* self, std::uint64_t peer, void const** address, std::size_t* length) {
      return static_cast<mpix_file_bootstrap*>(self)->find(peer, address, length);
    };
    ops_.await_address = [](void* self, std::uint64_t peer) {
      return static_cast<mpix_file_bootstrap*>(self)->await_address(peer) ? 0 : -1;
    };
    ops_.exit_fd = [](void* self) { return static_cast<mpix_file_bootstrap*>(self)->notices_.fd(); };
    ops_.next_exited = [](void* self, std::uint64_t* exited) {
      return static_cast<mpix_file_bootstrap*>(self)->notices_.next(*exited) ? 0 : -1;
    };
  }
  ~mpix_file_bootstrap() {
    if (!published_ || pid_ != mpixrma::engine::own_process_id()) return;
    ::unlinkat(directory_.get(), name_of(process_).c_str(), 0);
    notices_.notify(process_);
  }

  bool open();
  mpix_bootstrap const& ops() const noexcept { return ops_; }
  std::vector<std::uint64_t> processes() const;
  bool wait(std::size_t count) const;

 private:
  char const* open_directory();
  int publish(std::byte const* address, std::size_t length);
  bool await_address(std::uint64_t process);
  int find(std::uint64_t process, void const** address, std::size_t* length);
  bool write_file(std::string const& name, std::byte const* address, std::size_t length) const;
  std::optional<Bytes> read_file(std::uint64_t process) const;
  template <typename Predicate>
  bool wait_until(Predicate done) const;

  std::string path_;
  std::uint64_t process_;
  milliseconds timeout_;
  mpix_bootstrap ops_{};
  FileDescriptor directory_;
  mpixrma::engine::ExitNotices notices_;
  pid_t pid_ = mpixrma::engine::own_process_id();
  bool published_ = false;
  std::mutex lock_;
  std::map<std::uint64_t, Bytes> addresses_;  ///< addresses that were requested
};

/// Opens the directory; returns why it cannot be used, or nullptr.
char const* mpix_file_bootstrap::open_directory() {
  struct stat status {};
  bool const exists = ::mkdir(path_.c_str(), S_IRWXU) == 0 || errno == EEXIST;
  if (exists) directory_ = FileDescriptor(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory_ || ::fstat(directory_.get(), &status) != 0) return std::strerror(errno);
  if (status.st_uid != ::geteuid()) return "it belongs to another user";
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) return "other users can access it; its mode must be 0700";
  return notices_.open(directory_.get()) ? nullptr : std::strerror(errno);
}

bool mpix_file_bootstrap::open() {
  char const* const reason = open_directory();
  if (reason != nullptr)
    common_log.write(LogLevel::error, "the directory %s cannot be used to find processes: %s", path_.c_str(),
                     reason);
  return reason == nullptr;
}

bool mpix_file_bootstrap::write_file(std::string const& name, std::byte const* address,
                                     std::size_t length) const {
  int const flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
  FileDescriptor const file(::openat(directory_.get(), name.c_str(), flags, S_IRUSR | S_IWUSR));
  return file && write_all(file.get(), address, length);
}

/// The file appears atomically with its content and does not replace an existing file.
int mpix_file_bootstrap::publish(std::byte const* address, std::size_t length) {
  std::string const name = name_of(process_);
  std::string const unfinished = "." + name + "." + std::to_string(pid_);
  bool const written = write_file(unfinished, address, length);
  published_ =
      written && ::linkat(directory_.get(), unfinished.c_str(), directory_.get(), name.c_str(), 0) == 0;
  int const error = errno;
  ::unlinkat(directory_.get(), unfinished.c_str(), 0);
  if (published_) return 0;
  common_log.write(LogLevel::error, "process %s cannot publish its address in %s: %s", name.c_str(),
                   path_.c_str(),
                   error == EEXIST ? "a process with this identity exists" : std::strerror(error));
  return -1;
}

std::optional<Bytes> mpix_file_bootstrap::read_file(std::uint64_t process) const {
  FileDescriptor const file(
      ::openat(directory_.get(), name_of(process).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  bool const ours = file && ::fstat(file.get(), &status) == 0 && status.st_uid == ::geteuid();
  if (!ours || static_cast<std::size_t>(status.st_size) > largest_address) return std::nullopt;
  Bytes bytes(static_cast<std::size_t>(status.st_size));
  std::size_t got = 0;
  while (got < bytes.size()) {
    ssize_t const read = ::read(file.get(), bytes.data() + got, bytes.size() - got);
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) return std::nullopt;
    got += static_cast<std::size_t>(read);
  }
  return bytes;
}

template <typename Predicate>
bool mpix_file_bootstrap::wait_until(Predicate done) const {
  auto const end = steady_clock::now() + timeout_;
  for (milliseconds pause = shortest_pause; !done(); pause = std::min(2 * pause, longest_pause)) {
    if (steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(pause);
  }
  return true;
}

bool mpix_file_bootstrap::await_address(std::uint64_t process) {
  std::optional<Bytes> found;
  bool const there = wait_until([&] {
    found = read_file(process);
    return found.has_value();
  });
  if (!there) {
    common_log.write(LogLevel::error, "process %s has no address in %s: looked for it for %lld ms",
                     name_of(process).c_str(), path_.c_str(), static_cast<long long>(timeout_.count()));
    return false;
  }
  std::lock_guard const held(lock_);
  addresses_.try_emplace(process, std::move(*found));
  return true;
}

int mpix_file_bootstrap::find(std::uint64_t process, void const** address, std::size_t* length) {
  // First what await_address() has read: the file disappears when the process ends.
  auto const read_before = [&] {
    std::lock_guard const held(lock_);
    return addresses_.contains(process);
  };
  if (!read_before() && !await_address(process)) return -1;
  std::lock_guard const held(lock_);
  Bytes const& kept = addresses_.at(process);
  *address = kept.data();
  *length = kept.size();
  return 0;
}

std::vector<std::uint64_t> mpix_file_bootstrap::processes() const {
  std::vector<std::uint64_t> found;
  std::unique_ptr<DIR, int (*)(DIR*)> const directory(::opendir(path_.c_str()), &::closedir);
  if (!directory) return found;
  while (dirent const* const entry = ::readdir(directory.get())) {
    if (auto const process = process_of(entry->d_name)) found.push_back(*process);
  }
  std::ranges::sort(found);
  return found;
}

bool mpix_file_bootstrap::wait(std::size_t count) const {
  std::size_t there = 0;
  if (wait_until([&] { return (there = processes().size()) >= count; })) return true;
  common_log.write(LogLevel::error, "%zu of %zu processes have an address in %s: waited for %lld ms", there,
                   count, path_.c_str(), static_cast<long long>(timeout_.count()));
  return false;
}

namespace {

/// For callers in C: returns `failure` if memory is exhausted.
template <typename Result, typename Body>
Result without_exceptions(Result failure, Body body) noexcept {
  try {
    return body();
  } catch (std::bad_alloc const&) {
    common_log.write(LogLevel::error, "no memory to find processes");
    return failure;
  }
}

}  // namespace

int mpix_file_bootstrap_open(const char* directory, uint64_t process, int timeout_ms,
                             mpix_file_bootstrap_t** bootstrap) {
  return without_exceptions(-1, [&] {
    auto made = std::make_unique<mpix_file_bootstrap>(directory, process, timeout_ms);
    if (!made->open()) return -1;
    *bootstrap = made.release();
    return 0;
  });
}

const struct mpix_bootstrap* mpix_file_bootstrap_get(mpix_file_bootstrap_t* bootstrap) {
  return &bootstrap->ops();
}

size_t mpix_file_bootstrap_processes(mpix_file_bootstrap_t* bootstrap, uint64_t* processes, size_t capacity) {
  return without_exceptions(std::size_t{0}, [&] {
    auto const found = bootstrap->processes();
    std::copy_n(found.begin(), std::min(capacity, found.size()), processes);
    return found.size();
  });
}

int mpix_file_bootstrap_wait(mpix_file_bootstrap_t* bootstrap, size_t count) {
  return without_exceptions(-1, [&] { return bootstrap->wait(count) ? 0 : -1; });
}

void mpix_file_bootstrap_close(mpix_file_bootstrap_t* bootstrap) { delete bootstrap; }
