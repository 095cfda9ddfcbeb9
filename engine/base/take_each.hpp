/// Work lists that survive exceptions.
#pragma once

#include <iterator>
#include <utility>
#include <vector>

namespace mpixrma::engine {

/// Empties the list and calls `handle` with each of its elements. `handle` may add elements for a later call,
/// at most one in each. If `handle` throws, this element and those behind it stay in the list.
template <typename Element, typename Handle>
void take_each(std::vector<Element>& list, Handle handle) {
  std::vector<Element> taken = std::exchange(list, {});
  auto next = taken.begin();
  try {
    for (; next != taken.end(); ++next) handle(*next);
  } catch (...) {
    taken.erase(taken.begin(), next);
    // There is room, because no more have been added than erased.
    taken.insert(taken.end(), std::make_move_iterator(list.begin()), std::make_move_iterator(list.end()));
    list = std::move(taken);
    throw;
  }
}

}  // namespace mpixrma::engine
