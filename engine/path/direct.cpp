#include "engine/path/direct.hpp"

#include <algorithm>

#include "engine/kernel/kernels.hpp"

namespace mpix::engine {

StripeSet stripes_for(Transfer const& transfer) noexcept {
  if (!has(transfer.guarantees, Guarantee::atomic)) return 0;
  Extent const extent = transfer.target_layout.extent();
  return stripes_of(transfer.target + static_cast<std::uint64_t>(extent.begin),
                    transfer.target + static_cast<std::uint64_t>(extent.end));
}

Reduction reduction_for(Transfer const& transfer) noexcept {
  Reduction reduction = transfer.reduction;
  // Read-modify-write operations of one element use the CPU's atomics without taking stripes.
  reduction.element_atomic = has(transfer.guarantees, Guarantee::atomic);
  return reduction;
}

void direct_transfer(Transfer const& transfer, std::byte* target, StripeTable& stripes) noexcept {
  StripeGuard const guard(stripes, stripes_for(transfer));
  switch (transfer.direction) {
    case Direction::put: copy(target, transfer.target_layout, transfer.origin, transfer.origin_layout); break;
    case Direction::get: copy(transfer.origin, transfer.origin_layout, target, transfer.target_layout); break;
    case Direction::accumulate:
      accumulate(reduction_for(transfer), target, transfer.target_layout, transfer.origin,
                 transfer.origin_layout);
      break;
  }
}

void direct_rmw(ReadModifyWrite const& operation, std::byte* target, StripeTable& stripes) noexcept {
  std::size_t const bytes = operation.count * std::max<std::size_t>(element_size(operation.type), 1);
  bool const cpu_atomic = is_cpu_atomic(operation.type, operation.target);
  // One element in one instruction needs no lock, unless the caller wants the attribute's full guarantee.
  bool const locked = !cpu_atomic || has(operation.guarantees, Guarantee::atomic);
  StripeGuard const guard(stripes, locked ? stripes_of(operation.target, operation.target + bytes) : 0);
  rmw(operation.operation, operation.type, target, operation.operand, operation.operand2, operation.result,
      operation.count, cpu_atomic);
}

}  // namespace mpix::engine
