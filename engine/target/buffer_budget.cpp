#include "engine/target/buffer_budget.hpp"

#include <algorithm>

namespace mpixrma::engine {

/// An origin that keeps to its credit needs less.
std::size_t BufferBudget::max_origin_bytes() const noexcept {
  return 2 * (settings_.credit_bytes + settings_.fragment_bytes) + (std::size_t{1} << 20);
}

/// A small message takes up to twice as much memory while it waits as its origin spends credit on it
/// (wire::cost_of(), BufferedRequest::footprint()).
std::uint64_t BufferBudget::credit_share() const noexcept {
  std::size_t const share = settings_.memory_bytes / 2 / std::max<std::size_t>(origins_.size(), 1);
  return std::min(std::max(share, wire::initial_credit), settings_.credit_bytes);
}

bool BufferBudget::has_room(Origin const& origin, std::size_t viewed_bytes) const noexcept {
  std::size_t const all =
      settings_.memory_bytes + origins_.size() * (settings_.fragment_bytes + (128u << 10));
  std::size_t const bytes = BufferedRequest::footprint(viewed_bytes);
  return origin.buffered_bytes + bytes <= max_origin_bytes() && buffered_bytes_ + bytes <= all;
}

bool BufferBudget::add_entry(Origin& origin) noexcept {
  if (!has_room(origin, 0)) return false;
  add(origin, OutOfOrder::bytes_of_entry);
  return true;
}

}  // namespace mpixrma::engine
