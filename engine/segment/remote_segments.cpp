#include "engine/segment/remote_segments.hpp"

#include <algorithm>
#include <iterator>
#include <new>

#include "engine/log.hpp"

namespace mpix::engine {

bool RemoteSegments::open(std::uint64_t process, pid_t pid, int control_fd) {
  FileDescriptor const fd = open_shared(pid, control_fd);
  if (!fd) return false;
  Mapping mapping = Mapping::of(fd, sizeof(ControlSegment));
  if (!mapping) return false;
  auto* const control = std::launder(reinterpret_cast<ControlSegment*>(mapping.base()));
  if (control->magic != ControlSegment::expected_magic ||
      control->version != ControlSegment::expected_version || control->process != process) {
    return false;
  }
  pid_ = pid;
  control_mapping_ = std::move(mapping);
  control_ = control;
  return true;
}

void RemoteSegments::open_own(ControlSegment& control) {
  own_ = true;
  control_ = &control;
}

bool RemoteSegments::find(RemoteAddress address, Found* out) {
  std::lock_guard const lock(mutex_);
  auto const next = known_.upper_bound(address);
  if (next != known_.begin()) {
    auto const before = std::prev(next);
    Found const& found = before->second;
    // Acquire, here and below: as in SegmentView::reach.
    if (found.owner_generation->load(std::memory_order_acquire) != found.generation) {
      known_.erase(before);
    } else if (address - found.base < found.length) {
      *out = found;
      return true;
    }
  }
  if (!scan(address, out)) return false;
  known_.insert_or_assign(out->base, *out);
  return true;
}

bool RemoteSegments::in_region(RemoteAddress begin, RemoteAddress end) const noexcept {
  // Acquire, here and in scan(): pairs with the releases in SegmentTable.
  std::uint32_t const count = std::min(control_->region_end.load(std::memory_order_acquire), max_regions);
  for (std::uint32_t i = 0; i < count; ++i) {
    PublishedRange region;
    if (!control_->regions[i].read(&region)) continue;
    if (begin < region.base + region.length && region.base < end) return true;
  }
  return false;
}

bool RemoteSegments::scan(RemoteAddress address, Found* out) {
  std::uint32_t const end = std::min(control_->segment_end.load(std::memory_order_acquire), max_segments);
  for (std::uint32_t i = 0; i < end; ++i) {
    RangeSlot const& slot = control_->segments[i];
    PublishedRange range;
    if (!slot.read(&range) || !range.contains(address)) continue;
    *out = Found{range.base, range.length, 0, false, &slot.generation(), range.generation};
    out->mapped = range.number < max_regions && (own_ || map_region(range.number, range, &out->delta));
    return true;
  }
  return false;
}

bool RemoteSegments::map_region(std::uint32_t index, PublishedRange const& segment, std::int64_t* delta) {
  if (index >= regions_.size()) regions_.resize(index + 1);
  MappedRegion& known = regions_[index];
  RangeSlot const& slot = control_->regions[index];
  PublishedRange region;
  if (!slot.read(&region)) return false;
  if (!known.mapping || known.generation != region.generation) {
    FileDescriptor const fd = open_shared(pid_, static_cast<int>(region.number));
    if (!fd) return false;
    Mapping mapping = Mapping::of(fd, region.length);
    // Read again: the descriptor number may have come to name another file meanwhile.
    if (!mapping || slot.generation().load(std::memory_order_acquire) != region.generation) return false;
    known = MappedRegion{region.generation, region.base, std::move(mapping)};
    log(LogLevel::paths, "mapped region %u of pid %d, %zu bytes", index, static_cast<int>(pid_),
        known.mapping.length());
  }
  if (segment.base < known.base) return false;
  std::uint64_t const offset = segment.base - known.base;
  if (offset > known.mapping.length() || segment.length > known.mapping.length() - offset) return false;
  *delta = static_cast<std::int64_t>(reinterpret_cast<std::uint64_t>(known.mapping.base()) - known.base);
  return true;
}

void RemoteSegments::drop_stale() {
  std::lock_guard const lock(mutex_);
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    MappedRegion& known = regions_[i];
    if (known.mapping &&
        control_->regions[i].generation().load(std::memory_order_acquire) != known.generation) {
      known = MappedRegion{};
    }
  }
  std::erase_if(known_, [](auto const& entry) {
    Found const& found = entry.second;
    return found.owner_generation->load(std::memory_order_acquire) != found.generation;
  });
}

std::size_t RemoteSegments::mapped_regions() const {
  std::lock_guard const lock(mutex_);
  return static_cast<std::size_t>(std::count_if(
      regions_.begin(), regions_.end(), [](MappedRegion const& r) { return static_cast<bool>(r.mapping); }));
}

void remember(MappedSegment& slot, RemoteSegments::Found const& found) noexcept {
  slot.assign({found.base, found.length,
               reinterpret_cast<std::byte*>(static_cast<std::int64_t>(found.base) + found.delta),
               found.owner_generation, found.generation});
}

}  // namespace mpix::engine
