/// A request of a client to the control process.
#pragma once

#include <cstdint>

#include "nam/protocol/channel.hpp"

namespace mpixrma::nam {

/// The number of a client's connection; later connections have larger numbers.
using ClientId = std::uint64_t;

struct Request {
  ClientId client = 0;
  Json const& content;
  bool is_dry_run = false;  ///< answers what the request would remove, and changes nothing
  bool has_hidden = false;  ///< it names something that the client may not know of
};

}  // namespace mpixrma::nam
