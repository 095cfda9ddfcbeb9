/// Engine: memory of this process that others may access.
#include "engine/runtime/engine.hpp"

#include <algorithm>
#include <set>
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
Status Engine::try_to_allocate(std::size_t bytes, AllocationHints const& hints, void** base) {
  SegmentTable& segments = state_->segments;
  std::unique_lock held(state_->channels);
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
  give_back(garbage, state_->channels, segments);
  return status;
}

Status Engine::allocate(std::size_t bytes, AllocationHints const& hints, void** base) {
  Status const status = try_to_allocate(bytes, hints, base);
  if (status != Status::out_of_memory) return status;
  // Kept freed memory may be the memory that is missing.
  SegmentTable::Garbage garbage;
  {
    std::lock_guard const held(state_->channels);
    if (!state_->segments.drop_idle(&garbage)) return status;
  }
  give_back(garbage, state_->channels, state_->segments);
  return try_to_allocate(bytes, hints, base);
}

RemoteAddress Engine::unused_addresses(RemoteAddress from, std::size_t bytes,
                                       std::size_t alignment) const noexcept {
  constexpr RemoteAddress range = RemoteAddress{16} << 40;
  RemoteAddress const base = state_->config.same_address_base;
  return first_unmapped(std::max(base, from), base + range, bytes, alignment);
}

bool Engine::is_allocated(void const* base) const {
  std::lock_guard const held(state_->channels.front().lock);
  OwnSegment const* const segment = state_->segments.at(base);
  return segment != nullptr && !segment->user_memory();
}

/// Makes peers drop the segment or exposure with this number. With all channels locked.
void Engine::revoke(std::uint64_t number, RemoteAddress base) {
  state_->channels.for_each([&](Channel& channel) { channel.executor.queries.revoke(number, base); });
}

/// With all channels locked.
bool Engine::is_forgotten(std::uint64_t number) {
  bool forgotten = true;
  state_->channels.for_each(
      [&](Channel& channel) { forgotten = forgotten && channel.executor.queries.revoked(number); });
  return forgotten;
}

/// Makes peers drop the keys of segments that no longer exist. With all channels locked.
void Engine::revoke(std::vector<OwnSegment> const& segments) {
  for (OwnSegment const& segment : segments) {
    if (!state_->registrations.has(segment)) continue;
    revoke(segment.generation, segment.base);
    state_->revoked.push_back(segment);
  }
}

/// Whether no peer has a key any more for revoked memory in [begin, end), and none of it is registered with
/// the network. With all channels locked.
bool Engine::is_forgotten(RemoteAddress begin, RemoteAddress end) {
  bool all = true;
  std::erase_if(state_->revoked, [&](OwnSegment const& segment) {
    bool const forgotten = is_forgotten(segment.generation) && state_->registrations.remove(segment);
    if (!forgotten && segment.base < end && begin < segment.base + segment.length) all = false;
    return forgotten;
  });
  return all;
}

void Engine::wait_until_forgotten(RemoteAddress begin, RemoteAddress end) {
  wait_until([&] {
    std::lock_guard const held(state_->channels);
    return is_forgotten(begin, end);
  });
}

/// Determines the access rights of memory to be registered; bad_address if it is not readable. No channel is
/// locked meanwhile.
Status Engine::look_at(void const* base, std::size_t bytes, MemoryRights* found) const {
  *found = {true, true, true};
  {
    std::lock_guard const held(state_->channels.front().lock);
    if (state_->segments.in_region(reinterpret_cast<RemoteAddress>(base), bytes)) return Status::ok;
  }
  // Writing to a few pages, without changing them, is faster than the kernel's map and finds out the same.
  constexpr std::size_t few_bytes = 16 * 1024;
  if (bytes <= few_bytes && accessible(base, bytes, true)) return Status::ok;
  *found = rights_of(base, bytes);
  return found->readable ? Status::ok : Status::bad_address;
}

Status Engine::attach(void* base, std::size_t bytes, PeerAccess access, Registrar registrar,
                      MemoryRights* found) {
  if (base == nullptr || bytes == 0) return Status::bad_argument;
  if (state_->device_memory.holds(base, bytes, false)) return Status::device_memory;
  if (Status const status = look_at(base, bytes, found); failed(status)) return status;
  if (access == PeerAccess::write && !found->writable) return Status::not_writable;
  std::lock_guard const held(state_->channels);
  std::vector<OwnSegment> replaced;
  Status const status = state_->segments.attach(base, bytes, registrar, &replaced);
  revoke(replaced);
  return status;
}

Status Engine::attach(void* base, std::size_t bytes, PeerAccess access, Registrar registrar) {
  MemoryRights found;
  return attach(base, bytes, access, registrar, &found);
}

