/// SegmentTable: the regions, and the allocations within them.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "engine/base/failed_call.hpp"
#include "engine/memory/segment_sizes.hpp"
#include "engine/memory/segment_table.hpp"

namespace mpixrma::engine {

Status SegmentTable::reserve(std::size_t bytes, AllocationHints const& hints, Reservation* out) {
  if (bytes == 0) return Status::bad_argument;
  if (bytes > PTRDIFF_MAX / 2) return Status::out_of_memory;
  bool const power = (hints.alignment & (hints.alignment - 1)) == 0;
  if (!power || hints.alignment > largest_alignment) return Status::bad_argument;
  std::size_t const taken = footprint(bytes);
  std::size_t const alignment = std::max(bytes >= large_bytes ? page_bytes : cache_line, hints.alignment);
  std::uint32_t index = no_region;
  std::size_t offset = 0;
  bool const is_fixed = hints.address != 0;
  if (is_fixed && hints.address % std::max(alignment, page_bytes) != 0) return Status::bad_argument;
  for (std::uint32_t i = 0; i < regions_.size() && !is_fixed; ++i) {
    if (!regions_[i] || regions_[i]->is_fixed || regions_[i]->huge_pages != hints.huge_pages) continue;
    if (auto const found = take_from(*regions_[i], taken, alignment)) {
      index = i;
      offset = *found;
      break;
    }
  }
  if (index == no_region) {
    // Regions are page-aligned, so a larger alignment needs additional room.
    std::size_t const pages = round_up(taken, page_bytes);
    std::size_t const room = pages + (alignment > page_bytes ? alignment : 0);
    // An allocation that fills its own region leaves no huge page unused.
    bool const huge = !is_fixed && (hints.huge_pages || (room > region_bytes_ && !hints.lazy));
    Status const status = add_region(is_fixed ? pages : std::max(region_bytes_, room), hints, huge, &index);
    if (failed(status)) return status;
    offset = *take_from(*regions_[index], taken, alignment);
  }
  Region& region = *regions_[index];
  auto const base = reinterpret_cast<RemoteAddress>(region.mapping.base() + offset);
  std::vector<PageRanges::Range> missing =
      region.idle.remove({offset / page_bytes * page_bytes, round_up(offset + taken, page_bytes)});
  bool const commits = bytes >= large_bytes && !hints.lazy && !region.set_aside;
  *out = Reservation{{base, bytes, 0, index, 0, false, commits, hints.internal},
                     commits && !missing.empty() ? &region : nullptr,
                     std::move(missing)};
  return Status::ok;
}

Status SegmentTable::commit(Reservation const& reservation) noexcept {
  if (reservation.uncommitted == nullptr) return Status::ok;
  Region const& region = *reservation.uncommitted;
  for (auto const& [begin, end] : reservation.missing) {
    std::size_t const bytes = end - begin;
    if (bytes >= huge_page_bytes) region.mapping.advise_huge_pages(begin, bytes);
    Status const status = commit_memory(region.fd, region.mapping, begin, bytes, credit_);
    if (failed(status)) {
      log_.write(LogLevel::life, "no memory for %zu bytes", reservation.segment.length);
      return status;
    }
  }
  return Status::ok;
}

void SegmentTable::cancel(Reservation const& reservation, Garbage* garbage) {
  OwnSegment segment = reservation.segment;
  segment.committed = false;
  return_memory(segment, garbage);
}

bool SegmentTable::in_region(RemoteAddress address, std::size_t bytes) const {
  return std::any_of(regions_.begin(), regions_.end(), [&](auto const& region) {
    if (region == nullptr) return false;
    auto const base = reinterpret_cast<std::uint64_t>(region->mapping.base());
    return address < base + region->mapping.length() && base < address + bytes;
  });
}

/// Allocates `bytes` bytes in the region at an address that is a multiple of `alignment`; returns the offset.
std::optional<std::size_t> SegmentTable::take_from(Region& region, std::size_t bytes, std::size_t alignment) {
  auto const base = reinterpret_cast<std::uintptr_t>(region.mapping.base());
  return region.free_ranges.take(bytes, alignment, base % alignment);
}

/// Creates the file of a region of at least `bytes` bytes, and maps it.
Status SegmentTable::map_region(std::size_t bytes, AllocationHints const& hints, bool huge_pages,
                                Region* region) {
  region->huge_pages = hints.huge_pages;
  region->is_fixed = hints.address != 0;
  if (huge_pages) {
    bytes = round_up(bytes, huge_page_bytes);
    if (!failed(create_shared_huge("mpix-region", bytes, &region->fd)))
      region->mapping = Mapping::of_huge_pages(region->fd, bytes);
    region->set_aside = static_cast<bool>(region->mapping);
    log_.write(LogLevel::life, "%s huge pages for a region of %zu bytes", region->mapping ? "reserved" : "no",
               bytes);
    if (region->mapping) return Status::ok;
  }
  if (Status const status = create_shared("mpix-region", bytes, &region->fd); failed(status)) {
    log_.write(LogLevel::error, "no region of %zu bytes for communicatable memory: %s", bytes,
               text_of_failure(status).c_str());
    return status;
  }
  region->mapping =
      region->is_fixed ? Mapping::at(region->fd, bytes, hints.address) : Mapping::of(region->fd, bytes);
  if (!region->mapping) return region->is_fixed ? Status::bad_address : Status::out_of_memory;
  if (hints.huge_pages) region->mapping.advise_huge_pages(0, bytes);
  return Status::ok;
}

void SegmentTable::place(Mapping const& mapping) const noexcept {
  if (!node_) return;
  if (int const error = mapping.prefer_node(*node_); error != 0)
    log_.write(LogLevel::life, "no memory is requested on NUMA node %u: %s", *node_, std::strerror(error));
}

Status SegmentTable::add_region(std::size_t bytes, AllocationHints const& hints, bool huge_pages,
                                std::uint32_t* index) {
  auto const unused = std::find(regions_.begin(), regions_.end(), nullptr);
  auto const slot = static_cast<std::uint32_t>(unused - regions_.begin());
  if (slot == max_regions) return Status::out_of_memory;
  auto region = std::make_unique<Region>();
  if (Status const status = map_region(bytes, hints, huge_pages, region.get()); failed(status)) return status;
  place(region->mapping);
  bytes = region->mapping.length();
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

void SegmentTable::remove_region(std::uint32_t index, Garbage* garbage) {
  garbage->regions_.push_back(nullptr);
  tables_->regions[index].withdraw(++region_generations_[index]);
  garbage->regions_.back() = std::move(regions_[index]);
}

/// Keeps an empty region of the usual size if it is the only region, so that alternating allocate and free do
/// not map and unmap.
void SegmentTable::remove_if_unused(std::uint32_t index, Garbage* garbage) {
  Region const& region = *regions_[index];
  if (!region.free_ranges.all_free() || region.idle.bytes() != 0) return;
  if (region.is_fixed) return remove_region(index, garbage);
  bool const others =
      std::count_if(regions_.begin(), regions_.end(), [](auto const& r) { return r != nullptr; }) > 1;
  if (others || region.mapping.length() > region_bytes_) remove_region(index, garbage);
}

void SegmentTable::return_memory(OwnSegment const& segment, Garbage* garbage) {
  Region& region = *regions_[segment.region];
  std::size_t const offset = segment.base - reinterpret_cast<std::uint64_t>(region.mapping.base());
  std::size_t const taken = footprint(segment.length);
  // Huge pages stay allocated, because their availability would not be checked on reuse.
  bool const whole_pages = segment.length >= large_bytes && !region.set_aside;
  bool const kept = whole_pages && segment.committed && !region.is_fixed && may_keep(taken, garbage);
  if (whole_pages && !kept) return garbage->parts_.push_back({&region, segment.region, offset, taken});
  if (kept) region.idle.add({offset, offset + taken});
  region.free_ranges.give_back(offset, taken);
  remove_if_unused(segment.region, garbage);
}

void SegmentTable::Garbage::release() const noexcept {
  for (Part const& part : parts_) release_pages(part.region->fd, part.offset, part.bytes);
}

void SegmentTable::recycle(Garbage& garbage) {
  for (Garbage::Part const& part : garbage.parts_) {
    regions_[part.index]->free_ranges.give_back(part.offset, part.bytes);
    remove_if_unused(part.index, &garbage);
  }
  garbage.parts_.clear();
}

/// Whether `bytes` more freed bytes are to be kept; memory that is kept already is dropped to make room.
bool SegmentTable::may_keep(std::size_t bytes, Garbage* garbage) {
  if (idle_.may_keep(bytes, idle_bytes())) return true;
  return bytes <= idle_.limit() && drop_idle(garbage) && idle_.may_keep(bytes, 0);
}

std::size_t SegmentTable::idle_bytes() const noexcept {
  std::size_t bytes = 0;
  for (auto const& region : regions_) bytes += region != nullptr ? region->idle.bytes() : 0;
  return bytes;
}

bool SegmentTable::drop_idle(Garbage* garbage) {
  bool any = false;
  for (std::uint32_t index = 0; index < regions_.size(); ++index) {
    Region* const region = regions_[index].get();
    if (region == nullptr || region->idle.bytes() == 0) continue;
    for (auto const& [begin, end] : region->idle.all()) {
      garbage->parts_.push_back({region, index, begin, end - begin});
      region->free_ranges.take_at(begin, end - begin);
    }
    region->idle = {};
    any = true;
  }
  return any;
}

}  // namespace mpixrma::engine
