/// Engine: choice of the path for an operation, completion and order.
#include <algorithm>
#include <cstring>
#include <optional>

#include "engine/engine.hpp"
#include "engine/log.hpp"
#include "engine/path/cross_memory.hpp"
#include "engine/path/direct.hpp"
#include "engine/state.hpp"

namespace mpix::engine {

namespace {

RemoteAddress plus(RemoteAddress address, std::ptrdiff_t offset) noexcept {
  return address + static_cast<std::uint64_t>(offset);
}

/// Local pointer to [begin, begin + bytes) of a peer on this host, mapping its segment if need be.
/// `*bad`: the range is memory of the peer's regions in which no segment stands.
std::byte* map_range(Peer& peer, RemoteAddress begin, std::size_t bytes, bool* bad) {
  if (std::byte* const known = peer.reach(begin, bytes)) return known;
  RemoteSegments& segments = peer.state().segments;
  if (!segments.in_region(begin, begin + bytes)) return nullptr;
  RemoteSegments::Found found;
  if (!segments.find(begin, &found) || bytes > found.length - (begin - found.base)) {
    *bad = true;
    return nullptr;
  }
  if (!found.mapped) return nullptr;
  remember(peer.slot(begin), found);
  return reinterpret_cast<std::byte*>(static_cast<std::int64_t>(begin) + found.delta);
}

/// Atomic accumulates of integers have to meet read-modify-writes of one element, which use the CPU's
/// atomics: not possible from another address space.
bool needs_cpu_atomics(Transfer const& transfer) noexcept {
  if (transfer.direction != Direction::accumulate || !has(transfer.guarantees, Guarantee::atomic))
    return false;
  auto const type = transfer.reduction.type;
  return type >= ElementType::int32 && type <= ElementType::uint64;
}

/// Runs a transfer whose target lies in several mapped segments, run by run. False, with nothing done,
/// when some run is not mapped; `*bad` as above.
bool direct_piecewise(Peer& peer, Transfer const& transfer, bool* bad) {
  std::size_t const total = transfer.target_layout.size();
  LayoutCursor check(transfer.target_layout);
  while (check.remaining() != 0) {
    Segment const run = check.next();
    if (map_range(peer, plus(transfer.target, run.offset), run.length, bad) == nullptr) return false;
  }
  StripeTable& stripes = *peer.stripes();
  StripeGuard const guard(stripes, stripes_for(transfer));
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
      accumulate(reduction_for(transfer), target, Layout::contiguous(run.length), packed.get(),
                 Layout::contiguous(run.length));
    }
    position += run.length;
  }
  return true;
}

}  // namespace

std::uint64_t Engine::newest(Peer const& peer) noexcept { return peer.newest(); }

void Engine::wait_for_held_stores(Peer& peer) {
  std::uint64_t const held = peer.stores_held_by();
  if (held == 0) return;
  wait_until([&] { return finished(peer, held); });
  peer.allow_stores(held);
}

bool Engine::finished(Peer& peer, std::uint64_t sequence) {
  std::lock_guard const held(state_->progress.lock);
  return AgentPath::finished(peer, sequence);
}

std::optional<Issued> Engine::issue_local(Peer& peer, Transfer const& transfer) {
  State& state = *state_;
  wait_for_held_stores(peer);
  Extent const extent = transfer.target_layout.extent();
  RemoteAddress const begin = plus(transfer.target, extent.begin);
  auto const bytes = static_cast<std::size_t>(extent.end - extent.begin);
  if (begin + bytes < begin) return Issued{Status::bad_address, true, 0};
  StripeTable& stripes = *peer.stripes();
  bool bad = false;
  if (state.may_use(MPIX_ENGINE_PATH_DIRECT)) {
    if (std::byte* const mapped = map_range(peer, begin, bytes, &bad)) {
      direct_transfer(transfer, mapped - extent.begin, stripes);
      return Issued{};
    }
    if (bad && !transfer.target_layout.is_contiguous()) {
      bad = false;
      if (direct_piecewise(peer, transfer, &bad)) return Issued{};
    }
    if (bad) return Issued{Status::bad_address, true, 0};
  }
  if (!peer.state().cross_memory.load(std::memory_order_relaxed) || needs_cpu_atomics(transfer))
    return std::nullopt;
  // Kept out of freed memory of the regions, which is still mapped at the peer.
  if (!state.may_use(MPIX_ENGINE_PATH_DIRECT) && peer.state().segments.in_region(begin, begin + bytes)) {
    RemoteSegments::Found found;
    if (!peer.state().segments.find(begin, &found) || bytes > found.length - (begin - found.base))
      return std::nullopt;
  }
  Status const status = cross_memory_transfer(transfer, peer.state().address.pid, stripes);
  if (status == Status::unsupported) {
    peer.state().cross_memory.store(false, std::memory_order_relaxed);
    return std::nullopt;
  }
  state.cross_memory_operations.fetch_add(1, std::memory_order_relaxed);
  return Issued{status, true, 0};
}

