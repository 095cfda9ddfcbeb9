/// The log: one line on stderr per event; nothing else in the engine prints.
#pragma once

#include <cstdint>

#include "engine/base/process_name.hpp"

namespace mpixrma::engine {

enum class LogLevel : int { error = 0, life = 1, peers = 2 };

/// The log of an engine.
class Log {
 public:
  /// Logs errors only, without an engine's name.
  constexpr Log() = default;
  /// Logs up to level `verbose`, with the name of `process`.
  constexpr Log(int verbose, std::uint64_t process) noexcept
      : verbose_(verbose), named_(true), process_(process) {}

  bool shows(LogLevel level) const noexcept { return static_cast<int>(level) <= verbose_; }

  /// Returns the name of a process for a line of the log.
  ProcessName name(std::uint64_t process) const noexcept { return {process, process_}; }

  /// printf-style. Never on the hot path without shows().
  void write(LogLevel level, char const* format, ...) const noexcept __attribute__((format(printf, 3, 4)));

 private:
  int verbose_ = 0;
  bool named_ = false;
  std::uint64_t process_ = 0;
};

/// The log for code outside of an engine.
inline constexpr Log common_log;

}  // namespace mpixrma::engine
