#include "engine/runtime/peer_memory.hpp"

#include <algorithm>
#include <mutex>
#include <optional>

#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

namespace {

bool contains(wire::SegmentReply const& reply, RemoteAddress address) noexcept {
  return address >= reply.base && address - reply.base < reply.length;
}

}  // namespace

/// Asks the peer's agent, and waits for the reply.
Status EnginePeerMemory::ask_for_segment(Peer& peer, RemoteAddress address, wire::SegmentReply* reply) {
  std::unique_lock held(channel_of(peer).lock);
  OriginStreams& streams = channel_of(peer).message_protocol.streams;
  TrackedOperation* const query = streams.find_segment(peer, address);
  if (query == nullptr) return Status::unreachable;
  channel_of(peer).progress_until(held, [&] { return !query->live; });
  std::optional<wire::SegmentReply> const found = query->segment;
  streams.release(*query);
  if (!found) return Status::transport;
  *reply = *found;
  return Status::ok;
}

Status EnginePeerMemory::find_segment(Peer& peer, RemoteAddress address, SegmentInfo* info) {
  if (peer.is_lost()) return Status::unreachable;
  if (peer.state().shares_memory) {
    RemoteSegments::Found found;
    if (!peer.state().segments->find(address, &found)) return Status::bad_address;
    *info = {found.base, found.length, found.internal};
    return Status::ok;
  }
  wire::SegmentReply reply{};
  if (Status const status = ask_for_segment(peer, address, &reply); failed(status)) return status;
  if (reply.is_gap != 0) return Status::bad_address;
  if (!contains(reply, address)) return Status::malformed;
  *info = {reply.base, reply.length, reply.is_internal != 0};
  return Status::ok;
}

Status EnginePeerMemory::list_segments(Peer& peer, std::vector<SegmentInfo>* out) {
  if (peer.is_lost()) return Status::unreachable;
  if (peer.state().shares_memory) {
    peer.state().segments->list([out](PublishedRange const& range) {
      out->push_back({range.base, range.length, range.rights == internal_segment});
    });
    std::ranges::sort(*out, {}, &SegmentInfo::base);
    return Status::ok;
  }
  // The reply for an address between segments is the gap up to the next segment.
  for (RemoteAddress address = 0;;) {
    wire::SegmentReply reply{};
    if (Status const status = ask_for_segment(peer, address, &reply); failed(status)) return status;
    if (reply.is_gap == 0) {
      if (!contains(reply, address)) return Status::malformed;
      out->push_back({reply.base, reply.length, reply.is_internal != 0});
    }
    RemoteAddress const next = reply.base + reply.length;
    if (next <= address) return Status::ok;  // the end of the address space
    address = next;
  }
}

std::byte* EnginePeerMemory::map_range(Peer& peer, RemoteAddress begin, std::size_t bytes, Status* refused) {
  if (std::byte* const translated = peer.translate_traced(begin, bytes)) return translated;
  RemoteSegments& segments = *peer.state().segments;
  if (!segments.in_region(begin, begin + bytes)) return nullptr;
  RemoteSegments::Found found;
  bool const known = segments.find(begin, &found);
  if (!known || bytes > found.length - (begin - found.base)) {
    *refused = known ? Status::overrun : Status::bad_address;
    return nullptr;
  }
  if (!found.mapped) return nullptr;
  // Accesses that are recorded cannot bypass Engine::issue by a cached segment.
  if (peer.direct_access_is_traced() || !state_.issues_all.load(std::memory_order_relaxed))
    remember(peer.slot(begin, found.length), found);
  return reinterpret_cast<std::byte*>(static_cast<std::int64_t>(begin) + found.delta);
}

std::byte* EnginePeerMemory::map(Peer& peer, RemoteAddress address, std::size_t bytes) {
  if (!peer.state().shares_memory || !state_.may_use(MPIX_ENGINE_PROTOCOL_DIRECT)) return nullptr;
  order_.wait_for_deferred_access(peer);
  Status refused = Status::ok;
  return peer.is_lost() ? nullptr : map_range(peer, address, bytes, &refused);
}

Status EnginePeerMemory::view(Peer& peer, ExposureId id, ExposedView* view) {
  if (!peer.state().shares_memory) return Status::unsupported;
  if (!state_.may_use(MPIX_ENGINE_PROTOCOL_DIRECT)) {
    (void)peer.state().segments->find(id, &view->exposure);
    return Status::unsupported;
  }
  order_.wait_for_deferred_access(peer);
  return peer.is_lost() ? Status::unreachable : peer.state().segments->view(id, view);
}

void EnginePeerMemory::drop_stale_mappings() {
  RemoteSegments::MappedRegions stale;  // unmapped without the lock
  std::lock_guard const held(state_.peers.lock);
  state_.peers.for_each([&](Peer& peer) {
    if (peer.state().shares_memory) peer.state().segments->drop_stale(&stale);
  });
}

}  // namespace mpixrma::engine
