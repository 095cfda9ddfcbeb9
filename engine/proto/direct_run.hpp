/// Operations by load and store, run by run, for targets whose runs lie in several mapped segments.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/op/operation.hpp"
#include "engine/proto/packed_update.hpp"
#include "engine/sync/footprint.hpp"

namespace mpixrma::engine {

/// Executes the part of a transfer that is one run of the target's layout. `position` is the offset of the
/// run in the data in bytes; `mapped` is its memory in this process.
inline void direct_run(Transfer const& transfer, Segment const& run, std::size_t position, std::byte* mapped,
                       UpdateModes&) {
  if (transfer.direction == Direction::get) {
    unpack(transfer.origin, transfer.origin_layout, position, mapped, run.length);
  } else {
    pack(mapped, transfer.origin, transfer.origin_layout, position, run.length);
  }
}
/// As above, for an update. The caller holds the stripes that footprint_of() requires.
inline void direct_run(Update const& update, Segment const& run, std::size_t position, std::byte* mapped,
                       UpdateModes& modes) {
  PackedUpdate packed(update, run.length);
  packed.take(position, run.length);
  Reduction const reduction = reduction_for(update, modes);
  update_part(
      reduction, mapped, Layout::contiguous(run.length), 0, packed.sides(),
      places_for(update, reduction, modes, mapped, update.target + static_cast<std::uint64_t>(run.offset)));
  packed.give_result();
}

}  // namespace mpixrma::engine
