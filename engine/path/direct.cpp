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
  update(reduction_for(operation, modes),
         {target, operation.target_layout, operation.origin, operation.operand2, operation.origin_layout,
          operation.result, operation.result_layout});
}

}  // namespace mpix::engine