/// With all channels locked.
Status Engine::start_detach(void const* base, std::size_t bytes, Registrar registrar, Concealed* left) {
  std::vector<OwnSegment> replaced;
  Coverage::Range ended{};
  Status const status = state_->segments.detach(base, bytes, registrar, &replaced, &ended);
  left->begin = ended.begin;
  left->end = ended.end;
  revoke(replaced);
  return status;
}

Status Engine::detach(void* base, std::size_t bytes, Registrar registrar) {
  Concealed left;
  {
    std::lock_guard const held(state_->channels);
    if (Status const status = start_detach(base, bytes, registrar, &left); failed(status)) return status;
  }
  wait_until_forgotten(left.begin, left.end);
  return Status::ok;
}

Status Engine::free(void* base) {
  SegmentTable& segments = state_->segments;
  OwnSegment segment;
  std::vector<ExposureId> concealed;
  {
    std::lock_guard const held(state_->channels);
    OwnSegment const* const found = segments.at(base);
    if (found == nullptr || found->user_memory() || found->hidden) return Status::bad_argument;
    segment = *found;
    // After this no peer finds it or gets a key for it.
    (void)segments.hide(base, &concealed);
    for (ExposureId const id : concealed) revoke(static_cast<std::uint64_t>(id), segment.base);
    revoke({segment});
  }
  for (ExposureId const id : concealed) wait_until_concealed(id);
  wait_until_forgotten(segment.base, segment.base + segment.length);
  SegmentTable::Garbage garbage;
  {
    std::lock_guard const held(state_->channels);
    if (Status const status = segments.free(base, &garbage); failed(status)) return status;
  }
  give_back(garbage, state_->channels, segments);
  return Status::ok;
}

void Engine::update_by_elements(void const* base, std::size_t bytes) {
  auto const begin = reinterpret_cast<RemoteAddress>(base);
  switch_to_elements(state_->segments.stripes(), begin, begin + bytes);
}

Status Engine::expose(void* base, std::size_t bytes, Rights rights, ExposureId* id) {
  if (rights == Rights::none || !includes(Rights::all, rights)) return Status::bad_argument;
  MemoryRights found;
  if (Status const status = attach(base, bytes, PeerAccess::as_permitted, Registrar::host, &found);
      failed(status))
    return status;
  if (!found.writable) rights = without_writing(rights);
  Status status = Status::ok;
  {
    std::lock_guard const held(state_->channels);
    status = state_->segments.expose({reinterpret_cast<RemoteAddress>(base), bytes, rights}, id);
  }
  if (failed(status)) (void)detach(base, bytes);
  return status;
}

UnusedNames Engine::unused_names() const {
  std::lock_guard const held(state_->channels.front().lock);
  return state_->segments.unused_names();
}

Status Engine::rename(ExposureId from, ExposureId to) {
  std::lock_guard const held(state_->channels);
  return state_->segments.rename(from, to);
}

Status Engine::conceal(ExposureId id) {
  Concealed left;
  if (Status const status = start_conceal(id, &left); failed(status)) return status;
  wait_until([&] { return is_unreachable(left); });
  return Status::ok;
}

Status Engine::start_conceal(ExposureId id, Concealed* left) {
  std::lock_guard const held(state_->channels);
  Exposure concealed;
  if (Status const status = state_->segments.conceal(id, &concealed); failed(status)) return status;
  revoke(static_cast<std::uint64_t>(id), concealed.base);
  left->id = id;
  // The host may have ended the registration itself.
  (void)start_detach(reinterpret_cast<void const*>(concealed.base), concealed.length, Registrar::host, left);
  return Status::ok;
}

bool Engine::is_unreachable(Concealed const& left) {
  std::lock_guard const held(state_->channels);
  bool const forgotten = is_forgotten(left.begin, left.end);
  return is_forgotten(static_cast<std::uint64_t>(left.id)) && forgotten;
}

void Engine::renew_keys() {
  std::lock_guard const held(state_->channels);
  std::set<std::uint64_t> left;
  state_->channels.for_each([&](Channel& channel) { channel.executor.queries.find_left(&left); });
  if (!left.empty()) {
    std::vector<OwnSegment> replaced;
    state_->segments.renew(left, &replaced);
    revoke(replaced);
    state_->channels.for_each([](Channel& channel) { channel.executor.queries.forget_left(); });
  }
  (void)is_forgotten(0, 0);
}

void Engine::wait_until_concealed(ExposureId id) {
  wait_until([&] {
    std::lock_guard const held(state_->channels);
    return is_forgotten(static_cast<std::uint64_t>(id));
  });
}

void Engine::drop_stale_mappings() {
  RemoteSegments::MappedRegions stale;  // unmapped without the lock
  std::lock_guard const held(state_->peers_lock);
  for (auto& [process, peer] : state_->peers) {
    if (peer->state().same_host) peer->state().segments->drop_stale(&stale);
  }
}

}  // namespace mpixrma::engine
