/// Random layouts whose bytes do not overlap, and a naive list of their bytes.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "engine/op/layout/layout.hpp"
#include "tests/support/seed.hpp"

namespace mpixrma::test {

/// Offset of every byte, in order.
inline std::vector<std::ptrdiff_t> offsets_of(engine::Layout const& layout) {
  std::vector<std::ptrdiff_t> unit;
  if (layout.runs.empty()) {
    for (std::size_t i = 0; i < layout.block; ++i) unit.push_back(static_cast<std::ptrdiff_t>(i));
  }
  for (auto const& run : layout.runs) {
    for (std::size_t i = 0; i < run.length; ++i) unit.push_back(run.offset + static_cast<std::ptrdiff_t>(i));
  }
  for (auto const& dimension : layout.dims) {
    std::vector<std::ptrdiff_t> repeated;
    for (std::size_t i = 0; i < dimension.count; ++i) {
      for (auto const offset : unit)
        repeated.push_back(offset + static_cast<std::ptrdiff_t>(i) * dimension.stride);
    }
    unit = std::move(repeated);
  }
  return unit;
}

class RandomLayout {
 public:
  /// Without runs, at most 1.6 times `bytes`, or 64 elements if that is more; with runs, at most 2560
  /// elements whatever `bytes` is. Every length is a multiple of `element`.
  RandomLayout(std::mt19937_64& random, std::size_t bytes, std::size_t element) {
    auto const up_to = [&](std::size_t limit) { return 1 + random() % limit; };
    std::size_t const lists = random() % 3;
    std::ptrdiff_t extent = 0;
    if (lists == 0) {
      block_ = up_to(std::max<std::size_t>(bytes / 40 / element, 1)) * element;
      extent = static_cast<std::ptrdiff_t>(block_);
    } else {
      std::size_t const count = up_to(8);
      for (std::size_t i = 0; i < count; ++i) {
        std::size_t const length = (random() % 6) * element;  // including empty ones
        extent += static_cast<std::ptrdiff_t>((random() % 4) * element);
        runs_.push_back({extent, length});
        extent += static_cast<std::ptrdiff_t>(length);
        block_ += length;
      }
    }
    std::size_t const dimensions = random() % 4;
    for (std::size_t i = 0; i < dimensions; ++i) {
      std::size_t const count = up_to(4);
      std::ptrdiff_t const stride =
          std::max<std::ptrdiff_t>(extent, 1) + static_cast<std::ptrdiff_t>((random() % 3) * element);
      dims_.push_back({count, random() % 4 == 0 ? -stride : stride});
      extent = static_cast<std::ptrdiff_t>(count) * stride;
    }
  }

  static RandomLayout contiguous(std::size_t bytes) {
    RandomLayout made;
    made.block_ = bytes;
    return made;
  }

  engine::Layout view() const { return {block_, dims_, runs_}; }
  /// Returns the offset of the base address in a buffer of span_bytes().
  std::size_t base() const {
    return static_cast<std::size_t>(-view().extent().begin * (view().extent().begin < 0));
  }
  std::size_t span_bytes() const {
    return base() + static_cast<std::size_t>(std::max<std::ptrdiff_t>(view().extent().end, 0)) + 1;
  }

  /// Truncates the layout to its first `bytes` bytes.
  void trim(std::size_t bytes) {
    std::vector<engine::LayoutRun> runs;
    engine::LayoutCursor cursor(view());
    for (std::size_t rest = bytes; rest != 0;) {
      runs.push_back(cursor.next(rest));
      rest -= runs.back().length;
    }
    block_ = bytes;
    dims_.clear();
    runs_ = std::move(runs);
    if (runs_.empty()) block_ = 0;
  }

 private:
  RandomLayout() = default;

  std::size_t block_ = 0;
  std::vector<engine::Dimension> dims_;
  std::vector<engine::LayoutRun> runs_;
};

/// Truncates the longer of two layouts, so that they describe one transfer.
inline void trim_to_equal_size(RandomLayout& a, RandomLayout& b) {
  std::size_t const bytes = std::min(a.view().size(), b.view().size());
  if (a.view().size() > bytes) a.trim(bytes);
  if (b.view().size() > bytes) b.trim(bytes);
}

}  // namespace mpixrma::test
