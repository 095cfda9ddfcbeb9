#include "engine/path/direct.hpp"

#include "engine/atomic/footprint.hpp"
#include "engine/kernel/kernels.hpp"

namespace mpix::engine {

void execute_directly(Transfer const& transfer, std::byte* target, UpdateModes&) noexcept {
  if (transfer.direction == Direction::put) {
    copy(target, transfer.target_layout, transfer.origin, transfer.origin_layout);
  } else {
    copy(transfer.origin, transfer.origin_layout, target, transfer.target_layout);
  }
}

void execute_directly(Update const& operation, std::byte* target, UpdateModes& modes) noexcept {
  Reduction const reduction = reduction_for(operation, modes);
  update(reduction,
         {target, operation.target_layout, operation.origin, operation.operand2, operation.origin_layout,
          operation.result, operation.result_layout},
         places_for(operation, reduction, modes, target, operation.target));
}

bool try_update_elements(Reduction reduction, std::byte* target, PackedSides const& sides, StripeTable& table,
                         RemoteAddress address) noexcept {
  ElementUpdate const update{
      reduction.type, address, address + sides.bytes,
      is_single(Guarantee::element_atomic, reduction.operation, reduction.type, sides.bytes)};
  StripeSet const stripes = needs_stripes(table.modes, update) ? stripes_of(update.begin, update.end) : 0;
  bool const only_reads = reduction.operation == Operation::no_op;
  StripeHold hold(table, only_reads ? StripeSets{0, stripes} : StripeSets{stripes, 0});
  if (!hold.acquire()) return false;
  reduction.element_atomic = uses_cpu_atomics(table.modes, update);
  AtomicPlaces const places =
      reduction.element_atomic ? atomic_places(table.modes, update, target, address) : AtomicPlaces{};
  update_part(reduction, target, Layout::contiguous(sides.bytes), 0, sides, places);
  return true;
}

}  // namespace mpix::engine
