/// Names of grants and windows that lead to their server: what MPIX_NAM_ALLOCATION and port names are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mpixrma::nam {

/// Where a server listens.
struct Address {
  std::string unix_path;
  std::string host;
  std::uint16_t port = 0;  ///< 0: no TCP
  /// The server's public key (nam/protocol/server_key.hpp), by which it is known over TCP; empty: whoever
  /// gives the address does not say.
  std::string key = {};

  bool operator==(Address const&) const = default;
};

/// "unix=PATH" and "tcp=HOST:PORT", or one of both, and "key=KEY", with an '&' between. Throws
/// Error(bad_request).
Address parse_address(std::string_view text);
std::string format(Address const& address);
/// HOST:PORT.
std::string endpoint_of(Address const& address);

/// "mpix-nam://GRANT?ADDRESS" names a grant, "mpix-nam://GRANT/WINDOW?ADDRESS" a window in it: a port name.
struct Locator {
  std::string grant;
  std::string window;
  Address address;

  bool operator==(Locator const&) const = default;
};

/// A port name is shorter than this, so that it fits into an info value.
inline constexpr std::size_t port_name_limit = 256;

bool is_locator(std::string_view text) noexcept;
/// Throws Error(bad_request).
Locator parse_locator(std::string_view text);
/// Windows are spread over so many grants at most.
inline constexpr std::size_t most_parts = 64;
/// Regions are divided at multiples of this, which no element crosses that lies where it should.
inline constexpr std::uint64_t stripe_granularity = 4096;
/// Of grants, with commas between. Throws Error(bad_request).
std::vector<Locator> parse_grants(std::string_view text);
std::string format(Locator const& locator);

}  // namespace mpixrma::nam
