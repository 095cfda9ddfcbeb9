#include "engine/memory/exposure_table.hpp"

#include <algorithm>
#include <iterator>

namespace mpixrma::engine {

ExposureId ExposureTable::add(Exposure const& exposure, std::uint32_t region, std::uint64_t generation) {
  auto const next = static_cast<std::uint32_t>(entries_.size());
  ExposureId const id = make_exposure_id(free_slots_.empty() ? next : free_slots_.back(), generation);
  add(id, exposure, region);
  return id;
}

void ExposureTable::add(ExposureId id, Exposure const& exposure, std::uint32_t region) {
  std::uint32_t const slot = slot_of(id);
  while (entries_.size() <= slot) {
    free_slots_.push_back(static_cast<std::uint32_t>(entries_.size()));
    entries_.emplace_back();
  }
  by_base_.emplace(exposure.base, id);
  // The slot is usually the last one.
  free_slots_.erase(std::next(std::find(free_slots_.rbegin(), free_slots_.rend(), slot)).base());
  entries_[slot] = {id, exposure};
  slots_[slot].publish({exposure.base, exposure.length, region, generation_of(id),
                        static_cast<std::uint32_t>(exposure.rights)});
}

std::uint32_t ExposureTable::first_unused_slot() const noexcept {
  auto const used = [](Entry const& entry) { return entry.id != ExposureId::none; };
  return static_cast<std::uint32_t>(entries_.rend() - std::find_if(entries_.rbegin(), entries_.rend(), used));
}

bool ExposureTable::remove(ExposureId id, Exposure* removed) {
  Exposure const* const found = find(id);
  if (found == nullptr) return false;
  std::uint32_t const slot = slot_of(id);
  slots_[slot].withdraw(generation_of(id) + 1);
  *removed = *found;
  auto const [first, last] = by_base_.equal_range(removed->base);
  by_base_.erase(std::find_if(first, last, [&](auto const& entry) { return entry.second == id; }));
  entries_[slot] = {};
  free_slots_.push_back(slot);
  return true;
}

std::vector<ExposureId> ExposureTable::within(RemoteAddress begin, RemoteAddress end) const {
  std::vector<ExposureId> result;
  for (auto it = by_base_.lower_bound(begin); it != by_base_.end() && it->first < end; ++it)
    result.push_back(it->second);
  return result;
}

}  // namespace mpixrma::engine
