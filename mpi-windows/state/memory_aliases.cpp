#include "mpi-windows/state/memory_aliases.hpp"

#include <algorithm>
#include <iterator>

namespace mpixrma::windows {

MemoryAliases::Registry& MemoryAliases::registry() {
  static Registry all;
  return all;
}

MemoryAliases::~MemoryAliases() {
  if (own_.empty()) return;
  Registry& all = registry();
  std::lock_guard const held(all.lock);
  for (auto const it : own_) all.aliases.erase(it);
}

void MemoryAliases::add(void const* local, AliasedMemory const& memory) {
  Registry& all = registry();
  std::lock_guard const held(all.lock);
  auto const begin = reinterpret_cast<std::uintptr_t>(local);
  if (std::ranges::any_of(own_, [=](auto const& known) { return known->first == begin; })) return;
  own_.reserve(own_.size() + 1);
  own_.push_back(all.aliases.emplace(begin, memory));
  all.largest = std::max(all.largest, memory.size);
}

std::optional<AliasedMemory> MemoryAliases::find(void const* local, std::size_t bytes) {
  Registry& all = registry();
  std::lock_guard const held(all.lock);
  auto const begin = reinterpret_cast<std::uintptr_t>(local);
  // The aliases of several windows may be nested; any one that contains the bytes is correct.
  for (auto it = all.aliases.upper_bound(begin); it != all.aliases.begin();) {
    auto const& [base, memory] = *--it;
    std::uintptr_t const distance = begin - base;
    if (distance > all.largest) break;
    if (distance > memory.size || bytes > memory.size - distance) continue;
    return AliasedMemory{memory.process, memory.exposure, memory.offset + distance, bytes};
  }
  return std::nullopt;
}

}  // namespace mpixrma::windows
