/// The description of a window at memory servers, serialised for the other processes of the job.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nam/client/session.hpp"

namespace mpixrma::windows {

/// The part of the window in one grant.
struct NamGrantPart {
  nam::Locator grant;
  std::uint64_t control = 0;  ///< as in NamGrant; 0: the sender does not map the grant
  std::string secret;         ///< server's secret in hexadecimal digits; empty: each process has its own
  nam::WindowInfo window;     ///< identifier, port, ownership, slot, generation and regions
};

struct NamDescription {
  std::uint64_t chunk_bytes = 0;  ///< as in NamWindow
  std::vector<NamGrantPart> parts;

  std::string pack() const;
  /// Throws NamError.
  static NamDescription unpack(std::string_view bytes);
};

}  // namespace mpixrma::windows