/// Under the lock, released while it waits. Everything that `sequence` covers is executed afterwards.
void Engine::flush_rdma(Peer& peer, std::unique_lock<std::mutex>& held) {
  bool done = false;
  if (failed(state_->rdma.flush(peer, &done))) {
    peer.state().messages.errors.push_back({0, Status::transport});
    return;
  }
  while (!done || peer.state().rdma.pending != 0) {
    state_->progress.drive();
    held.unlock();
    held.lock();
  }
}

/// nullopt: the memory is not registered, or the path does not suit.
std::optional<Issued> Engine::issue_rdma(Peer& peer, Transfer const& transfer,
                                         std::unique_lock<std::mutex>& held) {
  if (!RdmaPath::suits(transfer)) return std::nullopt;
  RemoteKey const* key = RdmaPath::find_key(peer, transfer);
  if (key == nullptr) {
    Extent const extent = transfer.target_layout.extent();
    SegmentInfo info{};
    if (failed(query(peer, plus(transfer.target, extent.begin), &info, held))) return std::nullopt;
    key = RdmaPath::find_key(peer, transfer);
    if (key == nullptr) return std::nullopt;
  }
  // Messages that a fence or the ordering guarantee puts before this operation travel another way.
  MessageStream const& stream = peer.state().messages;
  std::uint64_t const before =
      has(transfer.guarantees, Guarantee::ordered) ? std::max(stream.fence, stream.ordered) : stream.fence;
  while (!AgentPath::finished(peer, before)) {
    state_->progress.drive();
    held.unlock();
    held.lock();
  }
  if (has(transfer.guarantees, Guarantee::ordered) && peer.state().rdma.dirty) flush_rdma(peer, held);
  // The key may have been revoked while the lock was open.
  key = RdmaPath::find_key(peer, transfer);
  if (key == nullptr) return std::nullopt;
  state_->rdma_operations.fetch_add(1, std::memory_order_relaxed);
  return state_->rdma.issue(peer, transfer, *key);
}

Issued Engine::issue(Peer& peer, Transfer const& transfer) {
  if (transfer.target_layout.size() == 0) return {};
  if (peer.state().same_host) {
    if (auto const issued = issue_local(peer, transfer)) return *issued;
  }
  std::unique_lock held(state_->progress.lock);
  RdmaState& rdma = peer.state().rdma;
  bool const ordered = has(transfer.guarantees, Guarantee::ordered);
  if (rdma.flush_first || (ordered && rdma.dirty)) flush_rdma(peer, held);
  if (state_->rdma_usable && !peer.state().same_host) {
    if (auto const issued = issue_rdma(peer, transfer, held)) return *issued;
  }
  state_->agent_operations.fetch_add(1, std::memory_order_relaxed);
  Issued const issued = state_->progress.agent_path.issue(peer, transfer);
  state_->progress.drive();
  state_->agent.take_over();
  return issued;
}

