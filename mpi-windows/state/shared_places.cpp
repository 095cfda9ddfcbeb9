#include "mpi-windows/state/shared_places.hpp"

#include <algorithm>
#include <iterator>

namespace mpixrma::windows {

SharedPlaces::Registry& SharedPlaces::registry() {
  static Registry all;
  return all;
}

SharedPlaces::~SharedPlaces() {
  if (own_.empty()) return;
  Registry& all = registry();
  std::lock_guard const held(all.lock);
  for (auto const it : own_) all.places.erase(it);
}

void SharedPlaces::add(void const* local, SharedPlace const& place) {
  Registry& all = registry();
  std::lock_guard const held(all.lock);
  auto const begin = reinterpret_cast<std::uintptr_t>(local);
  if (std::ranges::any_of(own_, [=](auto const& known) { return known->first == begin; })) return;
  own_.reserve(own_.size() + 1);
  own_.push_back(all.places.emplace(begin, place));
  all.largest = std::max(all.largest, place.size);
}

std::optional<SharedPlace> SharedPlaces::find(void const* local, std::size_t bytes) {
  Registry& all = registry();
  std::lock_guard const held(all.lock);
  auto const begin = reinterpret_cast<std::uintptr_t>(local);
  // The places of several windows may be nested; any place that contains the bytes is correct.
  for (auto it = all.places.upper_bound(begin); it != all.places.begin();) {
    auto const& [base, place] = *--it;
    std::uintptr_t const distance = begin - base;
    if (distance > all.largest) break;
    if (distance > place.size || bytes > place.size - distance) continue;
    return SharedPlace{place.process, place.exposure, place.offset + distance, bytes};
  }
  return std::nullopt;
}

}  // namespace mpixrma::windows
