/// Engine: choice of the path for an operation.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "engine/op/kernel/whole_elements.hpp"
#include "engine/proto/cross_memory.hpp"
#include "engine/proto/direct.hpp"
#include "engine/proto/direct_run.hpp"
#include "engine/proto/ring.hpp"
#include "engine/proto/target_access.hpp"
#include "engine/runtime/blocking_completion.hpp"
#include "engine/runtime/engine.hpp"
#include "engine/runtime/state.hpp"
#include "engine/sync/access_order.hpp"
#include "engine/sync/footprint.hpp"

namespace mpixrma::engine {

namespace {

RemoteAddress plus(RemoteAddress address, std::ptrdiff_t offset) noexcept {
  return address + static_cast<std::uint64_t>(offset);
}

struct TargetRange {
  RemoteAddress begin;
  std::size_t bytes;
};
TargetRange touched_by(RmaOp const& operation) noexcept {
  Extent const extent = operation.target_layout.extent();
  return {plus(operation.target, extent.begin), static_cast<std::size_t>(extent.end - extent.begin)};
}

/// The CPU's atomics do not work across address spaces.
bool needs_cpu_atomics(RmaOp const& operation, UpdateModes& modes) noexcept {
  return operation.is_update() && reduction_for(operation, modes).element_atomic;
}

/// Whether a run of the target's layout may end within an element.
bool cuts_elements(RmaOp const& operation) noexcept {
  return operation.is_update() && has_inner_gap(operation.type);
}

/// Returns the segment that contains [begin, begin + bytes): bad_address if none contains the first byte,
/// overrun if the segment ends before the range does.
Status find_all(RemoteSegments& segments, RemoteAddress begin, std::size_t bytes,
                RemoteSegments::Found* found) {
  if (!segments.find(begin, found)) return Status::bad_address;
  return bytes > found->length - (begin - found->base) ? Status::overrun : Status::ok;
}

}  // namespace

/// Returns a local pointer to [begin, begin + bytes) of a peer on this host, mapping its segment if
/// necessary. `*refused` is set to bad_address or overrun if the range is in the peer's regions but not in
/// one segment.
std::byte* Engine::map_range(Peer& peer, RemoteAddress begin, std::size_t bytes, Status* refused) {
  if (std::byte* const known = peer.reach(begin, bytes)) return known;
  RemoteSegments& segments = *peer.state().segments;
  if (!segments.in_region(begin, begin + bytes)) return nullptr;
  RemoteSegments::Found found;
  if (Status const status = find_all(segments, begin, bytes, &found); failed(status)) {
    *refused = status;
    return nullptr;
  }
  if (!found.mapped) return nullptr;
  if (!issues_all()) remember(peer.slot(begin, found.length), found);
  return reinterpret_cast<std::byte*>(static_cast<std::int64_t>(begin) + found.delta);
}

std::byte* Engine::map(Peer& peer, RemoteAddress address, std::size_t bytes) {
  if (!peer.state().same_host || !state_->may_use(MPIX_ENGINE_PATH_DIRECT)) return nullptr;
  wait_for_held_stores(peer);
  Status refused = Status::ok;
  return peer.is_lost() ? nullptr : map_range(peer, address, bytes, &refused);
}

Status Engine::view(Peer& peer, ExposureId id, ExposedView* view) {
  if (!peer.state().same_host || !state_->may_use(MPIX_ENGINE_PATH_DIRECT)) return Status::unsupported;
  wait_for_held_stores(peer);
  return peer.is_lost() ? Status::unreachable : peer.state().segments->view(id, view);
}

/// Replaces an exposure of a peer on this host and an offset by the address, and validates the counter.
Status Engine::resolve(Peer& peer, RmaOp* operation) {
  RemoteSegments const& segments = *peer.state().segments;
  Exposure exposure;
  ExposedMemory const named = std::exchange(operation->exposed, {});
  if (named.target != ExposureId::none) {
    if (!segments.find(named.target, &exposure)) return Status::stale_exposure;
    Status const status =
        exposure.permits(operation->target, operation->target_layout.extent(), rights_for(*operation));
    if (failed(status)) return status;
    operation->target += exposure.base;
  }
  if (named.notify == ExposureId::none) return Status::ok;
  return segments.find(named.notify, &exposure) ? exposure.permits_counter(operation->notify)
                                                : Status::stale_exposure;
}

/// Revalidates the exposures. Addresses need no validation.
Status Engine::look_again(Peer& peer, RmaOp const& named) {
  if (!named.exposed.is_named()) return Status::ok;
  RmaOp again = named;
  return resolve(peer, &again);
}

/// Executes an operation that needs no message, or returns nullopt.
std::optional<Status> Engine::issue_here(Peer& peer, RmaOp const& operation) {
  if (!operation.exposed.is_named()) return issue_local(peer, operation, operation);
  RmaOp resolved = operation;
  Status const status = resolve(peer, &resolved);
  return failed(status) ? status : issue_local(peer, resolved, operation);
}

/// Runs an operation whose target lies in several mapped segments, run by run. Returns false without side
/// effects if a run is not mapped; `*refused` as above.
bool Engine::direct_piecewise(Peer& peer, RmaOp const& operation, Status* refused) {
  if (cuts_elements(operation)) return false;
  std::size_t const total = operation.target_layout.size();
  LayoutCursor check(operation.target_layout);
  while (check.remaining() != 0) {
    Segment const run = check.next();
    if (map_range(peer, plus(operation.target, run.offset), run.length, refused) == nullptr) return false;
  }
  LayoutCursor cursor(operation.target_layout);
  for (std::size_t position = 0; position < total;) {
    Segment const run = cursor.next();
    std::byte* const target = map_range(peer, plus(operation.target, run.offset), run.length, refused);
    if (target == nullptr) return true;  // freed while in use
    direct_run(operation, run, position, target, peer.stripes()->modes);
    position += run.length;
  }
  return true;
}

/// Executes the operation by load and store, or returns nullopt.
std::optional<Status> Engine::issue_direct(Peer& peer, RmaOp const& operation, RemoteAddress begin,
                                           std::size_t bytes) {
  if (!state_->may_use(MPIX_ENGINE_PATH_DIRECT)) return std::nullopt;
  Status refused = Status::ok;
  if (std::byte* const mapped = map_range(peer, begin, bytes, &refused)) {
    execute_directly(operation, mapped - (begin - operation.target), peer.stripes()->modes);
    return Status::ok;
  }
  if (failed(refused) && !operation.target_layout.is_contiguous()) {
    refused = Status::ok;
    if (direct_piecewise(peer, operation, &refused)) return Status::ok;
  }
  return failed(refused) ? std::optional(refused) : std::nullopt;
}

/// Whether the kernel can transfer the data. The caller holds the stripes that the operation requires.
bool Engine::reaches_across(Peer& peer, RmaOp const& operation) noexcept {
  return peer.state().cross_memory.load(std::memory_order_relaxed) &&
         !needs_cpu_atomics(operation, peer.stripes()->modes);
}

/// The same for operations for which a message is not better.
bool Engine::moves_across(Peer& peer, RmaOp const& operation) noexcept {
  bool const by_message = is_scattered(operation.target_layout) && state_->may_use(MPIX_ENGINE_PATH_MESSAGE);
  return !by_message && reaches_across(peer, operation);
}

/// Whether no other path leads to the target while messages are in flight. Stripes are not considered,
/// because the other paths check again.
bool Engine::needs_message(Peer& peer, RmaOp const& operation, RemoteAddress begin, std::size_t bytes) {
  if (moves_across(peer, operation)) return false;
  Status refused = Status::ok;
  bool const direct =
      state_->may_use(MPIX_ENGINE_PATH_DIRECT) && map_range(peer, begin, bytes, &refused) != nullptr;
  return !direct && !failed(refused);
}

namespace {

/// Whether an operation of which a part is done may be done again as a whole. While the stripes are held
/// nobody sees the part, and nobody may see it afterwards.
bool may_be_repeated(RmaOp const& operation, bool held) noexcept { return !operation.is_update() && !held; }

}  // namespace

/// Transfers through the kernel if possible; nullopt if it has started to deny access and the whole operation
/// may take another path. `held`: the stripes of the target are held.
std::optional<Status> Engine::issue_across(Peer& peer, RmaOp const& operation, bool held) {
  // Must not access freed memory of the regions, which is still mapped at the peer.
  bool const looked_up = state_->may_use(MPIX_ENGINE_PATH_DIRECT);
  auto const [begin, bytes] = touched_by(operation);
  if (!looked_up && peer.state().segments->in_region(begin, begin + bytes)) {
    RemoteSegments::Found found;
    if (failed(find_all(*peer.state().segments, begin, bytes, &found))) return std::nullopt;
  }
  std::size_t done = 0;
  Status status = execute_across(operation, peer.state().location.pid, cross_memory_call_bytes, &done);
  if (status == Status::bad_address) {
    RemoteSegments::Found found;
    status =
        find_all(*peer.state().segments, begin, bytes, &found) == Status::overrun ? Status::overrun : status;
  }
  if (status == Status::unsupported) {
    peer.state().cross_memory.store(false, std::memory_order_relaxed);
    if (done == 0 || may_be_repeated(operation, held)) return std::nullopt;
    DataRange const rest{done, operation.target_layout.size() - done};
    return issue_left(peer, operation, operation, held, std::span(&rest, 1));
  }
  if (!failed(status)) count(peer, Path::cross_memory, operation);
  return status;
}

/// Uses the peer's ring, or returns nullopt. `held`: the stripes of the target are held. `across`: the kernel
/// could transfer the data. `left` receives the parts that the peer no longer polled for.
std::optional<Status> Engine::issue_ring(Peer& peer, RmaOp const& operation, bool held, bool across,
                                         std::vector<DataRange>* left) {
  auto const patience = std::chrono::microseconds(state_->config.ring_us);
  // It would be executed before messages in flight.
  bool const first = peer.state().messages.executed.load(std::memory_order_acquire) >= peer.newest();
  if (!first || patience.count() < 0 || !state_->may_use(MPIX_ENGINE_PATH_RING)) return std::nullopt;
  std::function<void()> const serve = [this] { state_->channels.take_from_ring(); };
  auto const status = deliver(operation, {process(), peer, held, across, patience, serve}, left);
  if (status == Status::ok) count(peer, Path::ring, operation);
  return status;
}

/// Executes the rest of an operation that the ring or the kernel has left.
Status Engine::issue_left(Peer& peer, RmaOp const& operation, RmaOp const& named, bool held,
                          std::span<DataRange const> left) {
  Remainder const rest(operation, left);
  if (reaches_across(peer, operation)) {
    if (auto const status = issue_across(peer, rest.operation(), held)) return *status;
  }
  Remainder const named_rest(named, left);
  if (held) {
    Status const status = issue_held(peer, named_rest.operation());
    if (!failed(status)) count(peer, Path::message, named_rest.operation());
    return status;
  }
  RmaOp awaited = named_rest.operation();
  BlockingCompletion end;
  awaited.completion = &end;
  awaited.guarantees = awaited.guarantees | Guarantee::remote_completion;
  Issued const issued = issue_message(peer, awaited);
  if (failed(issued.status) || issued.complete) return issued.status;
  wait_until(peer, [&] { return end.has_come.load(std::memory_order_acquire); });
  return end.status;
}

/// Executes by load and store or through the kernel, or returns nullopt. `named`: the same operation with
/// exposures, if it has any.
std::optional<Status> Engine::issue_local(Peer& peer, RmaOp const& operation, RmaOp const& named) {
  wait_for_held_stores(peer);
  auto const [begin, bytes] = touched_by(operation);
  if (begin + bytes < begin) return Status::bad_address;
  MessageStream const& stream = peer.state().messages;
  if (has(operation.guarantees, Guarantee::overlap_ordered) &&
      stream.executed.load(std::memory_order_acquire) < peer.newest()) {
    // A message keeps its place behind the earlier ones; every other path would overtake them.
    if (needs_message(peer, operation, begin, bytes)) return std::nullopt;
    wait_for_overlapping(peer, access_of(named));
  }
  Footprint const footprint = footprint_of(operation, peer.stripes()->modes);
  Holds const holds = hold(peer, footprint);
  if (Status const status = look_again(peer, named); failed(status)) return status;  // after a wait
  if (auto const status = issue_direct(peer, operation, begin, bytes)) {
    if (status == Status::ok && counts_direct()) count(peer, Path::direct, operation);
    return status;
  }
  bool const held = !footprint.target.empty();
  bool const across = reaches_across(peer, operation);
  std::vector<DataRange> left;
  if (auto const status = issue_ring(peer, named, held, across, &left)) return status;
  if (!left.empty()) return issue_left(peer, operation, named, held, left);
  if (!moves_across(peer, operation)) return std::nullopt;
  return issue_across(peer, operation, held);
}

/// The rest of an operation whose memory accesses are done: its notification, if it asks for one.
Issued Engine::notify(Peer& peer, RmaOp const& done) {
  if (!notifies(done)) return {};
  RmaOp increment = update_with(ReduceOp::increment, ElementType::uint64);
  increment.guarantees =
      Guarantee::element_atomic | (done.guarantees & (Guarantee::remote_completion | Guarantee::ordered));
  increment.context = done.context;
  increment.target = done.notify;
  increment.target_layout = Layout::contiguous(sizeof(std::uint64_t));
  increment.exposed.target = done.exposed.notify;
  increment.completion = done.completion;
  increment.is_notification = true;
  return issue(peer, increment);
}

namespace {

/// No protocol takes an element of an update apart, or looks whether the operation is defined for it.
bool is_sound(RmaOp const& operation) noexcept {
  if (!operation.is_update()) return true;
  if (!is_valid({operation.type, operation.reduce_op, false, operation.scale})) return false;
  auto const whole = [&](Layout const& layout) {
    return has_whole_elements(layout, operation.type) && layout.size() == operation.target_layout.size();
  };
  return whole(operation.target_layout) && (operation.operands() == 0 || whole(operation.origin_layout)) &&
         (operation.result == nullptr || whole(operation.result_layout));
}

}  // namespace

Issued Engine::issue(Peer& peer, RmaOp const& operation) {
  if (peer.is_lost()) return {Status::unreachable, true, 0};
  if (state_->joint_fence.is_pending()) [[unlikely]]
    wait_for_joint_fence(&peer);
  if (operation.target_layout.size() == 0)
    return notify(peer, operation);  // regardless of the operation on elements
  if (!is_sound(operation)) return {Status::bad_argument, true, 0};
  if (state_->device_memory.holds_origin_of(operation)) return {Status::device_memory, true, 0};
  bool const ordered = has(operation.guarantees, Guarantee::ordered);
  order_before_store(ordered);
  if (operation.is_get() && ordered) {
    // An earlier ordered store that overlaps the memory of this get must be visible to all before any part of
    // it is read. The location of the store is not recorded, so the fence is unconditional.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    wait_for_puts_to_self();
  }
  if (peer.state().same_host) {
    if (auto const status = issue_here(peer, operation)) {
      order_after_load(ordered);
      return failed(*status) ? Issued{*status, true, 0} : notify(peer, operation);
    }
  }
  return issue_message(peer, operation);
}

}  // namespace mpixrma::engine
