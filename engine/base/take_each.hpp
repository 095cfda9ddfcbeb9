/// Work lists that survive exceptions.
#pragma once

#include <iterator>
#include <utility>
#include <vector>

namespace mpixrma::engine {

/// Empties the list and calls `handle` with each of its elements. `handle` may add elements for a later call.
/// If it throws, this element and those behind it stay in the list. Without memory it is not called.
template <typename Element, typename Handle>
void take_each(std::vector<Element>& list, Handle handle) {
  // Room for one added element in each call, which goes behind those that stay after an exception.
  list.reserve(2 * list.size());
  std::vector<Element> taken = std::exchange(list, {});
  auto next = taken.begin();
  try {
    for (; next != taken.end(); ++next) handle(*next);
  } catch (...) {
    taken.erase(taken.begin(), next);
    taken.insert(taken.end(), std::make_move_iterator(list.begin()), std::make_move_iterator(list.end()));
    list = std::move(taken);
    throw;
  }
}

}  // namespace mpixrma::engine
