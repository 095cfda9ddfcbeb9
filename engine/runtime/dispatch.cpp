#include "engine/runtime/dispatch.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/proto/direct.hpp"
#include "engine/runtime/blocking_completion.hpp"
#include "engine/sync/footprint.hpp"

namespace mpixrma::engine {

namespace {

/// In the order in which they are tried.
constexpr std::array protocols{
    ProtocolEntry{Protocol::direct, Stage::at_once, &direct::can_execute, &direct::issue},
    ProtocolEntry{Protocol::ring, Stage::at_once, &ring::can_execute, &ring::issue},
    ProtocolEntry{Protocol::cross_memory, Stage::at_once, &cross_memory::can_execute, &cross_memory::issue},
    ProtocolEntry{Protocol::network, Stage::in_stream, nullptr, &network::issue},
    ProtocolEntry{Protocol::message, Stage::in_stream, nullptr, &message::issue},
};
static_assert(protocols.size() == protocol_count);

}  // namespace

Dispatch::Range Dispatch::target() const noexcept {
  Extent const extent = operation_->target_layout.extent();
  return {operation_->target + static_cast<std::uint64_t>(extent.begin),
          static_cast<std::size_t>(extent.end - extent.begin)};
}

Status Dispatch::check_segment() const {
  auto const [begin, bytes] = target();
  RemoteSegments::Found found;
  if (!peer_state().segments->find(begin, &found)) return Status::bad_address;
  return bytes > found.length - (begin - found.base) ? Status::overrun : Status::ok;
}

/// For a peer on this host: replaces an exposure and an offset by the address, and validates the counter.
Status Dispatch::resolve(RmaOp* operation) const {
  RemoteSegments const& segments = *peer_state().segments;
  Exposure exposure;
  ExposedMemory const exposed = std::exchange(operation->exposed, {});
  if (exposed.target != ExposureId::none) {
    if (!segments.find(exposed.target, &exposure)) return Status::stale_exposure;
    Status const status =
        exposure.permits(operation->target, operation->target_layout.extent(), rights_for(*operation));
    if (failed(status)) return status;
    operation->target += exposure.base;
  }
  if (exposed.notify == ExposureId::none) return Status::ok;
  return segments.find(exposed.notify, &exposure) ? exposure.permits_counter(operation->notify)
                                                  : Status::stale_exposure;
}

/// Revalidates the exposures. Addresses need no validation.
Status Dispatch::revalidate() const {
  if (!original_.exposed.is_named()) return Status::ok;
  RmaOp again = original_;
  return resolve(&again);
}

/// Counts and traces an operation that was not rejected.
void Dispatch::record(Protocol protocol, Issued const& issued) noexcept {
  if (failed(issued.status) || counted_->is_internal) return;
  if (state_.recorder != nullptr) [[unlikely]]
    state_.recorder->add_operation(began_, peer_.process(), protocol, *counted_, issued);
  if (protocol == Protocol::direct && !engine_.counts_direct()) return;
  TrafficCounters& traffic = peer_state().traffic;
  std::size_t const bytes = counted_->target_layout.size();
  config().thread_multiple != 0 ? traffic.add_operation(protocol, bytes)
                                : traffic.add_operation_alone(protocol, bytes);
}

/// Issues the operation by the first protocol of the stage that can execute it.
std::optional<Issued> Dispatch::try_protocols(Stage stage) {
  for (ProtocolEntry const& entry : protocols) {
    if (entry.stage != stage) continue;
    if (auto const issued = entry.issue(*this)) {
      record(entry.protocol, *issued);
      return issued;
    }
    if (!unexecuted_.empty()) return execute_remainder();
  }
  return std::nullopt;
}

/// Whether no protocol of Stage::at_once can execute the operation while messages are in flight. Ignores
/// stripes, which are not acquired yet; the protocols check again when they issue the operation.
bool Dispatch::must_use_message() {
  return std::ranges::none_of(protocols, [this](ProtocolEntry const& entry) {
    return entry.stage == Stage::at_once && entry.can_execute(*this);
  });
}

std::optional<Issued> Dispatch::issue_traced_direct() {
  bool const waits = peer_.direct_access_is_deferred() ||
                     (has(original_.flags, OpFlags::overlap_ordered) && !follows_all_messages());
  if (waits || has(original_.flags, OpFlags::atomic) || notifies(original_)) return std::nullopt;
  RmaOp resolved;
  if (original_.exposed.is_named()) {
    resolved = original_;
    if (failed(resolve(&resolved))) return std::nullopt;
  }
  RmaOp const& operation = original_.exposed.is_named() ? resolved : original_;
  Extent const extent = operation.target_layout.extent();
  auto const bytes = static_cast<std::size_t>(extent.end - extent.begin);
  RemoteAddress const begin = operation.target + static_cast<std::uint64_t>(extent.begin);
  std::byte* const mapped = peer_.translate_traced(begin, bytes);
  if (mapped == nullptr) return std::nullopt;
  execute_with_stripes(operation, mapped - extent.begin, *peer_.stripes(), begin, begin + bytes);
  record(Protocol::direct, Issued{});
  return Issued{};
}

std::optional<Issued> Dispatch::issue_at_once() {
  if (!original_.exposed.is_named()) return issue_resolved_at_once();
  RmaOp resolved = original_;
  if (Status const status = resolve(&resolved); failed(status)) return Issued::ended(status);
  operation_ = &resolved;
  auto const issued = issue_resolved_at_once();
  operation_ = &original_;
  return issued;
}

std::optional<Issued> Dispatch::issue_resolved_at_once() {
  engine_.order.wait_for_deferred_access(peer_);
  auto const [begin, bytes] = target();
  if (begin + bytes < begin) return Issued::ended(Status::bad_address);
  if (has(original_.flags, OpFlags::overlap_ordered) && !follows_all_messages()) {
    // A message keeps its place behind the earlier ones; every other protocol would overtake them.
    if (must_use_message()) return std::nullopt;
    wait_for_overlapping();
  }
  Footprint const footprint = footprint_of(*operation_, peer_.stripes()->modes);
  StripeLockPair const locks = engine_.stripes.acquire(peer_, footprint);
  holds_target_ = !footprint.target.empty();
  if (Status const status = revalidate(); failed(status)) return Issued::ended(status);  // after a wait
  auto const issued = try_protocols(Stage::at_once);
  holds_target_ = false;
  return issued;
}

/// Executes the parts of the operation that a protocol has left.
std::optional<Issued> Dispatch::execute_remainder() {
  Remainder const rest(*operation_, unexecuted_);
  Remainder const original_rest(original_, unexecuted_);
  Dispatch remaining(engine_, peer_, original_rest.operation());
  remaining.operation_ = &rest.operation();
  remaining.holds_target_ = holds_target_;
  remaining.count_as(*this);
  if (cross_memory::process_vm_can_transfer(remaining)) {
    if (auto const issued = cross_memory::transfer(remaining)) {
      remaining.record(Protocol::cross_memory, *issued);
      return issued;
    }
    if (!remaining.unexecuted_.empty()) return remaining.execute_remainder();
  }
  if (holds_target_) {
    Issued const issued = Issued::ended(message::execute_out_of_band(remaining));
    remaining.record(Protocol::message, issued);
    return issued;
  }
  RmaOp awaited = original_rest.operation();
  BlockingCompletion completion;
  awaited.completion = &completion;
  // A part is done: the rest must not be refused, because the caller would repeat the whole operation.
  awaited.flags = without(awaited.flags, OpFlags::no_lock_wait) | OpFlags::remote_completion;
  Dispatch in_stream(engine_, peer_, awaited);
  in_stream.count_as(*this);
  Issued const issued = in_stream.issue_in_stream();
  if (failed(issued.status) || issued.complete) return Issued::ended(issued.status);
  engine_.waits.until(peer_, [&] { return completion.is_done.load(std::memory_order_acquire); });
  return Issued::ended(completion.status);
}

Issued Dispatch::issue_in_stream() {
  engine_.order.wait_for_room(peer_);
  if (!engine_.locks.wait_for_stream_lock(peer_, original_.target_layout, original_.flags))
    return Issued::ended(Status::busy);
  // Before the channel's lock, because a thread that waits for stripes must let messages through.
  UniqueStripeLock origin = engine_.stripes.acquire_origin(peer_, original_);
  std::unique_lock held(channel().lock);
  // Unordered transfers have no position in the stream of messages: they must end before their successors
  // start.
  StreamConditions conditions{held, predecessors(), origin};
  wait_for_transfers(peer_, conditions.before.transfer, held);
  stream_conditions_ = &conditions;
  Issued const issued = *try_protocols(Stage::in_stream);  // a message is always possible
  stream_conditions_ = nullptr;
  return issued;
}

}  // namespace mpixrma::engine
