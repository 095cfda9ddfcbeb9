#include "engine/segment/segment_table.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <new>

#include "engine/segment/probe.hpp"

namespace mpix::engine {

namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t cache_line = 64;
constexpr std::size_t huge_page_bytes = 2 * 1024 * 1024;
constexpr std::size_t largest_alignment = 1024 * 1024 * 1024;
// From here on an allocation is page-aligned, its pages are taken when it is made, and go back to the system
// when it is freed.
constexpr std::size_t large_bytes = 256 * 1024;

constexpr std::size_t round_up(std::size_t value, std::size_t to) noexcept {
  return (value + to - 1) / to * to;
}

/// The bytes that an allocation of `bytes` takes in its region.
constexpr std::size_t footprint(std::size_t bytes) noexcept {
  return round_up(bytes, bytes >= large_bytes ? page_bytes : cache_line);
}

}  // namespace

Status SegmentTable::open(std::uint64_t process, std::size_t region_bytes) {
  region_bytes_ = round_up(region_bytes, page_bytes);
  Status status = create_published("mpix-tables", sizeof(PublishedTables), &tables_fd_, &tables_mapping_);
  if (!failed(status)) status = create_shared("mpix-locks", sizeof(ProcessLocks), &stripes_fd_);
  if (failed(status)) return status;
  locks_mapping_ = Mapping::of(stripes_fd_, sizeof(ProcessLocks));
  if (!locks_mapping_) return Status::out_of_memory;
  // The files read as zero, which is the initial state of every field but these.
  tables_ = std::launder(reinterpret_cast<PublishedTables*>(tables_mapping_.base()));
  locks_ = std::launder(reinterpret_cast<ProcessLocks*>(locks_mapping_.base()));
  tables_->magic = PublishedTables::expected_magic;
  tables_->version = PublishedTables::expected_version;
  tables_->process = process;
  index_.open(tables_->segment_index);
  exposures_.open(tables_->exposures);
  return Status::ok;
}

Status SegmentTable::reserve(std::size_t bytes, AllocationHints const& hints, Reservation* out) {
  if (bytes == 0 || bytes > PTRDIFF_MAX / 2) return Status::bad_argument;
  bool const power = (hints.alignment & (hints.alignment - 1)) == 0;
  if (!power || hints.alignment > largest_alignment) return Status::bad_argument;
  std::size_t const taken = footprint(bytes);
  std::size_t const alignment = std::max(bytes >= large_bytes ? page_bytes : cache_line, hints.alignment);
  std::uint32_t index = no_region;
  std::size_t offset = 0;
  for (std::uint32_t i = 0; i < regions_.size(); ++i) {
    if (!regions_[i] || regions_[i]->huge_pages != hints.huge_pages) continue;
    if (auto const found = take_from(*regions_[i], taken, alignment)) {
      index = i;
      offset = *found;
      break;
    }
  }
  if (index == no_region) {
    // Regions start at a page: room to move up to the next multiple of a larger alignment.
    std::size_t const room = round_up(taken, page_bytes) + (alignment > page_bytes ? alignment : 0);
    // What fills a region of its own does not leave huge pages unused.
    bool const huge = hints.huge_pages || (room > region_bytes_ && !hints.lazy);
    auto const status = add_region(std::max(region_bytes_, room), hints.huge_pages, huge, &index);
    if (failed(status)) return status;
    offset = *take_from(*regions_[index], taken, alignment);
  }
  Region const& region = *regions_[index];
  auto const base = reinterpret_cast<RemoteAddress>(region.mapping.base() + offset);
  bool const pages = bytes >= large_bytes && !hints.lazy && !region.set_aside;
  *out = Reservation{{base, bytes, 0, index, 0}, pages ? &region : nullptr};
  return Status::ok;
}

