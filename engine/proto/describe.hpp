/// Outstanding operations to a peer, as text for mpix-rma ps.
#pragma once

#include "engine/base/text.hpp"
#include "engine/net/wire.hpp"
#include "engine/origin/peer.hpp"

namespace mpixrma::engine {

/// A request in words, such as "put of 8 bytes at 7f12", without the end of a line.
void describe(wire::RequestHeader const& header, std::uint64_t total, BoundedText& text);

/// The operations to `peer` that are not complete; nothing where there are none. With the channel's lock
/// held.
void describe_outstanding(Peer& peer, BoundedText& text);

}  // namespace mpixrma::engine
