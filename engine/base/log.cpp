#include "engine/base/log.hpp"

#include <cstdarg>
#include <cstdio>

namespace mpixrma::engine {

void Log::write(LogLevel level, char const* format, ...) const noexcept {
  if (!shows(level)) return;
  // One write per line, so that lines of several processes do not interleave.
  char line[512];
  int used = named_ ? std::snprintf(line, sizeof line, "mpix[%u]: ", static_cast<std::uint32_t>(process_))
                    : std::snprintf(line, sizeof line, "mpix: ");
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

}  // namespace mpixrma::engine
