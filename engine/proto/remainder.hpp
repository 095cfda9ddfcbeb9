/// The rest of a partly executed operation, as an operation.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/op/operation.hpp"

namespace mpixrma::engine {

/// A range of an operation's data.
struct DataRange {
  std::size_t offset;
  std::size_t bytes;
};

class LayoutParts {
 public:
  /// An empty layout has no parts: not every operation has each of the three layouts.
  LayoutParts(Layout const& whole, std::span<DataRange const> ranges) {
    if (whole.size() == 0) return;
    LayoutCursor cursor(whole);
    for (DataRange const& range : ranges) {
      cursor.seek(range.offset);
      for (std::size_t rest = range.bytes; rest != 0; rest -= runs_.back().length)
        runs_.push_back(cursor.next(rest));
      bytes_ += range.bytes;
    }
  }
  Layout view() const noexcept { return {bytes_, {}, runs_}; }

 private:
  std::size_t bytes_ = 0;
  std::vector<LayoutRun> runs_;
};

/// The part of an operation in `ranges` as an operation. Without notification and completion, which follow
/// the whole operation. Valid as long as this object exists.
class Remainder {
 public:
  Remainder(RmaOp const& whole, std::span<DataRange const> ranges)
      : target_(whole.target_layout, ranges),
        origin_(whole.origin_layout, ranges),
        result_(whole.result_layout, ranges),
        operation_(whole) {
    operation_.target_layout = target_.view();
    operation_.origin_layout = origin_.view();
    operation_.result_layout = result_.view();
    operation_.notify = 0;
    operation_.exposed.notify = ExposureId::none;
    operation_.completion = nullptr;
  }
  Remainder(Remainder const&) = delete;
  Remainder& operator=(Remainder const&) = delete;

  RmaOp const& operation() const noexcept { return operation_; }

 private:
  LayoutParts target_;
  LayoutParts origin_;
  LayoutParts result_;
  RmaOp operation_;
};

}  // namespace mpixrma::engine