Issued Engine::issue(Peer& peer, ReadModifyWrite const& operation) {
  if (operation.count == 0) return {};
  if (peer.state().same_host && state_->may_use(MPIX_ENGINE_PATH_DIRECT)) {
    wait_for_held_stores(peer);
    std::size_t const bytes = operation.count * std::max<std::size_t>(element_size(operation.type), 1);
    bool bad = false;
    if (std::byte* const mapped = map_range(peer, operation.target, bytes, &bad)) {
      direct_rmw(operation, mapped, *peer.stripes());
      return {};
    }
    if (bad) return {Status::bad_address, true, 0};
  }
  std::unique_lock held(state_->progress.lock);
  if (peer.state().rdma.flush_first) flush_rdma(peer, held);
  state_->agent_operations.fetch_add(1, std::memory_order_relaxed);
  Issued const issued = state_->progress.agent_path.issue(peer, operation);
  state_->progress.drive();
  state_->agent.take_over();
  return issued;
}

void Engine::complete(Peer& peer, std::uint64_t sequence) {
  std::uint64_t const last = std::min(sequence, peer.newest());
  if (last != 0 || sequence != 0) {
    wait_until([&] { return finished(peer, last); });
    std::unique_lock held(state_->progress.lock);
    RdmaState const& rdma = peer.state().rdma;
    if (rdma.dirty || rdma.pending != 0) flush_rdma(peer, held);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

bool Engine::test(Peer& peer, std::uint64_t sequence) {
  state_->progress.poll_now();
  std::lock_guard const held(state_->progress.lock);
  RdmaState const& rdma = peer.state().rdma;
  return AgentPath::finished(peer, std::min(sequence, peer.newest())) && !rdma.dirty && rdma.pending == 0;
}

void Engine::fence(Peer& peer) noexcept {
  // Stores of this thread are ordered before what it stores or sends later.
  std::atomic_thread_fence(std::memory_order_release);
  if (peer.newest() == 0 && peer.state().messages.endpoint == nullptr) return;
  std::lock_guard const held(state_->progress.lock);
  std::uint64_t const newest = peer.newest();
  MessageStream& stream = peer.state().messages;
  RdmaState& rdma = peer.state().rdma;
  rdma.flush_first = rdma.dirty || rdma.pending != 0;
  if (AgentPath::finished(peer, newest)) return;
  stream.fence = newest;
  if (peer.state().same_host) peer.hold_stores(newest);
}

Status Engine::take_error(Peer& peer, std::uint32_t context) {
  std::lock_guard const held(state_->progress.lock);
  auto& errors = peer.state().messages.errors;
  auto const found =
      std::find_if(errors.begin(), errors.end(), [&](auto const& e) { return e.context == context; });
  if (found == errors.end()) return peer.state().messages.broken ? Status::transport : Status::ok;
  Status const status = found->status;
  errors.erase(found);
  return status;
}

/// Asks the peer's agent; keeps the remote key if there is one. Under the lock, released while waiting.
Status Engine::query(Peer& peer, RemoteAddress address, SegmentInfo* info,
                     std::unique_lock<std::mutex>& held) {
  AgentPath& path = state_->progress.agent_path;
  Outstanding* const question = path.find_segment(peer, address);
  if (question == nullptr) return Status::unreachable;
  while (question->live) {
    state_->progress.drive();
    held.unlock();
    held.lock();
  }
  std::vector<std::byte> const reply = std::move(question->reply);
  path.release(*question);
  wire::SegmentReply answer{};
  if (reply.size() < sizeof answer) return Status::transport;
  std::memcpy(&answer, reply.data(), sizeof answer);
  if (answer.length == 0) return Status::bad_address;
  if (answer.key_bytes != reply.size() - sizeof answer) return Status::malformed;
  *info = {answer.base, answer.length};
  if (answer.key_bytes != 0) {
    state_->rdma.add_key(peer, answer.base, answer.length, {reply.begin() + sizeof answer, reply.end()});
  }
  return Status::ok;
}

Status Engine::find_segment(Peer& peer, RemoteAddress address, SegmentInfo* info) {
  if (peer.state().same_host) {
    RemoteSegments::Found found;
    if (!peer.state().segments.find(address, &found)) return Status::bad_address;
    *info = {found.base, found.length};
    return Status::ok;
  }
  std::unique_lock held(state_->progress.lock);
  return query(peer, address, info, held);
}

}  // namespace mpix::engine
