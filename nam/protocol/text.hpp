/// Text written by other users: validation, and safe output.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mpixrma::nam {

/// Returns the text, or its first `longest` bytes and "..."; no character is cut.
std::string shortened(std::string_view text, std::size_t longest);

/// Maximum length in bytes of a name that can be published.
inline constexpr std::size_t longest_name = 255;

/// Whether the text is UTF-8 without control characters, line separators and characters that change the
/// writing direction.
bool is_plain_text(std::string_view text) noexcept;

/// Returns the text unchanged if is_plain_text(); otherwise replaces each offending byte by "\xNN", so that a
/// terminal or log line cannot interpret it.
std::string printable(std::string_view text);

/// Throws Error(bad_request) if the name must not be published. A leading '~' is reserved for names of other
/// users (parse_name).
void check_name(std::string_view name);

/// "~USER/NAME" refers to a name that another user has published.
struct ForeignName {
  std::string user;
  std::string name;
};
/// Both members are empty if the text does not have this form.
ForeignName parse_name(std::string_view text);

}  // namespace mpixrma::nam
