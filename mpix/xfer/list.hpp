/// Transfers of lists of equally long segments by load and store: their target memory lies in one mapping.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/op/kernel/kernels.hpp"
#include "engine/sync/access_order.hpp"
#include "mpix/xfer/transfer.hpp"

namespace mpixrma {

/// Segments of `bytes` bytes each: segment i is at origins[i] here and at targets[i] in the target process.
struct SegmentList {
  void* const* origins;
  void* const* targets;
  std::size_t count;
  std::size_t bytes;
};

/// Puts or gets segments in the order of the list, up to the first that has a null address or lies outside of
/// the mapped memory segment of the list's first target. Returns the number of segments transferred.
template <OpKind direction>
std::size_t try_direct_list(Target& target, SegmentList const& list) noexcept {
  auto const first = reinterpret_cast<RemoteAddress>(list.targets[0]);
  engine::order_before_store(direction == OpKind::put);
  if (target.peer->translate(first, list.bytes) == nullptr) return 0;
  engine::SegmentView const view = target.peer->view(first);
  if (view.length < list.bytes || view.is_gone()) return 0;
  // A local copy: the compiler would read the members of `list` again after each store of the loop.
  SegmentList const segments = list;
  std::byte* const local = view.local;
  RemoteAddress const begin = view.begin;
  RemoteAddress const most = view.length - segments.bytes;
  std::size_t done = 0;
  for (; done < segments.count; ++done) {
    RemoteAddress const offset = reinterpret_cast<RemoteAddress>(segments.targets[done]) - begin;
    if (offset > most || segments.origins[done] == nullptr) break;
    move_bytes<direction>(segments.origins[done], local + offset, segments.bytes);
  }
  engine::order_after_load(direction == OpKind::get);
  return done;
}

/// The range of all target segments, and the local address of its memory minus the address at the target.
struct MappedList {
  RemoteAddress begin;
  RemoteAddress end;
  std::ptrdiff_t shift;
};

/// The lowest and highest addresses of segments, and whether the origin of one is null.
struct ListBounds {
  RemoteAddress lowest = UINT64_MAX;
  RemoteAddress highest = 0;
  bool has_null = false;

  void add(void const* origin, void const* target) noexcept {
    auto const address = reinterpret_cast<RemoteAddress>(target);
    lowest = std::min(lowest, address);
    highest = std::max(highest, address);
    has_null |= origin == nullptr;
  }
};

/// Returns nothing if an address is null, or if the range is not mapped here as a part of one segment.
inline std::optional<MappedList> find_mapped(Target& target, SegmentList const& list) noexcept {
  SegmentList const segments = list;  // as in try_direct_list()
  // Two, so that the processor can compute one minimum while it waits for the other.
  ListBounds even;
  ListBounds odd;
  std::size_t i = 0;
  for (; i + 1 < segments.count; i += 2) {
    even.add(segments.origins[i], segments.targets[i]);
    odd.add(segments.origins[i + 1], segments.targets[i + 1]);
  }
  if (i < segments.count) even.add(segments.origins[i], segments.targets[i]);
  RemoteAddress const lowest = std::min(even.lowest, odd.lowest);
  RemoteAddress const highest = std::max(even.highest, odd.highest);
  bool const has_null = even.has_null || odd.has_null || lowest == 0;
  if (has_null || lowest > highest || highest > UINT64_MAX - list.bytes) return std::nullopt;
  RemoteAddress const end = highest + list.bytes;
  std::byte* const mapped = target.peer->translate(lowest, end - lowest);
  if (mapped == nullptr) return std::nullopt;
  return MappedList{lowest, end, mapped - reinterpret_cast<std::byte*>(lowest)};
}

/// As try_direct_accumulate(), for all segments of a list: the stripes of the whole range are locked once.
/// Returns false also if element_atomic is set and the CPU has atomics for the element type.
inline bool try_direct_accumulate_list(Target& target, engine::Reduction const& reduction,
                                       SegmentList const& list) noexcept {
  bool const locked = reduction.element_atomic;
  if (locked && engine::has_cpu_atomics(reduction.type)) return false;
  engine::order_before_store();
  auto const mapped = find_mapped(target, list);
  if (!mapped) return false;
  engine::StripeGuard const guard(*target.peer->stripes(),
                                  locked ? engine::stripes_of(mapped->begin, mapped->end) : 0);
  engine::accumulate_list(reduction, list.targets, mapped->shift, list.origins, list.count, list.bytes);
  return true;
}

}  // namespace mpixrma