Status SegmentTable::commit(Reservation const& reservation) noexcept {
  if (reservation.uncommitted == nullptr) return Status::ok;
  Region const& region = *reservation.uncommitted;
  std::size_t const offset =
      reservation.segment.base - reinterpret_cast<RemoteAddress>(region.mapping.base());
  std::size_t const bytes = footprint(reservation.segment.length);
  if (bytes >= huge_page_bytes) region.mapping.advise_huge_pages(offset, bytes);
  Status const status = commit_memory(region.fd, region.mapping, offset, bytes, credit_);
  if (failed(status)) log_.write(LogLevel::life, "no memory for %zu bytes", bytes);
  return status;
}

Status SegmentTable::publish(Reservation const& reservation, void** base) {
  OwnSegment const& segment = reservation.segment;
  index_.begin_change();
  Status const status = publish(segment.base, segment.length, segment.region);
  index_.finish_change();
  if (failed(status)) {
    cancel(reservation);
    return status;
  }
  *base = reinterpret_cast<void*>(segment.base);
  return Status::ok;
}

void SegmentTable::cancel(Reservation const& reservation) { return_memory(reservation.segment); }

Status SegmentTable::hide(void const* base, std::vector<ExposureId>* concealed) {
  auto const it = segments_.find(reinterpret_cast<RemoteAddress>(base));
  if (it == segments_.end() || it->second.user_memory()) return Status::bad_argument;
  if (it->second.hidden) return Status::ok;
  index_.begin_change();
  withdraw(it->second);
  index_.finish_change();
  it->second.hidden = true;
  for (ExposureId const id : exposures_.within(it->second.base, it->second.base + it->second.length)) {
    Exposure ended;
    if (exposures_.remove(id, &ended)) concealed->push_back(id);
  }
  return Status::ok;
}

Status SegmentTable::free(void const* base) {
  std::vector<ExposureId> concealed;
  if (Status const status = hide(base, &concealed); failed(status)) return status;
  auto const it = segments_.find(reinterpret_cast<RemoteAddress>(base));
  OwnSegment const segment = it->second;
  registrations_.erase(registrations_.lower_bound(segment.base),
                       registrations_.lower_bound(segment.base + segment.length));
  remove(it);
  return_memory(segment);
  return Status::ok;
}

Status SegmentTable::attach(void* base, std::size_t bytes, std::vector<OwnSegment>* replaced) {
  auto const begin = reinterpret_cast<RemoteAddress>(base);
  if (base == nullptr || bytes == 0 || begin + bytes < begin) return Status::bad_argument;
  OwnSegment const* const segment = find(begin);
  bool const allocated = segment != nullptr && !segment->user_memory() && segment->contains(begin, bytes);
  if (!allocated) {
    if (in_region(begin, bytes)) return Status::bad_argument;
    if (!accessible(base, bytes, false)) return Status::bad_address;
    if (!has_free_slot()) return Status::out_of_memory;
    cover({begin, begin + bytes}, replaced);
  }
  registrations_.emplace(begin, Registration{bytes, allocated});
  return Status::ok;
}

Status SegmentTable::detach(void const* base, std::size_t bytes, std::vector<OwnSegment>* replaced,
                            Coverage::Range* ended) {
  auto const begin = reinterpret_cast<RemoteAddress>(base);
  auto const first = registrations_.lower_bound(begin);
  auto it = registrations_.upper_bound(begin);
  do {
    if (it == first) return Status::bad_argument;
    --it;
  } while (bytes != 0 && it->second.length != bytes);
  Registration const registration = it->second;
  registrations_.erase(it);
  *ended = {begin, begin + registration.length};
  if (!registration.allocated) uncover(*ended, replaced);
  return Status::ok;
}

Status SegmentTable::expose(Exposure const& exposure, ExposureId* id) {
  if (exposures_.is_full()) return Status::out_of_memory;
  OwnSegment const* const segment = find(exposure.base);
  if (segment == nullptr || !segment->contains(exposure.base, exposure.length)) return Status::bad_argument;
  generation_ += 2;
  *id = exposures_.add(exposure, segment->region, generation_);
  return Status::ok;
}

Status SegmentTable::conceal(ExposureId id, Exposure* concealed) {
  return exposures_.remove(id, concealed) ? Status::ok : Status::stale_exposure;
}

