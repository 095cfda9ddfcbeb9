/// What the process that has made a window at memory servers tells the others of it: bytes, for processes of
/// one job.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nam/client/session.hpp"

namespace mpixrma::windows {

/// What one grant has of the window.
struct NamPart {
  nam::Locator grant;
  std::uint64_t control = 0;  ///< as of NamGrant; 0: whoever has told it does not map it
  std::string secret;         ///< of the server, in hexadecimal digits; empty: processes have their own
  nam::WindowInfo window;     ///< identifier, port, place, generation and regions
};

struct NamDescription {
  std::uint64_t stripe_bytes = 0;  ///< as of NamWindow
  std::vector<NamPart> parts;

  std::string pack() const;
  /// Throws NamError.
  static NamDescription unpack(std::string_view bytes);
};

}  // namespace mpixrma::windows
