/// Ranges of a region that do not overlap, joined where they touch.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace mpixrma::engine {

class PageRanges {
 public:
  struct Range {
    std::size_t begin;
    std::size_t end;
    bool operator==(Range const&) const = default;
  };

  /// `range` must not overlap a stored range.
  void add(Range range);
  /// Removes `range`. Returns the parts of it that were not contained, in ascending order.
  std::vector<Range> remove(Range range);

  std::size_t bytes() const noexcept { return bytes_; }
  std::vector<Range> all() const;

 private:
  std::map<std::size_t, std::size_t> ranges_;  ///< begin -> end
  std::size_t bytes_ = 0;
};

}  // namespace mpixrma::engine