/// The first segment that ends behind `address`.
SegmentTable::Segments::iterator SegmentTable::first_after(RemoteAddress address) {
  auto const next = segments_.upper_bound(address);
  if (next == segments_.begin()) return next;
  auto const before = std::prev(next);
  return before->second.base + before->second.length > address ? before : next;
}

/// One more registration of user memory.
void SegmentTable::cover(Coverage::Range range, std::vector<OwnSegment>* replaced) {
  user_memory_.add(range);
  auto const first = first_after(range.begin);
  bool const within =
      first != segments_.end() && first->second.contains(range.begin, range.end - range.begin);
  if (within) return;
  index_.begin_change();
  for (auto it = first; it != segments_.end() && it->second.base < range.end;) {
    range.begin = std::min(range.begin, it->second.base);
    range.end = std::max(range.end, it->second.base + it->second.length);
    replaced->push_back(it->second);
    remove(it++);
  }
  (void)publish(range.begin, range.end - range.begin, no_region);  // there is a slot
  index_.finish_change();
}

/// One registration less.
void SegmentTable::uncover(Coverage::Range range, std::vector<OwnSegment>* replaced) {
  user_memory_.remove(range);
  auto const it = first_after(range.begin);
  if (it == segments_.end() || it->second.base > range.begin) return;  // for want of slots
  Coverage::Range const whole{it->second.base, it->second.base + it->second.length};
  std::vector<Coverage::Range> const rest = user_memory_.unions_in(whole, range);
  if (rest.size() == 1 && rest[0] == whole) return;
  index_.begin_change();
  replaced->push_back(it->second);
  remove(it);
  for (Coverage::Range const& part : rest) {
    Status const status = publish(part.begin, part.end - part.begin, no_region);
    if (failed(status))
      log_.write(LogLevel::life, "no slot for registered memory that was part of a larger segment");
  }
  index_.finish_change();
}

OwnSegment const* SegmentTable::find(RemoteAddress address) const {
  auto const next = segments_.upper_bound(address);
  if (next == segments_.begin()) return nullptr;
  OwnSegment const& segment = std::prev(next)->second;
  return !segment.hidden && address - segment.base < segment.length ? &segment : nullptr;
}

SegmentTable::Gap SegmentTable::gap_around(RemoteAddress address) const {
  auto const next = segments_.upper_bound(address);
  Gap gap{0, next == segments_.end() ? UINT64_MAX : next->second.base};
  auto before = next;
  while (before != segments_.begin()) {
    OwnSegment const& segment = (--before)->second;
    if (segment.hidden) continue;
    gap.begin = segment.base + segment.length;
    break;
  }
  return gap;
}

OwnSegment const* SegmentTable::at(void const* base) const {
  auto const it = segments_.find(reinterpret_cast<RemoteAddress>(base));
  return it == segments_.end() ? nullptr : &it->second;
}

bool SegmentTable::in_region(RemoteAddress address, std::size_t bytes) const {
  return std::any_of(regions_.begin(), regions_.end(), [&](auto const& region) {
    if (region == nullptr) return false;
    auto const base = reinterpret_cast<std::uint64_t>(region->mapping.base());
    return address < base + region->mapping.length() && base < address + bytes;
  });
}

/// Offset in the region of `bytes` bytes whose address is a multiple of `alignment`.
std::optional<std::size_t> SegmentTable::take_from(Region& region, std::size_t bytes, std::size_t alignment) {
  auto const base = reinterpret_cast<std::uintptr_t>(region.mapping.base());
  return region.free_ranges.take(bytes, alignment, base % alignment);
}

