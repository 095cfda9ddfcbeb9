/// Sizes and time spans in human-readable form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mpixrma::nam {

/// Parses "1G", "512M", "4096": bytes, with binary factors K, M, G, T. Throws Error(bad_request).
std::uint64_t parse_bytes(std::string_view text);
/// Returns the number in the largest unit that is not larger: exactly if it is a multiple of the unit,
/// otherwise with two digits after the decimal point.
std::string format_bytes(std::uint64_t bytes);

/// Parses "90", "90s", "15m", "2h", "7d" into seconds. Throws Error(bad_request).
std::int64_t parse_seconds(std::string_view text);
std::string format_seconds(std::int64_t seconds);

/// Parses the mode of a window: octal digits, as in 0644. Throws Error(bad_request).
unsigned parse_mode(std::string_view text);

}  // namespace mpixrma::nam
