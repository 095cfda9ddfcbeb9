/// What a process shows to the others on its host: its segments, the regions of memory that hold them,
/// and the locks that guard them. Shared memory; the owner writes the tables, everybody takes the locks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/atomic/stripes.hpp"

namespace mpix::engine {

inline constexpr std::uint32_t max_regions = 1024;
inline constexpr std::uint32_t max_segments = 65536;
inline constexpr std::uint32_t no_region = UINT32_MAX;  ///< user memory: not mappable by peers

/// A slot's `generation` is odd while the slot describes something, even while it is free. It only
/// grows, so a reader that finds the same odd value before and after has read one consistent state, and
/// a value remembered from long ago never comes back.
struct SegmentSlot {
  std::atomic<std::uint64_t> generation;
  std::atomic<std::uint64_t> base;    ///< virtual address in the owner
  std::atomic<std::uint64_t> length;  ///< bytes
  std::atomic<std::uint32_t> region;  ///< index into ControlSegment::regions, or no_region
  std::uint32_t reserved;
};
static_assert(sizeof(SegmentSlot) == 32);

/// A file that peers can map.
struct RegionSlot {
  std::atomic<std::uint64_t> generation;
  std::atomic<std::uint64_t> base;  ///< where the owner has mapped it
  std::atomic<std::uint64_t> length;
  std::atomic<std::int32_t> fd;  ///< descriptor number in the owner
  std::uint32_t reserved;
};
static_assert(sizeof(RegionSlot) == 32);

struct ControlSegment {
  static constexpr std::uint32_t expected_magic = 0x4d504358;  // "MPCX"
  static constexpr std::uint32_t expected_version = 2;

  std::uint32_t magic;
  std::uint32_t version;
  std::uint64_t process;                   ///< guards against a reused pid
  std::atomic<std::uint32_t> segment_end;  ///< no slot from here on was ever used
  std::atomic<std::uint32_t> region_end;   ///< likewise
  alignas(64) StripeTable stripes;
  RegionSlot regions[max_regions];
  SegmentSlot segments[max_segments];
};
static_assert(sizeof(ControlSegment) % 64 == 0);

}  // namespace mpix::engine
