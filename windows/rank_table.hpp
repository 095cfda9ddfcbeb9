/// What the processes of a window know of each other.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/operation.hpp"

namespace mpix::windows {

/// One rank; the bytes travel between processes.
struct RankEntry {
  std::uint64_t process = 0;      ///< identity at the engine
  engine::ExposureId exposure{};  ///< that holds its memory, of the process of rank `owner`; none: no memory
  std::uint64_t offset = 0;       ///< of its memory in the exposure
  std::uint64_t size = 0;         ///< bytes
  engine::RemoteAddress control = 0;  ///< of its ControlBlock
  std::uint32_t lock = 0;
  std::int32_t disp_unit = 1;
  std::int32_t owner = 0;
  std::int32_t error_class = 0;  ///< why the window cannot be made
};
static_assert(sizeof(RankEntry) == 56);

using RankTable = std::vector<RankEntry>;

}  // namespace mpix::windows
