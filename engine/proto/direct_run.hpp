/// Operations by load and store, run by run, for targets whose runs lie in several mapped segments.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/op/operation.hpp"
#include "engine/proto/packed_update.hpp"
#include "engine/sync/footprint.hpp"

namespace mpixrma::engine {

/// Carries out the part of an operation that is one run of the target's layout. `position`: offset of the run
/// in the operation's data, in bytes; `mapped`: the run's memory in this process. The caller holds the
/// stripes that footprint_of() asks for.
inline void direct_run(RmaOp const& operation, LayoutRun const& run, std::size_t position, std::byte* mapped,
                       UpdateModes& modes) {
  if (operation.is_put())
    return pack(mapped, operation.origin, operation.origin_layout, position, run.length);
  if (operation.is_get())
    return unpack(operation.origin, operation.origin_layout, position, mapped, run.length);
  PackedUpdate packed(operation, run.length);
  packed.take(position, run.length);
  Reduction const reduction = reduction_for(operation, modes);
  RemoteAddress const address = operation.target + static_cast<std::uint64_t>(run.offset);
  update_part(reduction, mapped, Layout::contiguous(run.length), 0, packed.sides(),
              atomic_regions_for(operation, reduction, modes, mapped, address));
  packed.give_result();
}

}  // namespace mpixrma::engine
