#include "engine/log.hpp"

#include <atomic>
#include <cstdarg>
#include <cstdio>

namespace mpix::engine {

namespace {
std::atomic<int> verbosity{0};
std::atomic<unsigned long> process_name{0};
}  // namespace

void log_configure(int verbose, unsigned long process) noexcept {
  verbosity.store(verbose, std::memory_order_relaxed);
  process_name.store(process, std::memory_order_relaxed);
}

bool log_enabled(LogLevel level) noexcept {
  return static_cast<int>(level) <= verbosity.load(std::memory_order_relaxed);
}

void log(LogLevel level, char const* format, ...) noexcept {
  if (!log_enabled(level)) return;
  // One write per line, so that lines of several processes do not mix.
  char line[512];
  int used = std::snprintf(line, sizeof line,
                           "mpix[%lu]: ", process_name.load(std::memory_order_relaxed) & 0xffffffff);
  std::va_list arguments;
  va_start(arguments, format);
  int const more =
      std::vsnprintf(line + used, sizeof line - static_cast<std::size_t>(used) - 1, format, arguments);
  va_end(arguments);
  if (more > 0) used += more;
  if (used > static_cast<int>(sizeof line) - 2) used = static_cast<int>(sizeof line) - 2;
  line[used] = '\n';
  std::fwrite(line, 1, static_cast<std::size_t>(used) + 1, stderr);
}

}  // namespace mpix::engine
