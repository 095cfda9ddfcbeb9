#include "engine/base/liveness.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace mpixrma::engine {

pid_t own_process = [] {
  (void)::pthread_atfork(nullptr, nullptr, [] { own_process = ::getpid(); });
  return ::getpid();
}();

namespace {

struct ProcessStatus {
  char state = '\0';
  long threads = 0;
  std::uint64_t start_time = 0;
};

/// Returns false if the process does not exist or its state cannot be read.
bool read_status(pid_t pid, ProcessStatus* status) noexcept {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
  int const file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char line[1024];  // a name of at most 64 characters and about 20 numbers before the last field needed
  ssize_t const got = ::read(file, line, sizeof line - 1);
  ::close(file);
  if (got <= 0) return false;
  line[got] = '\0';
  // The name in parentheses may contain any character, including spaces and parentheses.
  char const* const name_end = std::strrchr(line, ')');
  if (name_end == nullptr) return false;
  // Fields 3, 20 and 22 of proc(5).
  return std::sscanf(name_end + 1,
                     " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %*s %" SCNu64,
                     &status->state, &status->threads, &status->start_time) == 3;
}

}  // namespace

pid_t own_process_id() noexcept { return own_process; }

bool process_is_alive(pid_t pid) noexcept {
  if (::kill(pid, 0) != 0 && errno == ESRCH) return false;
  ProcessStatus status;
  if (!read_status(pid, &status)) return true;
  // If the first thread of a process has ended, its state is reported although other threads may still run.
  return (status.state != 'Z' && status.state != 'X') || status.threads > 1;
}

std::uint64_t start_time_of(pid_t pid) noexcept {
  ProcessStatus status;
  return read_status(pid, &status) ? status.start_time : 0;
}

}  // namespace mpixrma::engine
