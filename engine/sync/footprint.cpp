#include "engine/sync/footprint.hpp"

namespace mpixrma::engine {

namespace {

struct Range {
  RemoteAddress begin;
  RemoteAddress end;
};

Range range_of(RemoteAddress base, Layout const& layout) noexcept {
  Extent const extent = layout.extent();
  return {base + static_cast<RemoteAddress>(extent.begin), base + static_cast<RemoteAddress>(extent.end)};
}

StripeSet stripes_in(Range const& range) noexcept { return stripes_of(range.begin, range.end); }

StripeSet stripes_of_buffer(void const* buffer, Layout const& layout) noexcept {
  return buffer == nullptr ? 0 : stripes_in(range_of(reinterpret_cast<RemoteAddress>(buffer), layout));
}

/// Returns the stripes of the target. The base of an exposure in another process is unknown here, so any
/// stripe may be affected.
template <typename Operation>
StripeSet stripes_of_target(Operation const& operation) noexcept {
  if (operation.exposed.target != ExposureId::none) return ~StripeSet{0};
  return stripes_in(range_of(operation.target, operation.target_layout));
}

}  // namespace

Rights rights_for(Transfer const& transfer) noexcept {
  return transfer.direction == Direction::get ? Rights::read : Rights::write;
}
Rights rights_for(Update const& update) noexcept {
  return (update.result != nullptr ? Rights::read : Rights::none) |
         (update.operation != Operation::no_op ? Rights::update : Rights::none);
}

Footprint footprint_of(Transfer const& transfer) noexcept {
  Footprint result;
  bool const whole = has(transfer.guarantees, Guarantee::atomic);
  if (!whole && !has(transfer.guarantees, Guarantee::element_atomic)) return result;
  bool const get = transfer.direction == Direction::get;
  StripeSet const target = stripes_of_target(transfer);
  (get ? result.target.shared : result.target.exclusive) = target;
  if (!whole) return result;
  StripeSet const origin = stripes_of_buffer(transfer.origin, transfer.origin_layout);
  (get ? result.origin.exclusive : result.origin.shared) = origin;
  return result;
}

namespace {

/// Returns the stripes of the target, for reading or writing.
StripeSets target_stripes(Update const& update) noexcept {
  StripeSet const stripes = stripes_of_target(update);
  return update.operation == Operation::no_op ? StripeSets{0, stripes} : StripeSets{stripes, 0};
}

}  // namespace

Footprint footprint_of(Update const& update) noexcept {
  Footprint result;
  if (!has(update.guarantees, Guarantee::atomic)) return result;
  unsigned const operands = operand_count(update.operation);
  result.target = target_stripes(update);
  result.origin.exclusive = stripes_of_buffer(update.result, update.result_layout);
  if (operands > 0) result.origin.shared = stripes_of_buffer(update.origin, update.origin_layout);
  if (operands > 1) result.origin.shared |= stripes_of_buffer(update.operand2, update.origin_layout);
  return result;
}

Footprint footprint_of(Update const& update, UpdateModes const& modes) noexcept {
  Footprint result = footprint_of(update);
  if (result.target.empty() &&
      locks_target(
          update.guarantees, update.target_layout, [&] { return elements_of(update); }, modes))
    result.target = target_stripes(update);
  return result;
}

ElementUpdate elements_of(Update const& update) noexcept {
  Range const target = range_of(update.target, update.target_layout);
  return {update.type, target.begin, target.end,
          is_single(update.guarantees, update.operation, update.type, update.target_layout.size())};
}

Reduction reduction_for(Update const& update, UpdateModes& modes) noexcept {
  bool const may_use =
      has_cpu_atomics(update.type) && has(update.guarantees, Guarantee::atomic | Guarantee::element_atomic);
  return {update.type, update.operation, may_use && uses_cpu_atomics(modes, elements_of(update)),
          update.scale};
}

AtomicPlaces places_for(Update const& update, Reduction const& reduction, UpdateModes const& modes,
                        std::byte const* mapped, RemoteAddress address) noexcept {
  return reduction.element_atomic ? atomic_places(modes, elements_of(update), mapped, address)
                                  : AtomicPlaces{};
}

}  // namespace mpixrma::engine
