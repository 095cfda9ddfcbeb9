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
StripeSet stripes_of_target(RmaOp const& operation) noexcept {
  if (operation.exposed.target != ExposureId::none) return ~StripeSet{0};
  return stripes_in(range_of(operation.target, operation.target_layout));
}

/// Returns the stripes of the target, for reading or writing.
StripeSets target_stripes(RmaOp const& operation) noexcept {
  StripeSet const stripes = stripes_of_target(operation);
  return operation.writes_target() ? StripeSets{stripes, 0} : StripeSets{0, stripes};
}

/// Returns the stripes of the origin's buffers, for reading or writing.
StripeSets origin_stripes(RmaOp const& operation) noexcept {
  StripeSets result;
  result.exclusive = stripes_of_buffer(operation.sink(), operation.sink_layout());
  if (operation.operands() > 0) result.shared = stripes_of_buffer(operation.origin, operation.origin_layout);
  if (operation.operands() > 1)
    result.shared |= stripes_of_buffer(operation.operand2, operation.origin_layout);
  return result;
}

bool may_use_cpu_atomics(RmaOp const& update) noexcept {
  return has_cpu_atomics(update.type) && has(update.flags, OpFlags::atomic | OpFlags::element_atomic);
}

}  // namespace

Rights rights_for(RmaOp const& operation) noexcept {
  if (operation.is_put()) return Rights::write;
  return (operation.fetches() ? Rights::read : Rights::none) |
         (operation.writes_target() ? Rights::update : Rights::none);
}

Footprint footprint_of(RmaOp const& operation) noexcept {
  Footprint result;
  if (has(operation.flags, OpFlags::atomic)) {
    result.target = target_stripes(operation);
    result.origin = origin_stripes(operation);
  } else if (!operation.is_update() && has(operation.flags, OpFlags::element_atomic)) {
    result.target = target_stripes(operation);
  }
  return result;
}

Footprint footprint_of(RmaOp const& operation, UpdateModes const& modes) noexcept {
  Footprint result = footprint_of(operation);
  if (operation.is_update() && result.target.empty() && locks_target(operation, modes))
    result.target = target_stripes(operation);
  return result;
}

ElementUpdate elements_of(RmaOp const& update) noexcept {
  Range const target = range_of(update.target, update.target_layout);
  return {update.type, target.begin, target.end,
          is_single(update.flags, update.reduce_op, update.type, update.target_layout.size())};
}

bool has_atomic_elements(RmaOp const& update, UpdateModes const& modes) noexcept {
  return may_use_cpu_atomics(update) && will_use_cpu_atomics(modes, elements_of(update));
}

Reduction reduction_for(RmaOp const& update, UpdateModes& modes) noexcept {
  bool const atomic = may_use_cpu_atomics(update) && uses_cpu_atomics(modes, elements_of(update));
  return {update.type, update.reduce_op, atomic, update.scale};
}

AtomicRegions atomic_regions_for(RmaOp const& update, Reduction const& reduction, UpdateModes const& modes,
                                 std::byte const* mapped, RemoteAddress address) noexcept {
  return reduction.element_atomic ? atomic_regions(modes, elements_of(update), mapped, address)
                                  : AtomicRegions{};
}

}  // namespace mpixrma::engine
