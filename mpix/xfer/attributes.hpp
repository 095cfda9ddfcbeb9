/// Attributes as one word: what is set on the call and on the communicator, and what it asks of the engine.
#pragma once

#include <cstdint>

#include "engine/operation.hpp"
#include "include/mpix_rma.h"
#include "mpix/comm/communicator.hpp"

namespace mpix {

/// One entry per attribute: its bit, and the engine's guarantee behind it if there is one.
struct AttributeEntry {
  std::uint64_t bit;
  engine::Guarantee guarantee;
};

inline constexpr AttributeEntry attribute_table[] = {
    {MPIX_RMA_ATTR_ATOMICITY, engine::Guarantee::atomic},
    {MPIX_RMA_ATTR_ORDERING, engine::Guarantee::ordered},
    {MPIX_RMA_ATTR_BLOCKING, engine::Guarantee::none},
    {MPIX_RMA_ATTR_REMOTE_COMPLETION, engine::Guarantee::remote_completion},
    {MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE, engine::Guarantee::none},
    {MPIX_RMA_ATTR_TARGET_COMMUNICATABLE, engine::Guarantee::none},
    {MPIX_RMA_ATTR_ACCUMULATE_OP, engine::Guarantee::none},
    {MPIX_RMA_ATTR_ACCUMULATE_SCALE, engine::Guarantee::none},
};

constexpr std::uint64_t known_attributes() noexcept {
  std::uint64_t all = 0;
  for (auto const& entry : attribute_table) all |= entry.bit;
  return all;
}

inline bool are_known(MPIX_RMA_Attributes const* attributes) noexcept {
  return attributes == nullptr || (attributes->set & ~known_attributes()) == 0;
}

/// An attribute applies when it is set on the call or on the communicator (5.1.1).
inline std::uint64_t effective(MPIX_RMA_Attributes const* attributes,
                               Communicator const& communicator) noexcept {
  return communicator.attributes() | (attributes != nullptr ? attributes->set : 0);
}

inline engine::Guarantee guarantees_of(std::uint64_t set) noexcept {
  auto guarantees = engine::Guarantee::none;
  for (auto const& entry : attribute_table) {
    if ((set & entry.bit) != 0) guarantees = guarantees | entry.guarantee;
  }
  return guarantees;
}

}  // namespace mpix
