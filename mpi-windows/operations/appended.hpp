/// Operations that join the open batch of messages to their target: most of a stream between hosts.
#pragma once

#include "engine/op/run_operation.hpp"
#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// Appends a put, or an update with one operand and no result, of contiguous elements of one type on both
/// sides. `run` has the kind and, for an update, the operation. Returns false if nothing was done: the
/// general path then describes the operation in full, checks all arguments and reports errors.
inline bool try_append(Window& window, mpix_window_buffer const& origin, mpix_window_place const& place,
                       engine::RunOperation run) {
  if (origin.type != place.type || origin.count != place.count) return false;
  Target& target = window.targets.recent(place.rank);
  // Acquire: as in TargetTable::find_open().
  bool const is_open = target.access.load(std::memory_order_acquire) == EpochAccess::open;
  if (!is_open || target.memory_owner == nullptr || window.is_dynamic()) return false;
  Datatype const* const type = window.recent_type.find(place.type);
  run.bytes = type != nullptr ? type->contiguous_bytes(place.count) : 0;
  if (run.bytes == 0) return false;
  if (run.kind == engine::OpKind::update) {
    run.type = type->flat().element;
    if (run.type == engine::ElementType::none || !type->defines(run.reduce_op)) return false;
  }
  std::int64_t offset = 0;
  bool const wraps = __builtin_mul_overflow(place.disp, std::int64_t{target.disp_unit}, &offset);
  if (wraps || offset < 0 || static_cast<std::uint64_t>(offset) > target.size ||
      run.bytes > target.size - static_cast<std::uint64_t>(offset))
    return false;
  run.context = window.context;
  run.exposure = target.exposure;
  run.origin = static_cast<std::byte const*>(origin.address);
  run.target = target.offset + static_cast<std::uint64_t>(offset);
  std::uint64_t const sequence = window.engine.continue_run(*target.memory_owner, run);
  if (sequence == 0) return false;
  target.outstanding.raise(sequence);
  return true;
}

}  // namespace mpixrma::windows
