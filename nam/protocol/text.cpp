#include "nam/protocol/text.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

namespace {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  ///< 0: the text does not begin with UTF-8
};

Character first_of(std::string_view text) noexcept {
  auto const at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned const lead = at(0);
  if (lead < 0x80) return {lead, 1};
  std::size_t const bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || bytes > text.size()) return {};
  char32_t code = lead & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((at(i) & 0xc0u) != 0x80) return {};
    code = code << 6 | (at(i) & 0x3fu);
  }
  constexpr std::array<char32_t, 5> smallest{0, 0, 0x80, 0x800, 0x10000};
  bool const is_surrogate = code >= 0xd800 && code < 0xe000;
  if (code < smallest[bytes] || code > 0x10ffff || is_surrogate) return {};
  return {code, bytes};
}

bool is_plain(char32_t code) noexcept {
  bool const is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  bool const is_separator = code == 0x2028 || code == 0x2029;
  bool const is_direction = code == 0x061c || code == 0x200e || code == 0x200f ||
                            (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return !is_control && !is_separator && !is_direction;
}

}  // namespace

bool is_plain_text(std::string_view text) noexcept {
  while (!text.empty()) {
    Character const next = first_of(text);
    if (next.bytes == 0 || !is_plain(next.code)) return false;
    text.remove_prefix(next.bytes);
  }
  return true;
}

std::string printable(std::string_view text) {
  constexpr char const* digits = "0123456789abcdef";
  std::string shown;
  while (!text.empty()) {
    Character const next = first_of(text);
    std::size_t const bytes = next.bytes == 0 ? 1 : next.bytes;
    bool const as_it_is = next.bytes != 0 && is_plain(next.code);
    for (std::size_t i = 0; i < bytes; ++i) {
      auto const byte = static_cast<unsigned char>(text[i]);
      if (as_it_is) {
        shown += text[i];
      } else {
        shown += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
      }
    }
    text.remove_prefix(bytes);
  }
  return shown;
}

std::string shortened(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return std::string(text);
  std::size_t end = longest;
  while (end != 0 && (static_cast<unsigned char>(text[end]) & 0xc0u) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

void check_name(std::string_view name) {
  if (name.empty() || name.size() > longest_name)
    throw Error(ErrorCode::bad_request, "a name has 1 to " + std::to_string(longest_name) + " bytes");
  if (!is_plain_text(name)) throw Error(ErrorCode::bad_request, "a name is UTF-8 without control characters");
  if (name.front() == '~')
    throw Error(ErrorCode::bad_request,
                "a name does not begin with '~': ~USER/NAME names what USER has published");
}

ForeignName parse_name(std::string_view text) {
  std::size_t const slash = text.find('/');
  bool const is_foreign = text.starts_with('~') && slash != std::string_view::npos && slash > 1;
  if (!is_foreign) return {};
  return {std::string(text.substr(1, slash - 1)), std::string(text.substr(slash + 1))};
}

}  // namespace mpixrma::nam
