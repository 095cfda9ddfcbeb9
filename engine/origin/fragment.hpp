/// Splits an operation into fragments that fit one message each.
///
/// A short description of the target's layout is sent whole with every fragment, together with the start
/// position of the fragment. For a long run list, each of several fragments carries only its own part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/op/layout/layout.hpp"

namespace mpixrma::engine {

/// Limits of one message.
struct FragmentLimits {
  std::size_t bytes = 0;    ///< data bytes; a multiple of 64
  std::size_t runs = 0;     ///< described runs; at least the number of an element's runs
  std::size_t element = 1;  ///< unit that is not split; 1 if it divides 64
};

/// Whether each fragment carries the whole description. `total` is layout.size().
bool sends_full_layout(Layout const& layout, std::size_t total, FragmentLimits const& limits) noexcept;

/// Returns the number of messages for all `total` = layout.size() bytes.
std::uint64_t count_fragments(Layout const& layout, std::size_t total, FragmentLimits const& limits);

/// The part of an operation that one message covers.
struct Fragment {
  std::size_t offset = 0;  ///< offset in the operation's data
  std::size_t bytes = 0;
  std::size_t layout_offset = 0;  ///< offset in the data of the layout that the message describes
  std::vector<LayoutRun> runs;    ///< the described part of the layout, if it is not the whole one
  bool whole = true;
};

/// Returns the fragment that starts at `offset`.
Fragment fragment_at(Layout const& layout, std::size_t total, std::size_t offset,
                     FragmentLimits const& limits);

}  // namespace mpixrma::engine
