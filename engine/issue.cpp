/// Engine: choice of the path for an operation.
#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "engine/atomic/footprint.hpp"
#include "engine/engine.hpp"
#include "engine/path/cross_memory.hpp"
#include "engine/path/direct.hpp"
#include "engine/state.hpp"

namespace mpix::engine {

namespace {

RemoteAddress plus(RemoteAddress address, std::ptrdiff_t offset) noexcept {
  return address + static_cast<std::uint64_t>(offset);
}

}  // namespace

/// Local pointer to [begin, begin + bytes) of a peer on this host, mapping its segment if need be.
/// `*bad`: the range is memory of the peer's regions in which no segment stands.
std::byte* Engine::map_range(Peer& peer, RemoteAddress begin, std::size_t bytes, bool* bad) {
  if (std::byte* const known = peer.reach(begin, bytes)) return known;
  RemoteSegments& segments = *peer.state().segments;
  if (!segments.in_region(begin, begin + bytes)) return nullptr;
  RemoteSegments::Found found;
  if (!segments.find(begin, &found) || bytes > found.length - (begin - found.base)) {
    *bad = true;
    return nullptr;
  }
  if (!found.mapped) return nullptr;
  if (!issues_all()) remember(peer.slot(begin, found.length), found);
  return reinterpret_cast<std::byte*>(static_cast<std::int64_t>(begin) + found.delta);
}

std::byte* Engine::map(Peer& peer, RemoteAddress address, std::size_t bytes) {
  if (!peer.state().same_host || !state_->may_use(MPIX_ENGINE_PATH_DIRECT)) return nullptr;
  wait_for_held_stores(peer);
  bool bad = false;
  return peer.is_lost() ? nullptr : map_range(peer, address, bytes, &bad);
}

/// An operation that was not refused.
template <typename Operation>
void Engine::count(Peer& peer, Path path, Operation const& operation) noexcept {
  if constexpr (std::is_same_v<Operation, Transfer>) {
    peer.state().traffic.add_operation(path, operation.target_layout.size());
  } else if (!operation.is_notification) {
    peer.state().traffic.add_operation(path, size_of(operation));
  }
}

/// Runs a transfer whose target lies in several mapped segments, run by run. False, with nothing done,
/// when some run is not mapped; `*bad` as above.
bool Engine::direct_piecewise(Peer& peer, Transfer const& transfer, bool* bad) {
  std::size_t const total = transfer.target_layout.size();
  Reduction const reduction = reduction_for(transfer, peer.stripes()->modes);
  LayoutCursor check(transfer.target_layout);
  while (check.remaining() != 0) {
    Segment const run = check.next();
    if (map_range(peer, plus(transfer.target, run.offset), run.length, bad) == nullptr) return false;
  }
  LayoutCursor cursor(transfer.target_layout);
  for (std::size_t position = 0; position < total;) {
    Segment const run = cursor.next();
    std::byte* const target = map_range(peer, plus(transfer.target, run.offset), run.length, bad);
    if (target == nullptr) return true;  // freed while in use
    if (transfer.direction == Direction::get) {
      unpack(transfer.origin, transfer.origin_layout, position, target, run.length);
    } else if (transfer.direction == Direction::put) {
      pack(target, transfer.origin, transfer.origin_layout, position, run.length);
    } else {
      auto const packed = std::make_unique_for_overwrite<std::byte[]>(run.length);
      pack(packed.get(), transfer.origin, transfer.origin_layout, position, run.length);
      accumulate(reduction, target, Layout::contiguous(run.length), packed.get(),
                 Layout::contiguous(run.length));
    }
    position += run.length;
  }
  return true;
}

/// By load and store, or nullopt.
std::optional<Status> Engine::issue_direct(Peer& peer, Transfer const& transfer, RemoteAddress begin,
                                           std::size_t bytes) {
  if (!state_->may_use(MPIX_ENGINE_PATH_DIRECT)) return std::nullopt;
  bool bad = false;
  if (std::byte* const mapped = map_range(peer, begin, bytes, &bad)) {
    direct_transfer(transfer, mapped - (begin - transfer.target), peer.stripes()->modes);
    return Status::ok;
  }
  if (bad && !transfer.target_layout.is_contiguous()) {
    bad = false;
    if (direct_piecewise(peer, transfer, &bad)) return Status::ok;
  }
  return bad ? std::optional(Status::bad_address) : std::nullopt;
}

/// Through the kernel, or nullopt.
std::optional<Status> Engine::issue_cross_memory(Peer& peer, Transfer const& transfer, RemoteAddress begin,
                                                 std::size_t bytes) {
  if (!peer.state().cross_memory.load(std::memory_order_relaxed)) return std::nullopt;
  // The CPU's atomics do not reach into another address space.
  bool const accumulates = transfer.direction == Direction::accumulate;
  if (accumulates && reduction_for(transfer, peer.stripes()->modes).element_atomic) return std::nullopt;
  // Kept out of freed memory of the regions, which is still mapped at the peer.
  bool const looked_up = state_->may_use(MPIX_ENGINE_PATH_DIRECT);
  if (!looked_up && peer.state().segments->in_region(begin, begin + bytes)) {
    RemoteSegments::Found found;
    if (!peer.state().segments->find(begin, &found) || bytes > found.length - (begin - found.base))
      return std::nullopt;
  }
  Status const status = cross_memory_transfer(transfer, peer.state().location.pid);
  if (status == Status::unsupported) {
    peer.state().cross_memory.store(false, std::memory_order_relaxed);
    return std::nullopt;
  }
  if (!failed(status)) count(peer, Path::cross_memory, transfer);
  return status;
}

std::optional<Issued> Engine::issue_local(Peer& peer, Transfer const& transfer) {
  wait_for_held_stores(peer);
  Extent const extent = transfer.target_layout.extent();
  RemoteAddress const begin = plus(transfer.target, extent.begin);
  auto const bytes = static_cast<std::size_t>(extent.end - extent.begin);
  if (begin + bytes < begin) return Issued{Status::bad_address, true, 0};
  std::optional<Status> status;
  {
    Holds const holds = hold(peer, footprint_of(transfer));
    status = issue_direct(peer, transfer, begin, bytes);
    if (status == Status::ok && counts_direct()) count(peer, Path::direct, transfer);
    if (!status) status = issue_cross_memory(peer, transfer, begin, bytes);
  }
  if (!status) return std::nullopt;
  return failed(*status) ? Issued{*status, true, 0} : notify(peer, transfer);
}

/// The rest of an operation whose memory accesses are done: its notification, if it asks for one.
template <typename Operation>
Issued Engine::notify(Peer& peer, Operation const& done) {
  if (done.notify == 0) return {};
  ReadModifyWrite increment;
  increment.operation = RmwOperation::increment;
  increment.type = ElementType::uint64;
  increment.guarantees = done.guarantees & (Guarantee::remote_completion | Guarantee::ordered);
  increment.context = done.context;
  increment.target = done.notify;
  increment.completion = done.completion;
  increment.is_notification = true;
  return issue(peer, increment);
}

/// Waits with the lock of the peer's channel in hand, which others get in between.
template <typename Predicate>
void Engine::drive_until(Peer& peer, std::unique_lock<std::mutex>& held, Predicate done) {
  while (!done()) {
    channel_of(peer).drive();
    held.unlock();
    held.lock();
  }
}

/// Until every operation by UCX put and get up to `number` has ended.
void Engine::wait_for_rdma(Peer& peer, std::uint64_t number, std::unique_lock<std::mutex>& held) {
  drive_until(peer, held, [&] { return RdmaPath::reached(peer, number); });
}

/// nullopt: the memory is not registered, or the path does not suit.
std::optional<Issued> Engine::issue_rdma(Peer& peer, Transfer const& transfer,
                                         std::unique_lock<std::mutex>& held) {
  if (!RdmaPath::suits(transfer)) return std::nullopt;
  if (RdmaPath::find_key(peer, transfer) == nullptr) {
    RemoteAddress const begin = plus(transfer.target, transfer.target_layout.extent().begin);
    SegmentInfo info{};
    if (peer.state().rdma().gaps.contain(begin) || failed(query(peer, begin, &info, held)))
      return std::nullopt;
  }
  // Messages that a fence or the ordering guarantee puts before this operation travel another way.
  MessageStream const& stream = peer.state().messages;
  std::uint64_t const before =
      has(transfer.guarantees, Guarantee::ordered) ? std::max(stream.fence, stream.ordered) : stream.fence;
  drive_until(peer, held, [&] { return !stream.suspended && AgentPath::finished(peer, before); });
  // The key may have been revoked while the lock was open, and the connection may be lost.
  RemoteKey* const key = RdmaPath::find_key(peer, transfer);
  if (key == nullptr || stream.broken) return std::nullopt;
  peer.state().messages.last_use = peer.state().channel->connections.note_use();
  Issued const issued = RdmaPath::issue(peer, transfer, *key);
  if (!failed(issued.status)) count(peer, Path::rdma, transfer);
  return issued;
}

namespace {

/// No path takes an element apart.
bool has_whole_elements(Transfer const& transfer) noexcept {
  if (transfer.direction != Direction::accumulate) return true;
  std::size_t const element = element_size(transfer.reduction.type);
  return transfer.origin_layout.has_whole(element) && transfer.target_layout.has_whole(element);
}

}  // namespace

Issued Engine::issue(Peer& peer, Transfer const& transfer) {
  if (!has_whole_elements(transfer)) return {Status::bad_argument, true, 0};
  if (peer.is_lost()) return {Status::unreachable, true, 0};
  if (transfer.target_layout.size() == 0) return notify(peer, transfer);
  if (state_->device_memory.holds_origin_of(transfer)) return {Status::device_memory, true, 0};
  if (transfer.direction == Direction::get && has(transfer.guarantees, Guarantee::ordered))
    wait_for_puts_to_self();
  if (peer.state().same_host) {
    if (auto const issued = issue_local(peer, transfer)) return *issued;
  }
  return issue_message(peer, transfer);
}

Issued Engine::issue(Peer& peer, ReadModifyWrite const& operation) {
  if (peer.is_lost()) return {Status::unreachable, true, 0};
  if (operation.count == 0) return notify(peer, operation);
  if (state_->device_memory.holds_origin_of(operation)) return {Status::device_memory, true, 0};
  if (peer.state().same_host && state_->may_use(MPIX_ENGINE_PATH_DIRECT)) {
    wait_for_held_stores(peer);
    bool bad = false;
    if (std::byte* const mapped = map_range(peer, operation.target, size_of(operation), &bad)) {
      {
        UpdateModes& modes = peer.stripes()->modes;
        Holds const holds = hold(peer, footprint_of(operation, modes));
        direct_rmw(operation, mapped, modes);
        if (counts_direct()) count(peer, Path::direct, operation);
      }
      return notify(peer, operation);
    }
    if (bad) return {Status::bad_address, true, 0};
  }
  return issue_message(peer, operation);
}

/// Until another operation may be queued for the peer.
void Engine::wait_for_room(Peer& peer) {
  Channel& channel = channel_of(peer);
  wait_until(peer, [&] {
    std::lock_guard const held(channel.lock);
    return !channel.agent_path.is_full(peer);
  });
}

/// What neither loads and stores nor the kernel can do.
template <typename Operation>
Issued Engine::issue_message(Peer& peer, Operation const& operation) {
  wait_for_room(peer);
  Channel& channel = channel_of(peer);
  // Before the lock: whoever waits for stripes must let messages through.
  StripeHold origin = hold_origin(peer, footprint_of(operation));
  std::unique_lock held(channel.lock);
  // What UCX puts and gets has no place in the stream of messages: it ends before what must come after it.
  RdmaState const& rdma = peer.state().rdma();
  bool const ordered = has(operation.guarantees, Guarantee::ordered);
  wait_for_rdma(peer, ordered ? std::max(rdma.fence, rdma.newest_ordered) : rdma.fence, held);
  if constexpr (std::is_same_v<Operation, Transfer>) {
    if (state_->rdma_usable && !peer.state().same_host) {
      if (auto const issued = issue_rdma(peer, operation, held)) return *issued;
    }
  }
  Issued const issued = channel.agent_path.issue(peer, operation, std::move(origin));
  if (!failed(issued.status)) count(peer, Path::agent, operation);
  channel.drive();
  channel.leave();
  return issued;
}

/// Asks the peer's agent. Under the lock, released while waiting.
Status Engine::query(Peer& peer, RemoteAddress address, SegmentInfo* info,
                     std::unique_lock<std::mutex>& held) {
  AgentPath& path = channel_of(peer).agent_path;
  Outstanding* const question = path.find_segment(peer, address);
  if (question == nullptr) return Status::unreachable;
  drive_until(peer, held, [&] { return !question->live; });
  std::optional<wire::SegmentReply> const answer = question->segment;
  path.release(*question);
  if (!answer) return Status::transport;
  if (answer->is_gap != 0) return Status::bad_address;
  *info = {answer->base, answer->length};
  return Status::ok;
}

Status Engine::find_segment(Peer& peer, RemoteAddress address, SegmentInfo* info) {
  if (peer.state().same_host) {
    RemoteSegments::Found found;
    if (!peer.state().segments->find(address, &found)) return Status::bad_address;
    *info = {found.base, found.length};
    return Status::ok;
  }
  std::unique_lock held(channel_of(peer).lock);
  return query(peer, address, info, held);
}

}  // namespace mpix::engine
