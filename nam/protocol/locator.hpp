/// Names of grants and windows that include the server's address: the format of MPIX_NAM_ALLOCATION and of
/// port names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mpixrma::nam {

/// The addresses at which a server listens.
struct Address {
  std::string unix_path;
  std::string host;
  std::uint16_t port = 0;  ///< 0: no TCP
  /// The server's public key (nam/protocol/server_key.hpp), which identifies it over TCP; empty if the
  /// address does not include it.
  std::string key = {};

  bool operator==(Address const&) const = default;
};

/// Parses "unix=PATH", "tcp=HOST:PORT" or both, and optionally "key=KEY", separated by '&'. Throws
/// Error(bad_request).
Address parse_address(std::string_view text);
std::string format(Address const& address);

struct Endpoint {
  std::string host;  ///< without brackets; may be empty
  std::uint16_t port = 0;
};
/// Parses HOST:PORT, where HOST may be an IPv6 address in brackets. Returns nothing for any other text.
std::optional<Endpoint> parse_endpoint(std::string_view text);
/// Returns HOST:PORT, without brackets.
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
/// Maximum number of parts that a window is spread over.
inline constexpr std::size_t max_parts = 64;
/// Chunk sizes are multiples of this, so that no aligned element crosses a chunk boundary.
inline constexpr std::uint64_t chunk_granularity = 4096;
/// Parses locators of grants, separated by commas. Throws Error(bad_request).
std::vector<Locator> parse_grants(std::string_view text);
std::string format(Locator const& locator);

}  // namespace mpixrma::nam
