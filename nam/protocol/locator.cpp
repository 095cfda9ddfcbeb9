#include "nam/protocol/locator.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "nam/protocol/error.hpp"
#include "nam/protocol/server_key.hpp"

namespace mpixrma::nam {

namespace {

constexpr std::string_view scheme = "mpix-nam://";

[[noreturn]] void refuse(std::string_view text) {
  throw Error(ErrorCode::bad_request,
              "'" + std::string(text) + "' does not name a memory server, a grant or a window");
}

bool is_identifier(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
  });
}

}  // namespace

std::optional<Endpoint> parse_endpoint(std::string_view text) {
  std::size_t const colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  std::string_view const digits = text.substr(colon + 1);
  bool const has_brackets = host.starts_with('[');
  if (has_brackets != host.ends_with(']') || host == "[]") return std::nullopt;
  if (has_brackets) host = host.substr(1, host.size() - 2);
  Endpoint endpoint{std::string(host)};
  auto const [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), endpoint.port);
  if (error != std::errc{} || last != digits.data() + digits.size()) return std::nullopt;
  return endpoint;
}

Address parse_address(std::string_view text) {
  Address address;
  for (std::string_view rest = text; !rest.empty();) {
    std::size_t const end = std::min(rest.find('&'), rest.size());
    std::string_view const part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (part.starts_with("unix=/")) {
      address.unix_path = part.substr(5);
    } else if (part.starts_with("tcp=")) {
      auto endpoint = parse_endpoint(part.substr(4));
      if (!endpoint || endpoint->host.empty() || endpoint->port == 0) refuse(text);
      if (endpoint->host.find('/') != std::string::npos) refuse(text);
      address.host = std::move(endpoint->host);
      address.port = endpoint->port;
    } else if (part.starts_with("key=") && key_from_text(part.substr(4))) {
      address.key = part.substr(4);
    } else {
      refuse(text);
    }
  }
  if (address.unix_path.empty() && address.port == 0) refuse(text);
  return address;
}

std::string format(Address const& address) {
  std::string text;
  if (!address.unix_path.empty()) text = "unix=" + address.unix_path;
  if (address.port != 0) text += (text.empty() ? "tcp=" : "&tcp=") + endpoint_of(address);
  if (!address.key.empty()) text += "&key=" + address.key;
  return text;
}

std::string endpoint_of(Address const& address) { return address.host + ":" + std::to_string(address.port); }

bool is_locator(std::string_view text) noexcept { return text.starts_with(scheme); }

Locator parse_locator(std::string_view text) {
  std::size_t const question = text.find('?');
  if (!is_locator(text) || question == std::string_view::npos || text.size() >= port_name_limit ||
      text.find(scheme, 1) != std::string_view::npos)
    refuse(text);
  std::string_view const path = text.substr(scheme.size(), question - scheme.size());
  std::size_t const slash = path.find('/');
  Locator locator{std::string(path.substr(0, slash)), "", parse_address(text.substr(question + 1))};
  if (slash != std::string_view::npos) locator.window = path.substr(slash + 1);
  if (!is_identifier(locator.grant) || (slash != std::string_view::npos && !is_identifier(locator.window)))
    refuse(text);
  return locator;
}

/// Splits only at commas before a scheme, because paths may contain commas.
std::vector<Locator> parse_grants(std::string_view text) {
  std::vector<Locator> grants;
  std::string const separator = std::string(",").append(scheme);
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t const end = std::min(text.find(separator, begin), text.size());
    std::string_view const one = text.substr(begin, end - begin);
    if (!grants.emplace_back(parse_locator(one)).window.empty()) refuse(one);
    begin = end + 1;
  }
  if (grants.size() > max_parts)
    throw Error(ErrorCode::bad_request, "windows are spread over at most " + std::to_string(max_parts) +
                                            " grants, not " + std::to_string(grants.size()));
  return grants;
}

std::string format(Locator const& locator) {
  std::string text = std::string(scheme) + locator.grant;
  if (!locator.window.empty()) text += "/" + locator.window;
  text += '?';
  text += format(locator.address);
  if (text.size() >= port_name_limit)
    throw Error(ErrorCode::internal, "the server's address is too long for a port name");
  return text;
}

}  // namespace mpixrma::nam
