/// Sizes and spans of time as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mpixrma::nam {

/// "1G", "512M", "4096": bytes, with binary factors K, M, G, T. Throws Error(bad_request).
std::uint64_t parse_bytes(std::string_view text);
/// The shortest of these that is exact, or else two digits behind the point.
std::string format_bytes(std::uint64_t bytes);

/// "90", "90s", "15m", "2h", "7d": seconds. Throws Error(bad_request).
std::int64_t parse_seconds(std::string_view text);
std::string format_seconds(std::int64_t seconds);

/// Of a window: octal digits, as in 0644. Throws Error(bad_request).
unsigned parse_mode(std::string_view text);

}  // namespace mpixrma::nam
