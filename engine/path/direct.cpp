#include "engine/path/direct.hpp"

#include "engine/atomic/footprint.hpp"
#include "engine/kernel/kernels.hpp"

namespace mpix::engine {

Reduction reduction_for(Transfer const& transfer, UpdateModes& modes) noexcept {
  Reduction reduction = transfer.reduction;
  reduction.element_atomic = has(transfer.guarantees, Guarantee::atomic | Guarantee::element_atomic) &&
                             uses_cpu_atomics(modes, update_of(transfer));
  return reduction;
}

void direct_transfer(Transfer const& transfer, std::byte* target, UpdateModes& modes) noexcept {
  switch (transfer.direction) {
    case Direction::put: copy(target, transfer.target_layout, transfer.origin, transfer.origin_layout); break;
    case Direction::get: copy(transfer.origin, transfer.origin_layout, target, transfer.target_layout); break;
    case Direction::accumulate:
      accumulate(reduction_for(transfer, modes), target, transfer.target_layout, transfer.origin,
                 transfer.origin_layout);
      break;
  }
}

void direct_rmw(ReadModifyWrite const& operation, std::byte* target, UpdateModes& modes) noexcept {
  bool const cpu_atomic =
      is_cpu_atomic(operation.type, operation.target) && uses_cpu_atomics(modes, update_of(operation));
  rmw(operation.operation, operation.type, target, operation.operand, operation.operand2, operation.result,
      operation.count, cpu_atomic);
}

}  // namespace mpix::engine
