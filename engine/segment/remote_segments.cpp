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
  std::uint32_t const count = std::min(control_->region_end.load(std::memory_order_acquire), max_regions);
  for (std::uint32_t i = 0; i < count; ++i) {
    RegionSlot const& slot = control_->regions[i];
    if (slot.generation.load(std::memory_order_acquire) % 2 == 0) continue;
    std::uint64_t const base = slot.base.load(std::memory_order_relaxed);
    if (begin < base + slot.length.load(std::memory_order_relaxed) && base < end) return true;
  }
  return false;
}

bool RemoteSegments::scan(RemoteAddress address, Found* out) {
  std::uint32_t const end = std::min(control_->segment_end.load(std::memory_order_acquire), max_segments);
  for (std::uint32_t i = 0; i < end; ++i) {
    SegmentSlot const& slot = control_->segments[i];
    std::uint64_t const generation = slot.generation.load(std::memory_order_acquire);
    if (generation % 2 == 0) continue;
    std::uint64_t const base = slot.base.load(std::memory_order_relaxed);
    std::uint64_t const length = slot.length.load(std::memory_order_relaxed);
    std::uint32_t const region = slot.region.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (slot.generation.load(std::memory_order_relaxed) != generation) continue;
    if (address < base || address - base >= length) continue;
    *out = Found{base, length, 0, false, &slot.generation, generation};
    out->mapped = region < max_regions && (own_ || map_region(region, base, &out->delta));
    return true;
  }
  return false;
}

bool RemoteSegments::map_region(std::uint32_t index, std::uint64_t segment_base, std::int64_t* delta) {
  if (index >= regions_.size()) regions_.resize(index + 1);
  MappedRegion& known = regions_[index];
  RegionSlot const& slot = control_->regions[index];
  std::uint64_t const generation = slot.generation.load(std::memory_order_acquire);
  if (generation % 2 == 0) return false;
  if (!known.mapping || known.generation != generation) {
    std::uint64_t const base = slot.base.load(std::memory_order_relaxed);
    std::uint64_t const length = slot.length.load(std::memory_order_relaxed);
    FileDescriptor const fd = open_shared(pid_, slot.fd.load(std::memory_order_relaxed));
    if (!fd) return false;
    Mapping mapping = Mapping::of(fd, length);
    // Read again: the descriptor number may have come to name another file meanwhile.
    if (!mapping || slot.generation.load(std::memory_order_acquire) != generation) return false;
    known = MappedRegion{generation, base, std::move(mapping)};
    log(LogLevel::paths, "mapped region %u of pid %d, %zu bytes", index, static_cast<int>(pid_), length);
  }
  if (segment_base < known.base || segment_base - known.base >= known.mapping.length()) return false;
  *delta = static_cast<std::int64_t>(reinterpret_cast<std::uint64_t>(known.mapping.base()) - known.base);
  return true;
}

void RemoteSegments::drop_stale() {
  std::lock_guard const lock(mutex_);
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    MappedRegion& known = regions_[i];
    if (known.mapping &&
        control_->regions[i].generation.load(std::memory_order_acquire) != known.generation) {
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
  // Odd while it changes; a second writer waits for the first.
  std::uint32_t version = slot.version.load(std::memory_order_relaxed);
  do {
    version &= ~std::uint32_t{1};
  } while (!slot.version.compare_exchange_weak(version, version + 1, std::memory_order_acquire));
  std::atomic_thread_fence(std::memory_order_release);
  slot.begin.store(found.base, std::memory_order_relaxed);
  slot.local.store(reinterpret_cast<std::byte*>(static_cast<std::int64_t>(found.base) + found.delta),
                   std::memory_order_relaxed);
  slot.owner_generation.store(found.owner_generation, std::memory_order_relaxed);
  slot.generation.store(found.generation, std::memory_order_relaxed);
  // After `owner_generation`, which a reader follows once the length lets it.
  slot.length.store(found.length, std::memory_order_release);
  slot.version.store(version + 2, std::memory_order_release);
}

}  // namespace mpix::engine