Status SegmentTable::add_region(std::size_t bytes, bool asked, bool huge_pages, std::uint32_t* index) {
  auto const unused = std::find(regions_.begin(), regions_.end(), nullptr);
  auto const slot = static_cast<std::uint32_t>(unused - regions_.begin());
  if (slot == max_regions) return Status::out_of_memory;
  auto region = std::make_unique<Region>();
  region->huge_pages = asked;
  if (huge_pages) {
    bytes = round_up(bytes, huge_page_bytes);
    if (!failed(create_shared_huge("mpix-region", bytes, &region->fd)))
      region->mapping = Mapping::reserved(region->fd, bytes);
    region->set_aside = static_cast<bool>(region->mapping);
    log_.write(LogLevel::life, "%s huge pages for a region of %zu bytes", region->mapping ? "reserved" : "no",
               bytes);
  }
  if (!region->mapping) {
    if (Status const status = create_shared("mpix-region", bytes, &region->fd); failed(status)) {
      log_.write(LogLevel::error, "no region of %zu bytes for communicatable memory: %s", bytes,
                 to_string(status));
      return status;
    }
    region->mapping = Mapping::of(region->fd, bytes);
    if (region->mapping && asked) region->mapping.advise_huge_pages(0, bytes);
  }
  if (!region->mapping) return Status::out_of_memory;
  region->free_ranges = FreeRanges(bytes);

  bool const another = unused == regions_.end();
  if (another) {
    regions_.emplace_back();
    region_generations_.push_back(0);
  }
  tables_->regions[slot].publish({reinterpret_cast<RemoteAddress>(region->mapping.base()), bytes,
                                  static_cast<std::uint32_t>(region->fd.get()), ++region_generations_[slot]});
  // Release: pairs with the acquire in RemoteSegments::in_region.
  if (another) tables_->region_end.store(slot + 1, std::memory_order_release);
  regions_[slot] = std::move(region);
  *index = slot;
  log_.write(LogLevel::life, "new region %u of %zu bytes", slot, bytes);
  return Status::ok;
}

void SegmentTable::remove_region(std::uint32_t index) {
  tables_->regions[index].withdraw(++region_generations_[index]);
  regions_[index].reset();
}

bool SegmentTable::has_free_slot() const noexcept {
  return !free_slots_.empty() || segment_end_ != max_segments;
}

/// In a change of the index.
Status SegmentTable::publish(RemoteAddress base, std::size_t length, std::uint32_t region) {
  if (!has_free_slot()) return Status::out_of_memory;
  if (free_slots_.empty()) {
    free_slots_.push_back(segment_end_++);
    // Release: pairs with the acquire in RemoteSegments::scan.
    tables_->segment_end.store(segment_end_, std::memory_order_release);
  }
  std::uint32_t const slot = free_slots_.back();
  free_slots_.pop_back();
  generation_ += 2;
  tables_->segments[slot].publish({base, length, region, generation_});
  index_.insert(slot, base);
  segments_.emplace(base, OwnSegment{base, length, slot, region, generation_});
  ++version_;
  return Status::ok;
}

/// From here on peers do not see it. In a change of the index.
void SegmentTable::withdraw(OwnSegment& segment) {
  tables_->segments[segment.slot].withdraw(segment.generation + 1);
  index_.remove(segment.slot);
  ++version_;
}

void SegmentTable::remove(Segments::iterator it) {
  if (!it->second.hidden) withdraw(it->second);
  free_slots_.push_back(it->second.slot);
  segments_.erase(it);
}

void SegmentTable::return_memory(OwnSegment const& segment) {
  Region& region = *regions_[segment.region];
  std::size_t const offset = segment.base - reinterpret_cast<std::uint64_t>(region.mapping.base());
  std::size_t const taken = footprint(segment.length);
  region.free_ranges.give_back(offset, taken);
  // What is set aside stays so: nobody looks whether there is any when it is used again.
  if (segment.length >= large_bytes && !region.set_aside) release_pages(region.fd, offset, taken);
  // One empty region of the usual size stays, so that allocate and free in turn do not map and unmap.
  bool const others =
      std::count_if(regions_.begin(), regions_.end(), [](auto const& r) { return r != nullptr; }) > 1;
  if (region.free_ranges.all_free() && (others || region.mapping.length() > region_bytes_)) {
    remove_region(segment.region);
  }
}

}  // namespace mpix::engine
