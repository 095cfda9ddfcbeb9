/// Cuts an operation into pieces that fit one message each.
///
/// A short description of the target's layout goes whole with every fragment, together with the position
/// that the fragment starts at. Of a long segment list each fragment carries only its own part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/op/layout/layout.hpp"

namespace mpixrma::engine {

/// Limits of one message.
struct FragmentLimits {
  std::size_t bytes = 0;     ///< data; a multiple of 64
  std::size_t segments = 0;  ///< described segments; no fewer than an element may have
  std::size_t element = 1;   ///< bytes that are not cut; 1 also where their number divides 64
};

/// True when the whole description goes with each fragment.
bool described_whole(Layout const& layout, FragmentLimits const& limits) noexcept;

/// Number of messages for all `total` = layout.size() bytes.
std::uint64_t count_fragments(Layout const& layout, std::size_t total, FragmentLimits const& limits);

/// What one message covers.
struct Fragment {
  std::size_t offset = 0;  ///< in the operation's data
  std::size_t bytes = 0;
  std::size_t position = 0;       ///< in the data of the layout that the message describes
  std::vector<Segment> segments;  ///< the described layout, when it is not the whole one
  bool whole = true;
};

/// The fragment that starts at `offset`.
Fragment fragment_at(Layout const& layout, std::size_t total, std::size_t offset,
                     FragmentLimits const& limits);

}  // namespace mpixrma::engine
