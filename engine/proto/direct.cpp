#include "engine/proto/direct.hpp"

#include "engine/base/liveness.hpp"
#include "engine/op/kernel/kernels.hpp"
#include "engine/op/kernel/row_kernels.hpp"
#include "engine/sync/access_order.hpp"
#include "engine/sync/footprint.hpp"

namespace mpixrma::engine {

namespace {

void update_directly(RmaOp const& operation, std::byte* target, UpdateModes& modes) noexcept {
  Reduction const reduction = reduction_for(operation, modes);
  bool const ordered = has(operation.flags, OpFlags::ordered);
  order_before_store(ordered);
  update(reduction,
         {target, operation.target_layout, operation.origin, operation.operand2, operation.origin_layout,
          operation.result, operation.result_layout},
         atomic_regions_for(operation, reduction, modes, target, operation.target));
  order_after_load(ordered && operation.fetches());
}

}  // namespace

void execute_directly(RmaOp const& operation, std::byte* target, UpdateModes& modes) noexcept {
  bool const ordered = has(operation.flags, OpFlags::ordered);
  switch (operation.kind) {
    case OpKind::put:
      order_before_store(ordered);
      copy(target, operation.target_layout, operation.origin, operation.origin_layout);
      break;
    case OpKind::get:
      copy(operation.origin, operation.origin_layout, target, operation.target_layout);
      order_after_load(ordered);
      break;
    case OpKind::update: update_directly(operation, target, modes); break;
  }
}

namespace {

/// An update of contiguous elements, prepared as far as possible before its stripes are held.
class ElementsUpdate {
 public:
  ElementsUpdate(Reduction const& reduction, std::byte* target, PackedSides const& sides, UpdateModes& modes,
                 RemoteAddress address, OpFlags flags) noexcept
      : reduction_(reduction),
        sides_(sides),
        modes_(modes),
        elements_{reduction.type, address, address + sides.bytes,
                  is_single(flags, reduction.operation, reduction.type, sides.bytes)},
        rows_{target, 0, sides.origin, sides.operand2, 0, sides.result, 0, 1, sides.bytes, reduction.scale},
        by_rows_(kernel_for(reduction, sides)) {}

  /// Returns 0 if no stripe is needed.
  StripeSet stripes() const noexcept {
    return needs_stripes(modes_, elements_) ? stripes_of(elements_.begin, elements_.end) : 0;
  }
  /// Executes the update with these stripes held.
  void run() noexcept {
    reduction_.element_atomic = uses_cpu_atomics(modes_, elements_);
    if (by_rows_ != nullptr && !reduction_.element_atomic) return by_rows_(rows_);
    update_contiguous(reduction_, rows_.target, sides_,
                      atomic_regions(modes_, elements_, rows_.target, elements_.begin));
  }

 private:
  /// Returns the row kernel to be used, or nullptr.
  static UpdateRows kernel_for(Reduction const& reduction, PackedSides const& sides) noexcept {
    if (sides.result == nullptr && operand_count(reduction.operation) < 2) return nullptr;
    return active_kernels->update.get(reduction.type, reduction.operation, reduction.scale != nullptr);
  }

  Reduction reduction_;
  PackedSides const& sides_;
  UpdateModes& modes_;
  ElementUpdate elements_;
  Rows rows_;
  UpdateRows by_rows_;
};

}  // namespace

bool try_update_elements(Reduction reduction, std::byte* target, PackedSides const& sides, StripeTable& table,
                         RemoteAddress address, OpFlags flags) noexcept {
  ElementsUpdate update(reduction, target, sides, table.modes, address, flags);
  StripeSet const stripes = update.stripes();
  bool const only_reads = reduction.operation == ReduceOp::no_op;
  if (stripes != 0 && !only_reads) {
    SmallGuard const guard(table, address, address + sides.bytes, own_process);
    if (guard.is_held()) {
      update.run();
      return true;
    }
  }
  UniqueStripeLock stripe_lock(table, only_reads ? StripeSets{0, stripes} : StripeSets{stripes, 0});
  if (!stripe_lock.acquire()) return false;
  update.run();
  return true;
}

}  // namespace mpixrma::engine
