#include "engine/trace/conversion.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace mpixrma::engine {

namespace {

constexpr char const* lock_name = ".lock";

/// Lock of a whole file. It belongs to the process: it ends with the process, and a child of fork() does not
/// inherit it.
struct flock whole_file(short type) noexcept {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

bool is_locked(std::filesystem::path const& file) noexcept {
  int const fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return false;
  struct flock lock = whole_file(F_WRLCK);
  bool const locked = ::fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  ::close(fd);
  return locked;
}

/// A lock file that serialises processes that end at the same time.
class ConversionLock {
 public:
  explicit ConversionLock(std::string const& records) noexcept
      : fd_(::open((records + "/" + lock_name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    struct flock lock = whole_file(F_WRLCK);
    while (fd_ >= 0 && ::fcntl(fd_, F_SETLKW, &lock) != 0 && errno == EINTR) {
    }
  }
  ~ConversionLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  ConversionLock(ConversionLock const&) = delete;
  ConversionLock& operator=(ConversionLock const&) = delete;

 private:
  int fd_;
};

std::string convert(std::string const& trace, std::string const& path) {
  void* const module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) return ::dlerror();
  auto const function = reinterpret_cast<ConvertTrace>(::dlsym(module, convert_trace_symbol));
  char why[256] = "the module has no function for it";
  return function != nullptr && function(trace.c_str(), why, sizeof why) == 0 ? "" : why;
}

}  // namespace

std::string record_directory(std::string const& trace) { return trace + "/records"; }
std::string trace_anchor(std::string const& trace) { return trace + "/traces.otf2"; }

std::string trace_module(std::string const& libraries) { return libraries + "/mpix-rma/trace/mpix_trace.so"; }

bool lock_records(int fd) noexcept {
  struct flock lock = whole_file(F_WRLCK);
  return ::fcntl(fd, F_SETLK, &lock) == 0;
}

std::string convert_trace_if_last(std::string const& trace, std::string const& module) try {
  std::string const records = record_directory(trace);
  ConversionLock const held(records);
  std::error_code gone;  // another process has converted the records
  for (auto const& file : std::filesystem::directory_iterator(records, gone))
    if (file.path().filename() != lock_name && is_locked(file.path())) return "";
  return gone ? "" : convert(trace, module);
} catch (std::exception const& error) {
  return error.what();
}

}  // namespace mpixrma::engine
