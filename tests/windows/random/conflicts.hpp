/// Decides which operations of one origin may follow each other without a flush.
#pragma once

#include <vector>

#include "tests/windows/random/plan.hpp"

namespace mpixrma::random_windows {

class Conflicts {
 public:
  enum Kind { read, write, accumulate };
  struct Range {
    int window, rank, target;
    std::ptrdiff_t low, high;
    Kind kind;
    Base const* base;  ///< of an accumulate
    bool request;
  };

  /// Whether an operation that is not complete conflicts with `range`. `ordered`: accumulates of one type to
  /// one place are executed in the order of their calls.
  bool meets(Range const& range, bool ordered) const {
    for (Range const& other : open_) {
      bool const apart = other.window != range.window || other.rank != range.rank ||
                         other.target != range.target || other.high <= range.low || range.high <= other.low;
      bool const peaceful = range.kind == read && other.kind == read;
      bool const in_order =
          ordered && range.kind == accumulate && other.kind == accumulate && range.base == other.base;
      if (!apart && !peaceful && !in_order) return true;
    }
    return false;
  }
  void add(Range const& range) { open_.push_back(range); }
  /// Notes that operations are complete at the target; at all targets for -1.
  void flush(int window, int rank, int target) {
    std::erase_if(open_, [&](Range const& range) {
      return range.window == window && range.rank == rank && (target < 0 || range.target == target);
    });
  }
  /// Notes that all requests of the rank are complete, so that its gets have read their targets.
  void wait(int rank) {
    std::erase_if(
        open_, [&](Range const& range) { return range.rank == rank && range.request && range.kind == read; });
  }
  void close(int window, int rank) { flush(window, rank, -1); }

 private:
  std::vector<Range> open_;
};

}  // namespace mpixrma::random_windows
