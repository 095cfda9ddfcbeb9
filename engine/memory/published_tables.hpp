/// The tables of a process that other processes of its host read: its segments, the regions that contain
/// them, and its exposures.
///
/// They are in a file that other processes can only read. The memory that other processes write, such as
/// locks (ProcessControl), is in a separate file.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/memory/range_index.hpp"
#include "engine/memory/range_slot.hpp"

namespace mpixrma::engine {

inline constexpr std::uint32_t max_regions = 1024;
inline constexpr std::uint32_t max_segments = 1 << 18;  // the file is sparse: unused slots take no memory
inline constexpr std::uint32_t max_exposures = 1 << 16;
inline constexpr std::uint32_t no_region = UINT32_MAX;  ///< user memory: not mappable by peers

using SegmentIndex = BasicRangeIndex<std::atomic, max_segments, 9>;
using SegmentIndexWriter = BasicRangeIndexWriter<std::atomic, max_segments, 9>;

struct PublishedTables {
  static constexpr std::uint32_t expected_magic = 0x4d504358;  // "MPCX"
  static constexpr std::uint32_t expected_version = 6;

  std::uint32_t magic;
  std::uint32_t version;
  std::uint64_t process;                       ///< guards against a reused pid
  std::atomic<std::uint32_t> segment_end;      ///< all slots from here on are unused
  std::atomic<std::uint32_t> region_end;       ///< all slots from here on are unused
  alignas(64) RangeSlot regions[max_regions];  ///< files that peers can map; `number`: the owner's descriptor
  RangeSlot segments[max_segments];            ///< `number`: index into `regions`, or no_region
  alignas(64) SegmentIndex segment_index;      ///< index of `segments`, which do not overlap
  RangeSlot exposures[max_exposures];          ///< `number`: as for a segment
};
static_assert(sizeof(PublishedTables) % 64 == 0);

}  // namespace mpixrma::engine
