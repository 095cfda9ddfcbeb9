/// The attributes of MPIX_RMA whose cost the benchmarks show: each alone and each pair.
#pragma once

#include <mpix_rma.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

#include "bench/support/harness.hpp"

namespace bench {

struct Attribute {
  char const* name;
  std::uint64_t bits;
};
inline constexpr Attribute attributes[] = {
    {"atomicity", MPIX_RMA_ATTR_ATOMICITY},
    {"ordering", MPIX_RMA_ATTR_ORDERING},
    {"blocking", MPIX_RMA_ATTR_BLOCKING},
    {"remote", MPIX_RMA_ATTR_REMOTE_COMPLETION},
    {"communicatable", MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE | MPIX_RMA_ATTR_TARGET_COMMUNICATABLE},
    {"notify", MPIX_RMA_ATTR_NOTIFY},
};

/// Whether both buffers are communicatable, so that the attribute may be set.
enum class Communicatable { both, no };

/// Calls `visit` with the name and the bits of no attribute, of each one, and of each pair.
template <typename Visit>
void for_each_attribute_set(Communicatable buffers, Visit visit) {
  visit(std::string("none"), std::uint64_t{0});
  for (std::size_t i = 0; i < std::size(attributes); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      std::uint64_t const set = attributes[i].bits | attributes[j].bits;
      if (buffers == Communicatable::no && (set & MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE) != 0) continue;
      visit(i == j ? attributes[i].name : std::string(attributes[j].name) + "+" + attributes[i].name, set);
    }
  }
}

}  // namespace bench
