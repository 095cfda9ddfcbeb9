/// Text that another user has written: which is accepted, and how it is printed.
#pragma once

#include <string>
#include <string_view>

namespace mpixrma::nam {

/// A name that can be published has at most so many bytes.
inline constexpr std::size_t longest_name = 255;

/// Whether it is UTF-8 without control characters, and without characters that change the direction of
/// writing.
bool is_plain_text(std::string_view text) noexcept;

/// The same text where is_plain_text(); else with "\xNN" for each byte of what is not, so that a terminal and
/// a line of a log show it and do nothing else.
std::string printable(std::string_view text);

/// Throws Error(bad_request) where no name may be published that is written so. A leading '~' is for names of
/// other users (parse_name).
void check_name(std::string_view name);

/// "~USER/NAME" names what another user has published.
struct ForeignName {
  std::string user;
  std::string name;
};
/// Both empty where the text is not written so.
ForeignName parse_name(std::string_view text);

}  // namespace mpixrma::nam
