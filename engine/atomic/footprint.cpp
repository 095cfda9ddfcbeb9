#include "engine/atomic/footprint.hpp"

#include <algorithm>

namespace mpix::engine {

namespace {

StripeSet stripes_of_buffer(void const* buffer, std::size_t bytes) noexcept {
  auto const begin = reinterpret_cast<RemoteAddress>(buffer);
  return buffer == nullptr ? 0 : stripes_of(begin, begin + bytes);
}

struct Range {
  RemoteAddress begin;
  RemoteAddress end;
};

Range range_of(RemoteAddress base, Layout const& layout) noexcept {
  Extent const extent = layout.extent();
  return {base + static_cast<RemoteAddress>(extent.begin), base + static_cast<RemoteAddress>(extent.end)};
}

StripeSet stripes_in(Range const& range) noexcept { return stripes_of(range.begin, range.end); }

}  // namespace

Footprint footprint_of(Transfer const& transfer) noexcept {
  Footprint result;
  bool const whole = has(transfer.guarantees, Guarantee::atomic);
  if (!whole && !has(transfer.guarantees, Guarantee::element_atomic)) return result;
  bool const get = transfer.direction == Direction::get;
  StripeSet const target = stripes_in(range_of(transfer.target, transfer.target_layout));
  (get ? result.target.shared : result.target.exclusive) = target;
  if (!whole) return result;
  StripeSet const origin =
      stripes_in(range_of(reinterpret_cast<RemoteAddress>(transfer.origin), transfer.origin_layout));
  (get ? result.origin.exclusive : result.origin.shared) = origin;
  return result;
}

Footprint footprint_of(ReadModifyWrite const& operation) noexcept {
  Footprint result;
  std::size_t const bytes = size_of(operation);
  if (!has(operation.guarantees, Guarantee::atomic)) return result;
  result.target.exclusive = stripes_of(operation.target, operation.target + bytes);
  result.origin.exclusive = stripes_of_buffer(operation.result, bytes);
  result.origin.shared =
      stripes_of_buffer(operation.operand, bytes) | stripes_of_buffer(operation.operand2, bytes);
  return result;
}

Footprint footprint_of(ReadModifyWrite const& operation, UpdateModes const& modes) noexcept {
  Footprint result = footprint_of(operation);
  ElementUpdate const update = update_of(operation);
  if (needs_stripes(modes, update)) result.target.exclusive = stripes_of(update.begin, update.end);
  return result;
}

ElementUpdate update_of(Transfer const& transfer) noexcept {
  Range const target = range_of(transfer.target, transfer.target_layout);
  return {transfer.reduction.type, target.begin, target.end};
}

ElementUpdate update_of(ReadModifyWrite const& operation) noexcept {
  bool const single = operation.count == 1 && !has(operation.guarantees, Guarantee::atomic);
  return {operation.type, operation.target, operation.target + size_of(operation), single};
}

std::size_t size_of(ReadModifyWrite const& operation) noexcept {
  return operation.count * std::max<std::size_t>(element_size(operation.type), 1);
}

}  // namespace mpix::engine
