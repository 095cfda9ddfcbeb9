/// One line on stderr per event; nothing else in the engine prints.
#pragma once

namespace mpix::engine {

enum class LogLevel : int { error = 0, life = 1, paths = 2 };

/// Sets the highest level that is printed and the number that names this process in the lines.
void log_configure(int verbose, unsigned long process) noexcept;
bool log_enabled(LogLevel level) noexcept;

/// printf-style. Never call on the hot path without log_enabled.
void log(LogLevel level, char const* format, ...) noexcept __attribute__((format(printf, 2, 3)));

}  // namespace mpix::engine
