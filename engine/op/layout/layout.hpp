/// The layout of the bytes of one side of a transfer, relative to a base address.
///
/// One form covers contiguous blocks, n-dimensional strided blocks, run lists, and a run list repeated along
/// dimensions (a derived datatype with a count). The order of the bytes is: the runs in list order for the
/// first repetition, then the next step along the innermost dimension, and so on outwards.
/// Two layouts of the same size() describe a transfer: byte k of one corresponds to byte k of the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/status.hpp"
#include "engine/op/layout/layout.h"

namespace mpixrma::engine {

using LayoutRun = mpix_engine_segment;
using Dimension = mpix_engine_dimension;

/// Half-open byte range relative to the base address.
struct Extent {
  std::ptrdiff_t begin;
  std::ptrdiff_t end;
};

/// A view: owns nothing, copied freely. The arrays must outlive it.
struct Layout {
  std::size_t block = 0;            ///< bytes of one repetition (sum of `runs`, if any)
  std::span<Dimension const> dims;  ///< innermost first; empty: one repetition
  std::span<LayoutRun const> runs;  ///< empty: the one run {0, block}

  static constexpr Layout contiguous(std::size_t bytes) noexcept { return {bytes, {}, {}}; }

  constexpr bool is_contiguous() const noexcept { return dims.empty() && runs.empty(); }

  /// Total number of data bytes.
  std::size_t size() const noexcept;

  /// Whether every contiguous run is a multiple of `unit` bytes long; true if `unit` is 0.
  bool has_whole(std::size_t unit) const noexcept;

  /// Smallest range that holds every byte; {0, 0} when size() is 0.
  Extent extent() const noexcept;
};

/// Maximum number of dimensions of a layout after normalisation.
inline constexpr std::size_t max_dimensions = 16;

/// An owning layout: the form in which layouts are stored, and the target of normalisation.
class OwnedLayout {
 public:
  OwnedLayout() = default;
  /// Copies `layout` and normalises it: drops dimensions of count 1, merges adjacent blocks and runs, and
  /// converts a list of equally long and equally spaced runs that begins at offset 0 to a dimension. The byte
  /// order is unchanged.
  explicit OwnedLayout(Layout const& layout);

  Layout view() const noexcept { return {block_, dims_, runs_}; }

  /// Memory used by the description beyond the object itself.
  std::size_t bytes() const noexcept {
    return dims_.capacity() * sizeof(Dimension) + runs_.capacity() * sizeof(LayoutRun);
  }

 private:
  std::size_t block_ = 0;
  std::vector<Dimension> dims_;
  std::vector<LayoutRun> runs_;
};

/// Walks the contiguous runs of a layout in byte order. Adjacent runs are not merged.
class LayoutCursor {
 public:
  explicit LayoutCursor(Layout const& layout) noexcept;

  /// Moves to byte `position` of the data (0 <= position <= size()).
  void seek(std::size_t position) noexcept;

  /// Number of bytes from the current position to the end.
  std::size_t remaining() const noexcept { return remaining_; }

  /// Number of bytes of the current run before the current position.
  std::size_t within() const noexcept { return within_; }

  /// The next run of at most `limit` bytes; advances past it. {0, 0} at the end.
  LayoutRun next(std::size_t limit = SIZE_MAX) noexcept {
    // Long lists of runs consist of whole runs almost only.
    if (within_ == 0 && run_ + 1 < layout_.runs.size()) {
      LayoutRun const& run = layout_.runs[run_];
      if (run.length != 0 && run.length <= limit && remaining_ != 0) {
        ++run_;
        remaining_ -= run.length;
        return {origin_ + run.offset, run.length};
      }
    }
    return next_part(limit);
  }

 private:
  LayoutRun next_part(std::size_t limit) noexcept;

  Layout layout_;
  std::size_t remaining_ = 0;
  std::size_t run_ = 0;        ///< index of the current run
  std::size_t within_ = 0;     ///< bytes consumed of the current run
  std::ptrdiff_t origin_ = 0;  ///< offset of the current repetition
  std::size_t index_[max_dimensions] = {};
};

}  // namespace mpixrma::engine
