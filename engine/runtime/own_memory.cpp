#include "engine/runtime/own_memory.hpp"

#include <algorithm>
#include <utility>

#include "engine/memory/memory_map.hpp"
#include "engine/memory/probe.hpp"
#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

namespace {

/// Returns memory to the system, without a lock.
void give_back(SegmentTable::Garbage& garbage, Channels& channels, SegmentTable& segments) {
  if (garbage.empty()) return;
  garbage.release();
  std::lock_guard const held(channels);
  segments.recycle(garbage);
}

}  // namespace

/// Pages are allocated and freed without a lock, because gigabytes take seconds.
Status EngineMemory::try_to_allocate(std::size_t bytes, AllocationHints const& hints, void** base) {
  SegmentTable& segments = state_.segments;
  std::unique_lock held(state_.channels);
  SegmentTable::Reservation reservation;
  Status status = segments.reserve(bytes, hints, &reservation);
  if (failed(status)) return status;
  if (reservation.uncommitted != nullptr) {
    held.unlock();
    status = segments.commit(reservation);
    held.lock();
  }
  if (!failed(status)) status = segments.publish(reservation, base);
  if (!failed(status)) return status;
  SegmentTable::Garbage garbage;
  segments.cancel(reservation, &garbage);
  held.unlock();
  give_back(garbage, state_.channels, segments);
  return status;
}

Status EngineMemory::allocate(std::size_t bytes, AllocationHints const& hints, void** base) {
  Status const status = try_to_allocate(bytes, hints, base);
  if (status != Status::out_of_memory) return status;
  // Freed memory that is kept for reuse may be what is missing.
  SegmentTable::Garbage garbage;
  {
    std::lock_guard const held(state_.channels);
    if (!state_.segments.drop_idle(&garbage)) return status;
  }
  give_back(garbage, state_.channels, state_.segments);
  return try_to_allocate(bytes, hints, base);
}

RemoteAddress EngineMemory::unused_addresses(RemoteAddress from, std::size_t bytes,
                                             std::size_t alignment) const noexcept {
  constexpr RemoteAddress range = RemoteAddress{16} << 40;
  RemoteAddress const base = state_.config.same_address_base;
  return first_unmapped(std::max(base, from), base + range, bytes, alignment);
}

bool EngineMemory::is_allocated(void const* base) const {
  std::lock_guard const held(state_.channels.front().lock);
  OwnSegment const* const segment = state_.segments.at(base);
  return segment != nullptr && !segment->user_memory();
}

void EngineMemory::wait_until_dropped(ExposureId id) {
  waits_.until([&] {
    std::lock_guard const held(state_.channels);
    return state_.revocations.is_dropped(static_cast<std::uint64_t>(id));
  });
}

void EngineMemory::wait_until_dropped(RemoteAddress begin, RemoteAddress end) {
  waits_.until([&] {
    std::lock_guard const held(state_.channels);
    return state_.revocations.are_dropped(begin, end);
  });
}

/// Waits until no unsent reply refers to allocated memory. Others would follow without end if replies with
/// copies did not replace them meanwhile.
void EngineMemory::wait_until_replies_are_sent() {
  auto const have_borrowed = [this] {
    bool found = false;
    state_.channels.for_each(
        [&](Channel const& channel) { found |= channel.executor.replies.has_borrowed(); });
    return found;
  };
  {
    std::lock_guard const held(state_.channels);
    if (!have_borrowed()) return;
    state_.channels.for_each([](Channel& channel) { channel.executor.replies.pause_borrowing(); });
  }
  waits_.until([&] {
    std::lock_guard const held(state_.channels);
    if (have_borrowed()) return false;
    state_.channels.for_each([](Channel& channel) { channel.executor.replies.resume_borrowing(); });
    return true;
  });
}

/// Determines the access rights of memory to be registered; bad_address if it is not readable. No channel is
/// locked while the memory is examined.
Status EngineMemory::find_rights(void const* base, std::size_t bytes, MemoryRights* found) const {
  *found = {true, true, true};
  {
    std::lock_guard const held(state_.channels.front().lock);
    if (state_.segments.in_region(reinterpret_cast<RemoteAddress>(base), bytes)) return Status::ok;
  }
  // For a few pages, a write that changes nothing is a faster test than reading the kernel's memory map. The
  // write allocates these pages.
  constexpr std::size_t few_bytes = 16 * 1024;
  if (bytes <= few_bytes && accessible(base, bytes, Access::write)) return Status::ok;
  *found = rights_of(base, bytes);
  return found->readable ? Status::ok : Status::bad_address;
}

Status EngineMemory::attach(void* base, std::size_t bytes, PeerAccess access, Registrar registrar,
                            MemoryRights* found) {
  if (base == nullptr || bytes == 0) return Status::bad_argument;
  if (state_.device_memory.holds(base, bytes, Access::read)) return Status::device_memory;
  if (Status const status = find_rights(base, bytes, found); failed(status)) return status;
  if (access == PeerAccess::write && !found->writable) return Status::not_writable;
  std::lock_guard const held(state_.channels);
  std::vector<OwnSegment> replaced;
  Status const status = state_.segments.attach(base, bytes, registrar, &replaced);
  state_.revocations.revoke(replaced);
  return status;
}

Status EngineMemory::attach(void* base, std::size_t bytes, PeerAccess access, Registrar registrar) {
  MemoryRights found;
  return attach(base, bytes, access, registrar, &found);
}

/// With all channels locked.
Status EngineMemory::start_detach(void const* base, std::size_t bytes, Registrar registrar,
                                  WithdrawnExposure* left) {
  std::vector<OwnSegment> replaced;
  Coverage::Range ended{};
  Status const status = state_.segments.detach(base, bytes, registrar, &replaced, &ended);
  left->begin = ended.begin;
  left->end = ended.end;
  state_.revocations.revoke(replaced);
  return status;
}

Status EngineMemory::detach(void* base, std::size_t bytes, Registrar registrar) {
  WithdrawnExposure left;
  {
    std::lock_guard const held(state_.channels);
    if (Status const status = start_detach(base, bytes, registrar, &left); failed(status)) return status;
  }
  wait_until_dropped(left.begin, left.end);
  return Status::ok;
}

Status EngineMemory::free(void* base) {
  SegmentTable& segments = state_.segments;
  OwnSegment segment;
  std::vector<ExposureId> withdrawn;
  {
    std::lock_guard const held(state_.channels);
    OwnSegment const* const found = segments.at(base);
    if (found == nullptr || found->user_memory() || found->hidden) return Status::bad_argument;
    segment = *found;
    // After this no peer finds the segment or gets a key for it.
    (void)segments.hide(base, &withdrawn);
    for (ExposureId const id : withdrawn)
      state_.revocations.revoke(static_cast<std::uint64_t>(id), segment.base);
    state_.revocations.revoke({segment});
  }
  for (ExposureId const id : withdrawn) wait_until_dropped(id);
  wait_until_dropped(segment.base, segment.base + segment.length);
  wait_until_replies_are_sent();
  SegmentTable::Garbage garbage;
  {
    std::lock_guard const held(state_.channels);
    if (Status const status = segments.free(base, &garbage); failed(status)) return status;
  }
  give_back(garbage, state_.channels, segments);
  return Status::ok;
}

}  // namespace mpixrma::engine
