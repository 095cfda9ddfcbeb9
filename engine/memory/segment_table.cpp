#include "engine/memory/segment_table.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <new>

#include "engine/base/failed_call.hpp"
#include "engine/memory/segment_sizes.hpp"

namespace mpixrma::engine {

SegmentTable::~SegmentTable() {
  for (auto const& region : regions_) {
    if (region != nullptr && !region->free_ranges.all_free()) region->mapping.keep();
  }
}

Status SegmentTable::open(std::uint64_t process, std::size_t region_bytes, std::size_t idle_bytes,
                          StripeTable* stripes) {
  region_bytes_ = round_up(region_bytes, page_bytes);
  idle_.set_limit(idle_bytes);
  Status status = create_published("mpix-tables", sizeof(PublishedTables), &tables_fd_, &tables_mapping_);
  if (!failed(status)) status = create_shared("mpix-control", sizeof(ProcessControl), &control_fd_);
  if (failed(status)) return status;
  control_mapping_ = Mapping::of(control_fd_, sizeof(ProcessControl));
  if (!control_mapping_) {
    record_failed_call("mmap", errno);
    return Status::out_of_memory;
  }
  place(control_mapping_);
  // The files consist of zeros, which is the initial state of all other fields.
  tables_ = std::launder(reinterpret_cast<PublishedTables*>(tables_mapping_.base()));
  control_ = std::launder(reinterpret_cast<ProcessControl*>(control_mapping_.base()));
  stripes_ = stripes != nullptr ? stripes : &control_->stripes;
  tables_->magic = PublishedTables::expected_magic;
  tables_->version = PublishedTables::expected_version;
  tables_->process = process;
  index_.open(tables_->segment_index);
  exposures_.open(tables_->exposures);
  return Status::ok;
}

Status SegmentTable::publish(Reservation const& reservation, void** base) {
  OwnSegment const& segment = reservation.segment;
  index_.begin_change();
  Status const status = publish(segment.base, segment.length, segment.region, segment.internal);
  index_.finish_change();
  if (failed(status)) return status;
  segments_.at(segment.base).committed = segment.committed;
  *base = reinterpret_cast<void*>(segment.base);
  return Status::ok;
}

Status SegmentTable::hide(void const* base, std::vector<ExposureId>* withdrawn) {
  auto const it = segments_.find(reinterpret_cast<RemoteAddress>(base));
  if (it == segments_.end() || it->second.user_memory()) return Status::bad_argument;
  if (it->second.hidden) return Status::ok;
  index_.begin_change();
  invalidate(it->second);
  index_.finish_change();
  it->second.hidden = true;
  for (ExposureId const id : exposures_.within(it->second.base, it->second.base + it->second.length)) {
    Exposure ended;
    if (exposures_.remove(id, &ended)) withdrawn->push_back(id);
  }
  return Status::ok;
}

Status SegmentTable::free(void const* base, Garbage* garbage) {
  std::vector<ExposureId> withdrawn;
  if (Status const status = hide(base, &withdrawn); failed(status)) return status;
  auto const it = segments_.find(reinterpret_cast<RemoteAddress>(base));
  OwnSegment const segment = it->second;
  registrations_.erase(registrations_.lower_bound(segment.base),
                       registrations_.lower_bound(segment.base + segment.length));
  remove(it);
  return_memory(segment, garbage);
  return Status::ok;
}

Status SegmentTable::attach(void* base, std::size_t bytes, Registrar registrar,
                            std::vector<OwnSegment>* replaced) {
  auto const begin = reinterpret_cast<RemoteAddress>(base);
  if (base == nullptr || bytes == 0 || begin + bytes < begin) return Status::bad_argument;
  OwnSegment const* const segment = find(begin);
  bool const allocated = segment != nullptr && !segment->user_memory() && segment->contains(begin, bytes);
  if (!allocated) {
    if (in_region(begin, bytes)) return Status::bad_argument;
    if (!has_free_slot()) return Status::out_of_memory;
    cover({begin, begin + bytes}, replaced);
  }
  registrations_.emplace(begin, Registration{bytes, allocated, registrar});
  return Status::ok;
}

Status SegmentTable::detach(void const* base, std::size_t bytes, Registrar registrar,
                            std::vector<OwnSegment>* replaced, Coverage::Range* ended) {
  auto const begin = reinterpret_cast<RemoteAddress>(base);
  auto const first = registrations_.lower_bound(begin);
  auto it = registrations_.upper_bound(begin);
  do {
    if (it == first) return Status::bad_argument;
    --it;
  } while (it->second.registrar != registrar || (bytes != 0 && it->second.length != bytes));
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

Status SegmentTable::change_id(ExposureId from, ExposureId to) {
  bool const unused = slot_of(to) >= exposures_.first_unused_slot() && generation_of(to) > generation_;
  if (!unused || generation_of(to) % 2 == 0) return Status::bad_argument;
  Exposure exposure;
  if (!exposures_.remove(from, &exposure)) return Status::stale_exposure;
  OwnSegment const* const segment = find(exposure.base);
  exposures_.add(to, exposure, segment != nullptr ? segment->region : no_region);
  generation_ = generation_of(to);
  return Status::ok;
}

Status SegmentTable::withdraw(ExposureId id, Exposure* withdrawn) {
  return exposures_.remove(id, withdrawn) ? Status::ok : Status::stale_exposure;
}

/// Returns the first segment that ends behind `address`.
SegmentTable::Segments::iterator SegmentTable::first_after(RemoteAddress address) {
  auto const next = segments_.upper_bound(address);
  if (next == segments_.begin()) return next;
  auto const before = std::prev(next);
  return before->second.base + before->second.length > address ? before : next;
}

/// Adds a registration of user memory: merges the segments that overlap it into one.
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
  (void)publish(range.begin, range.end - range.begin, no_region);  // a slot is free
  index_.finish_change();
}

/// Removes a registration: replaces its segment by segments for the registrations that remain.
void SegmentTable::uncover(Coverage::Range range, std::vector<OwnSegment>* replaced) {
  user_memory_.remove(range);
  auto const it = first_after(range.begin);
  if (it == segments_.end() || it->second.base > range.begin) return;  // no slot was free for its segment
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

void SegmentTable::renew(std::set<std::uint64_t> const& generations, std::vector<OwnSegment>* replaced) {
  std::size_t const first = replaced->size();
  for (auto const& [base, segment] : segments_) {
    if (segment.user_memory() && generations.contains(segment.generation)) replaced->push_back(segment);
  }
  index_.begin_change();
  for (std::size_t i = first; i < replaced->size(); ++i) {
    OwnSegment const& segment = (*replaced)[i];
    remove(segments_.find(segment.base));
    (void)publish(segment.base, segment.length, no_region);  // a slot is free
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

bool SegmentTable::has_free_slot() const noexcept {
  return !free_slots_.empty() || segment_end_ != max_segments;
}

/// Called between begin_change() and finish_change() of the index.
Status SegmentTable::publish(RemoteAddress base, std::size_t length, std::uint32_t region, bool internal) {
  if (!has_free_slot()) return Status::out_of_memory;
  if (free_slots_.empty()) {
    free_slots_.push_back(segment_end_++);
    // Release: pairs with the acquire in RemoteSegments::scan.
    tables_->segment_end.store(segment_end_, std::memory_order_release);
  }
  std::uint32_t const slot = free_slots_.back();
  free_slots_.pop_back();
  generation_ += 2;
  tables_->segments[slot].publish({base, length, region, generation_, internal ? internal_segment : 0});
  index_.insert(slot, base);
  segments_.emplace(base, OwnSegment{base, length, slot, region, generation_, false, false, internal});
  ++version_;
  return Status::ok;
}

/// Withdraws a segment from peers. Called between begin_change() and finish_change() of the index.
void SegmentTable::invalidate(OwnSegment& segment) {
  tables_->segments[segment.slot].withdraw(segment.generation + 1);
  index_.remove(segment.slot);
  ++version_;
}

void SegmentTable::remove(Segments::iterator it) {
  if (!it->second.hidden) invalidate(it->second);
  free_slots_.push_back(it->second.slot);
  segments_.erase(it);
}

}  // namespace mpixrma::engine
