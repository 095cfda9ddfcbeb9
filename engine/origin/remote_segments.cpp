#include "engine/origin/remote_segments.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <new>
#include <utility>

namespace mpixrma::engine {

bool RemoteSegments::open(std::uint64_t process, pid_t pid, int tables_fd, int control_fd, Log const& log) {
  FileDescriptor const tables_file = open_shared(pid, tables_fd, Access::read, sizeof(PublishedTables));
  FileDescriptor const control_file = open_shared(pid, control_fd, Access::write, sizeof(ProcessControl));
  if (!tables_file || !control_file) return false;
  Mapping tables = Mapping::read_only(tables_file, sizeof(PublishedTables));
  Mapping control = Mapping::of(control_file, sizeof(ProcessControl));
  if (!tables || !control) return false;
  auto const* const shown = std::launder(reinterpret_cast<PublishedTables const*>(tables.base()));
  if (shown->magic != PublishedTables::expected_magic ||
      shown->version != PublishedTables::expected_version || shown->process != process) {
    return false;
  }
  log_ = &log;
  pid_ = pid;
  tables_mapping_ = std::move(tables);
  tables_ = shown;
  control_mapping_ = std::move(control);
  control_ = std::launder(reinterpret_cast<ProcessControl*>(control_mapping_.base()));
  return true;
}

void RemoteSegments::open_own(PublishedTables const& tables, ProcessControl& control) {
  own_ = true;
  tables_ = &tables;
  control_ = &control;
}

bool RemoteSegments::find(RemoteAddress address, Found* out) {
  MappedRegion replaced;  // unmapped after the lock is released
  std::lock_guard const lock(mutex_);
  auto const next = known_.upper_bound(address);
  if (next != known_.begin()) {
    auto const before = std::prev(next);
    Found const& found = before->second;
    // Acquire, here and below: as in SegmentView::is_gone.
    bool const ended = found.owner_generation->load(std::memory_order_acquire) != found.generation;
    if (ended || is_retry_due(found)) {
      known_.erase(before);
    } else if (address - found.base < found.length) {
      *out = found;
      return true;
    }
  }
  if (!scan(address, out, &replaced)) return false;
  known_.insert_or_assign(out->base, *out);
  return true;
}

bool RemoteSegments::read(ExposureId id, PublishedRange* out) const noexcept {
  static_assert(max_exposures == 1u << exposure_slot_bits);
  return tables_->exposures[slot_of(id)].read(out) && make_exposure_id(slot_of(id), out->generation) == id;
}

bool RemoteSegments::find(ExposureId id, Exposure* out) const noexcept {
  PublishedRange range;
  if (!read(id, &range)) return false;
  *out = {range.base, range.length, static_cast<Rights>(range.rights)};
  return true;
}

Status RemoteSegments::view(ExposureId id, ExposedView* out) {
  MappedRegion replaced;
  std::lock_guard const lock(mutex_);
  PublishedRange range;
  if (!read(id, &range)) return Status::stale_exposure;
  std::int64_t delta = 0;
  errno = 0;
  bool const mapped =
      range.number < max_regions && (own_ || map_region(range.number, range, &delta, &replaced));
  bool const lacks_resources = errno == ENOMEM || errno == EMFILE || errno == ENFILE;
  out->exposure = {range.base, range.length, static_cast<Rights>(range.rights)};
  if (!mapped) return lacks_resources ? Status::out_of_memory : Status::unsupported;
  *out = {reinterpret_cast<std::byte*>(static_cast<std::int64_t>(range.base) + delta), out->exposure,
          &tables_->exposures[slot_of(id)].generation(), range.generation};
  return Status::ok;
}

bool RemoteSegments::in_region(RemoteAddress begin, RemoteAddress end) const noexcept {
  // Acquire, here and in scan(): pairs with the releases in SegmentTable.
  std::uint32_t const count = std::min(tables_->region_end.load(std::memory_order_acquire), max_regions);
  for (std::uint32_t i = 0; i < count; ++i) {
    PublishedRange region;
    if (!tables_->regions[i].read(&region)) continue;
    if (begin < region.base + region.length && region.base < end) return true;
  }
  return false;
}

bool RemoteSegments::scan(RemoteAddress address, Found* out, MappedRegion* replaced) {
  PublishedRange range;
  std::uint32_t const end = tables_->segment_end.load(std::memory_order_acquire);
  std::uint32_t const slot = tables_->segment_index.find(tables_->segments, end, address, &range);
  if (slot == max_segments) return false;
  *out = Found{range.base,
               range.length,
               0,
               false,
               range.number,
               &tables_->segments[slot].generation(),
               range.generation,
               range.rights == internal_segment};
  out->mapped =
      range.number < max_regions && (own_ || map_region(range.number, range, &out->delta, replaced));
  if (!out->mapped && out->region < regions_->size())
    (*regions_)[out->region].retry_at = std::chrono::steady_clock::now() + retry_interval;
  return true;
}

/// Whether the segment is not mapped, and its region may be tried again.
bool RemoteSegments::is_retry_due(Found const& found) const noexcept {
  if (found.mapped || found.region >= regions_->size()) return false;
  return std::chrono::steady_clock::now() >= (*regions_)[found.region].retry_at;
}

/// `*replaced` receives the mapping that was there before.
bool RemoteSegments::map_region(std::uint32_t index, PublishedRange const& segment, std::int64_t* delta,
                                MappedRegion* replaced) {
  if (abandoned_) return false;
  if (index >= regions_->size()) regions_->resize(index + 1);
  MappedRegion& known = (*regions_)[index];
  RangeSlot const& slot = tables_->regions[index];
  PublishedRange region;
  if (!slot.read(&region)) return false;
  if (!known.mapping || known.generation != region.generation) {
    FileDescriptor const fd =
        open_shared(pid_, static_cast<int>(region.number), Access::write, region.length);
    if (!fd) return false;
    Mapping mapping = Mapping::of(fd, region.length);
    // Read again, because the descriptor number may refer to another file by now.
    if (!mapping || slot.generation().load(std::memory_order_acquire) != region.generation) return false;
    *replaced = std::exchange(known, {region.generation, region.base, std::move(mapping), {}, {}});
    log_->write(LogLevel::peers, "mapped region %u of pid %d, %zu bytes", index, static_cast<int>(pid_),
                known.mapping.length());
  }
  if (segment.base < known.base) return false;
  std::uint64_t const offset = segment.base - known.base;
  if (offset > known.mapping.length() || segment.length > known.mapping.length() - offset) return false;
  *delta = static_cast<std::int64_t>(reinterpret_cast<std::uint64_t>(known.mapping.base()) - known.base);
  watch(known, segment.length);
  return true;
}

/// Makes the prefaulter watch the region, in which a segment of this size was found, if the size is large
/// enough.
void RemoteSegments::watch(MappedRegion& region, std::size_t segment_bytes) {
  if (prefaulter_ == nullptr || segment_bytes < PagePrefaulter::worthwhile_bytes) return;
  if (region.watch)
    region.watch.renew();
  else
    region.watch = prefaulter_->watch(region.mapping);
}

std::shared_ptr<RemoteSegments::MappedRegions> RemoteSegments::abandon() {
  std::lock_guard const lock(mutex_);
  abandoned_ = true;
  known_.clear();
  return regions_;
}

void RemoteSegments::drop_stale(MappedRegions* stale) {
  std::lock_guard const lock(mutex_);
  if (abandoned_) return;
  for (std::size_t i = 0; i < regions_->size(); ++i) {
    MappedRegion& known = (*regions_)[i];
    if (known.mapping &&
        tables_->regions[i].generation().load(std::memory_order_acquire) != known.generation) {
      stale->push_back(std::exchange(known, {}));
    }
  }
  std::erase_if(known_, [](auto const& entry) {
    Found const& found = entry.second;
    return found.owner_generation->load(std::memory_order_acquire) != found.generation;
  });
}

std::size_t RemoteSegments::mapped_regions() const {
  std::lock_guard const lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(regions_->begin(), regions_->end(),
                    [](MappedRegion const& r) { return static_cast<bool>(r.mapping); }));
}

void remember(MappedSegment& slot, RemoteSegments::Found const& found) noexcept {
  slot.assign({found.base, found.length,
               reinterpret_cast<std::byte*>(static_cast<std::int64_t>(found.base) + found.delta),
               found.owner_generation, found.generation});
}

}  // namespace mpixrma::engine
