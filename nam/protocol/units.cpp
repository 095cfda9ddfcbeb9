#include "nam/protocol/units.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <limits>

#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

namespace {

struct Unit {
  char letter;
  std::uint64_t factor;
};

constexpr std::array<Unit, 4> byte_units{Unit{'T', 1ull << 40}, Unit{'G', 1ull << 30}, Unit{'M', 1ull << 20},
                                         Unit{'K', 1ull << 10}};
constexpr std::array<Unit, 4> time_units{Unit{'d', 86400}, Unit{'h', 3600}, Unit{'m', 60}, Unit{'s', 1}};

template <std::size_t Count>
std::uint64_t parse(std::string_view text, std::array<Unit, Count> const& units, char const* what) {
  std::uint64_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view const rest = text.substr(static_cast<std::size_t>(end - text.data()));
  std::uint64_t factor = rest.empty() ? 1 : 0;
  for (Unit const& unit : units) {
    if (rest.size() == 1 && (rest[0] | 0x20) == (unit.letter | 0x20)) factor = unit.factor;
  }
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (error != std::errc{} || factor == 0 || value > largest / factor)
    throw Error(ErrorCode::bad_request, "'" + std::string(text) + "' is not " + what);
  return value * factor;
}

}  // namespace

std::uint64_t parse_bytes(std::string_view text) {
  return parse(text, byte_units, "a number of bytes, as in 4096, 512M or 1G");
}

std::string format_bytes(std::uint64_t bytes) {
  for (Unit const& unit : byte_units) {
    if (bytes < unit.factor) continue;
    if (bytes % unit.factor == 0) return std::to_string(bytes / unit.factor) + unit.letter;
    char text[32];
    std::snprintf(text, sizeof text, "%.2f%c", static_cast<double>(bytes) / static_cast<double>(unit.factor),
                  unit.letter);
    return text;
  }
  return std::to_string(bytes);
}

std::int64_t parse_seconds(std::string_view text) {
  return static_cast<std::int64_t>(parse(text, time_units, "a time, as in 90s, 15m, 2h or 7d"));
}

std::string format_seconds(std::int64_t seconds) {
  for (Unit const& unit : time_units) {
    auto const factor = static_cast<std::int64_t>(unit.factor);
    if (seconds >= 2 * factor || (seconds >= factor && seconds % factor == 0))
      return std::to_string(seconds / factor) + unit.letter;
  }
  return std::to_string(seconds) + "s";
}

unsigned parse_mode(std::string_view text) {
  unsigned mode = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  if (error != std::errc() || end != text.data() + text.size() || (mode & ~0666u) != 0)
    throw Error(ErrorCode::bad_request,
                "a mode is octal, as in 0644: read (4) and write (2) for owner, group and others, not '" +
                    std::string(text) + "'");
  return mode;
}

}  // namespace mpixrma::nam
