#include "engine/proto/describe.hpp"

#include "engine/origin/peer_state.hpp"
#include "engine/proto/tracked_operations.hpp"

namespace mpixrma::engine {

namespace {

using Long = unsigned long long;

char const* mode_of(wire::RequestHeader const& header) noexcept {
  switch (static_cast<wire::LockRequestKind>(header.operation)) {
    case wire::LockRequestKind::exclusive: return "exclusive";
    case wire::LockRequestKind::try_exclusive: return "exclusive, an attempt";
    case wire::LockRequestKind::try_shared: return "shared, an attempt";
    default: return "shared";
  }
}

char const* name_of(wire::RequestKind kind) noexcept {
  switch (kind) {
    case wire::RequestKind::put: return "put";
    case wire::RequestKind::get: return "get";
    case wire::RequestKind::update: return "accumulate or read-modify-write";
    case wire::RequestKind::find_segment: return "search for the memory";
    case wire::RequestKind::key_dropped: return "reply to a revocation";
    case wire::RequestKind::stripe_lock: return "request for stripe locks";
    default: return "request";
  }
}

void describe_entry(TrackedOperation const& entry, BoundedText& text) {
  text.add("    ");
  describe(entry.operation.header, entry.operation.total, text);
  if (!entry.started())
    text.add(", not sent");
  else if (!entry.sent_completely())
    text.add(", %llu bytes sent", static_cast<Long>(entry.sent));
  else if (entry.operation.expects_data() && entry.returned != 0)
    text.add(", %llu bytes returned", static_cast<Long>(entry.returned));
  if (entry.lock == LockState::requested) text.add(", waits for stripe locks of the target");
  if (entry.busy_replies != 0) text.add(", refused %u times: the target is busy", entry.busy_replies);
  text.add("\n");
}

}  // namespace

void describe(wire::RequestHeader const& header, std::uint64_t total, BoundedText& text) {
  wire::RequestKind const kind = header.kind;
  if (kind == wire::RequestKind::lock_request || kind == wire::RequestKind::lock_release) {
    text.add("%s of lock %llu by owner %u", kind == wire::RequestKind::lock_request ? "request" : "release",
             static_cast<Long>(header.address), header.owner);
    if (kind == wire::RequestKind::lock_request) text.add(" (%s)", mode_of(header));
    return;
  }
  text.add("%s of %llu bytes at %llx", name_of(kind), static_cast<Long>(total),
           static_cast<Long>(header.address));
  if (header.exposure != 0) text.add(" of exposure %llx", static_cast<Long>(header.exposure));
}

void TrackedOperations::describe_lock_requests(BoundedText& text) const {
  for (TrackedOperation const* entry = detached_.front(); entry != nullptr; entry = entry->next) {
    if (!entry->is_a(wire::RequestKind::lock_request)) continue;
    text.add("  to process %s: ", text.name(entry->peer->process()).c_str());
    describe(entry->operation.header, entry->operation.total, text);
    text.add(", waits for its turn\n");
  }
}

void describe_outstanding(Peer& peer, BoundedText& text) {
  OriginStream const& stream = peer.state().messages;
  std::size_t const transfers = peer.state().transfers().pending.size();
  std::uint64_t const executed = stream.executed.load(std::memory_order_relaxed);
  std::uint64_t const newest = peer.newest();
  if (peer.is_lost() || (executed >= newest && transfers == 0 && stream.unfinished.front() == nullptr))
    return;
  text.add(
      "  to process %s: messages %llu to %llu are not acknowledged, the last one sent is %llu; %zu "
      "operations by other protocols\n",
      text.name(peer.process()).c_str(), static_cast<Long>(executed + 1), static_cast<Long>(newest),
      static_cast<Long>(stream.newest_sent), transfers);
  if (stream.broken) text.add("    the connection is lost\n");
  if (stream.may_wait_for_lock())
    text.add("    what follows message %llu waits for a lock\n", static_cast<Long>(stream.followed_by_all));
  constexpr int max_entries = 16;
  int entries = 0;
  for (TrackedOperation const* entry = stream.unfinished.front(); entry != nullptr; entry = entry->next) {
    if (++entries <= max_entries) describe_entry(*entry, text);
  }
  if (entries > max_entries) text.add("    and %d more\n", entries - max_entries);
}

}  // namespace mpixrma::engine
