#include "engine/target/target_streams.hpp"

#include <cstring>
#include <new>
#include <utility>

#include "engine/proto/describe.hpp"

namespace mpixrma::engine {

namespace {

bool must_not_wait(wire::CheckedRequest const& request) noexcept {
  return (request.header.flags & wire::flag_no_wait) != 0;
}

}  // namespace

void TargetStreams::handle(Origin& origin, std::span<std::byte const> header,
                           std::span<std::byte const> payload) {
  wire::CheckedRequest request{};
  char const* const fault = wire::check(header, payload, &request, room_for_layout(header, payload.size()));
  if (fault != nullptr && !wire::has_position(header, &request.header))
    return parts_.drops.record_drop(fault);
  std::uint64_t const sequence = request.header.sequence;
  if (origin.has_seen(sequence) || !origin.has_place_for(sequence))
    return parts_.drops.record_drop("its stream position is taken, or too many requests are out of order");
  if (fault != nullptr) {
    parts_.drops.record_drop(fault);
    return parts_.executed_positions.reject(origin, request.header, payload.size(), Status::malformed);
  }
  bool const is_full = !parts_.unsent.permits(origin, request.header);
  if (origin.endpoint == nullptr || is_full || request.header.after > origin.executed) {
    if (origin.endpoint != nullptr && !is_full && must_not_wait(request))
      return parts_.executed_positions.reply_busy(origin, request.header, payload.size());
    if (!parts_.buffers.has_room(origin, wire::viewed_bytes(request))) {
      // Refusals are replies, too.
      if (is_full) return parts_.unsent.disconnect(origin);
      return parts_.executed_positions.reject(origin, request.header, payload.size(), Status::out_of_memory);
    }
    if (is_full) parts_.unsent.add_waiting(origin);
    return buffer(origin, BufferedRequest(request, payload.size()));
  }
  execute_or_defer(origin, request, header, payload.size());
  execute_waiting(origin);
}

/// Returns the buffer that wire::check() needs for the layout of this message. Valid until the next message.
std::span<std::byte> TargetStreams::room_for_layout(std::span<std::byte const> header,
                                                    std::size_t payload_bytes) {
  std::size_t const needed = wire::copy_bytes_for(header, payload_bytes);
  if (layout_.size() * sizeof(std::uint64_t) < needed) layout_.resize(needed / sizeof(std::uint64_t));
  return std::as_writable_bytes(std::span(layout_)).first(needed);
}

void TargetStreams::buffer(Origin& origin, BufferedRequest buffered) {
  wire::RequestHeader const& header = buffered.request().header;
  std::uint64_t const after = must_not_wait(buffered.request()) ? 0 : header.after;
  WaitingRequests& waiting = origin.make_out_of_order().waiting;
  parts_.buffers.note_buffered(origin, waiting.add(header.sequence, after, std::move(buffered)));
}

/// Executes the request as soon as its stripes are free: now, later, or when the origin resends it.
void TargetStreams::execute_or_defer(Origin& origin, wire::CheckedRequest& request,
                                     std::span<std::byte const> header, std::size_t payload_bytes) {
  RequestStripeCache& stripe_cache = parts_.stripes;
  RequestExecution& execution = parts_.execution;
  Status const resolved = parts_.memory.resolve(request);
  StripeSets const stripes = failed(resolved) ? StripeSets{} : stripe_cache.required_by(request);
  if (stripes.empty()) return execution.perform(origin, request, {}, payload_bytes, resolved);
  bool const moves = wire::moves_data(request.header);
  if (!moves || !stripe_cache.covers(stripes)) stripe_cache.release();
  if (stripe_cache.is_filled()) return execution.perform(origin, request, {}, payload_bytes, Status::ok);
  UniqueStripeLock stripe_lock = stripe_cache.make_lock(stripes);
  if (RequestStripeCache::try_acquire_spin(stripe_lock)) {
    if (moves) stripe_cache.store(stripes, stripe_lock);
    return execution.perform(origin, request, std::move(stripe_lock), payload_bytes, Status::ok);
  }
  if (must_not_wait(request))
    return parts_.executed_positions.reply_busy(origin, request.header, payload_bytes);
  if (!parts_.buffers.has_room(origin, wire::viewed_bytes(request)))
    return parts_.executed_positions.reject(origin, request.header, payload_bytes, Status::out_of_memory);
  origin.make_out_of_order().blocked.insert(request.header.sequence);
  // Buffer the header as it arrived: an exposure may be gone when the stripes are free.
  std::memcpy(&request.header, header.data(), sizeof request.header);
  blocked_.push_back({&origin, BufferedRequest(request, payload_bytes), std::move(stripe_lock)});
  parts_.buffers.note_buffered(origin, blocked_.back().buffered);
}

template <typename Execute>
void TargetStreams::execute_or_lose(Origin const& origin, Execute execute) {
  try {
    execute();
  } catch (std::bad_alloc const&) {
    parts_.connections.fail(origin.process, "no memory for its requests");
  }
}

void TargetStreams::retry_blocked() {
  for (auto it = blocked_.begin(); it != blocked_.end();) {
    if (!parts_.unsent.permits(*it->origin, it->buffered.request().header) || !it->stripe_lock.acquire()) {
      ++it;
      continue;
    }
    BlockedRequest ready = std::move(*it);
    it = blocked_.erase(it);
    parts_.buffers.note_released(*ready.origin, ready.buffered);
    execute_or_lose(*ready.origin, [&] {
      wire::CheckedRequest request = ready.buffered.request();
      ready.origin->make_out_of_order().blocked.erase(request.header.sequence);
      Status const resolved = parts_.memory.resolve(request);  // again, because an exposure may be gone
      parts_.execution.perform(*ready.origin, request, std::move(ready.stripe_lock),
                               ready.buffered.payload_bytes(), resolved);
    });
    execute_waiting(*ready.origin);
  }
}

void TargetStreams::execute_waiting(Origin& origin) {
  execute_or_lose(origin, [&] { execute_unblocked(origin); });
}

void TargetStreams::execute_unblocked(Origin& origin) {
  OutOfOrder* const rest = origin.out_of_order();
  if (origin.endpoint == nullptr || rest == nullptr) return;
  // Executing a request may unblock the next one.
  while (BufferedRequest const* const next = rest->waiting.next(origin.executed)) {
    if (!parts_.unsent.permits(origin, next->request().header)) return parts_.unsent.add_waiting(origin);
    BufferedRequest const buffered = rest->waiting.take_next();
    parts_.buffers.note_released(origin, buffered);
    wire::CheckedRequest request = buffered.request();
    if (request.header.after > origin.executed) {
      parts_.executed_positions.reply_busy(origin, request.header,
                                           buffered.payload_bytes());  // it must not wait
    } else {
      execute_or_defer(origin, request, std::as_bytes(std::span(&buffered.request().header, 1)),
                       buffered.payload_bytes());
    }
  }
}

void TargetStreams::retry_waiting() {
  for (Origin* const origin : parts_.unsent.take_waiting()) {
    origin->waits_until_sent = false;
    execute_waiting(*origin);
  }
}

void TargetStreams::forget(Origin const& origin) noexcept {
  std::erase_if(blocked_, [&](BlockedRequest const& blocked) { return blocked.origin == &origin; });
}

void TargetStreams::describe_blocked(BoundedText& text) const {
  for (BlockedRequest const& blocked : blocked_) {
    wire::RequestHeader const& header = blocked.buffered.request().header;
    text.add("  of process %s: ", text.name(blocked.origin->process).c_str());
    describe(header, header.total, text);
    text.add(", waits for stripe locks of this process\n");
  }
}

}  // namespace mpixrma::engine
