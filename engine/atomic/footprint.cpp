#include "engine/atomic/footprint.hpp"

#include <algorithm>

namespace mpix::engine {

namespace {

StripeSet stripes_of_buffer(void const* buffer, std::size_t bytes) noexcept {
  auto const begin = reinterpret_cast<RemoteAddress>(buffer);
  return buffer == nullptr ? 0 : stripes_of(begin, begin + bytes);
}

StripeSet stripes_of_layout(RemoteAddress base, Layout const& layout) noexcept {
  Extent const extent = layout.extent();
  return stripes_of(base + static_cast<RemoteAddress>(extent.begin),
                    base + static_cast<RemoteAddress>(extent.end));
}

}  // namespace

Footprint footprint_of(Transfer const& transfer) noexcept {
  Footprint result;
  bool const whole = has(transfer.guarantees, Guarantee::atomic);
  if (!whole && !has(transfer.guarantees, Guarantee::element_atomic)) return result;
  bool const get = transfer.direction == Direction::get;
  StripeSet const target = stripes_of_layout(transfer.target, transfer.target_layout);
  (get ? result.target.shared : result.target.exclusive) = target;
  if (!whole) return result;
  StripeSet const origin =
      stripes_of_layout(reinterpret_cast<RemoteAddress>(transfer.origin), transfer.origin_layout);
  (get ? result.origin.exclusive : result.origin.shared) = origin;
  return result;
}

Footprint footprint_of(ReadModifyWrite const& operation) noexcept {
  Footprint result;
  std::size_t const bytes = size_of(operation);
  bool const whole = has(operation.guarantees, Guarantee::atomic);
  // Elements that the CPU updates in one instruction need no lock for themselves.
  if (whole || !is_cpu_atomic(operation.type, operation.target))
    result.target.exclusive = stripes_of(operation.target, operation.target + bytes);
  if (!whole) return result;
  result.origin.exclusive = stripes_of_buffer(operation.result, bytes);
  result.origin.shared =
      stripes_of_buffer(operation.operand, bytes) | stripes_of_buffer(operation.operand2, bytes);
  return result;
}

std::size_t size_of(ReadModifyWrite const& operation) noexcept {
  return operation.count * std::max<std::size_t>(element_size(operation.type), 1);
}

}  // namespace mpix::engine
