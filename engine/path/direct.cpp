#include "engine/path/direct.hpp"

#include "engine/kernel/kernels.hpp"

namespace mpix::engine {

Reduction reduction_for(Transfer const& transfer) noexcept {
  Reduction reduction = transfer.reduction;
  // Read-modify-write operations of one element use the CPU's atomics without taking stripes.
  reduction.element_atomic = has(transfer.guarantees, Guarantee::atomic | Guarantee::element_atomic);
  return reduction;
}

void direct_transfer(Transfer const& transfer, std::byte* target) noexcept {
  switch (transfer.direction) {
    case Direction::put: copy(target, transfer.target_layout, transfer.origin, transfer.origin_layout); break;
    case Direction::get: copy(transfer.origin, transfer.origin_layout, target, transfer.target_layout); break;
    case Direction::accumulate:
      accumulate(reduction_for(transfer), target, transfer.target_layout, transfer.origin,
                 transfer.origin_layout);
      break;
  }
}

void direct_rmw(ReadModifyWrite const& operation, std::byte* target) noexcept {
  rmw(operation.operation, operation.type, target, operation.operand, operation.operand2, operation.result,
      operation.count, is_cpu_atomic(operation.type, operation.target));
}

}  // namespace mpix::engine
