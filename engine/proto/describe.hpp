/// Describes the outstanding operations to a peer for mpix-rma ps.
#pragma once

#include "engine/base/text.hpp"
#include "engine/net/wire.hpp"
#include "engine/origin/peer.hpp"

namespace mpixrma::engine {

/// Describes a request, such as "put of 8 bytes at 7f12", without the end of the line.
void describe(wire::RequestHeader const& header, std::uint64_t total, BoundedText& text);

/// Describes the incomplete operations to `peer`; adds nothing if there are none. With the channel's lock
/// held.
void describe_outstanding(Peer& peer, BoundedText& text);

}  // namespace mpixrma::engine
