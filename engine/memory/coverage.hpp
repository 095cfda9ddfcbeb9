/// The coverage of memory by address ranges that may overlap.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "engine/op/operation.hpp"

namespace mpixrma::engine {

/// A set of ranges. Overlapping ranges form a union; adjacent ranges do not.
class Coverage {
 public:
  struct Range {
    RemoteAddress begin;
    RemoteAddress end;
    bool operator==(Range const&) const = default;
  };

  void add(Range range);
  /// Removes a range that was added.
  void remove(Range range);

  /// Returns the unions in `whole`, in ascending order. `whole` was one union until the range `changed` was
  /// removed, so only `changed` is examined.
  std::vector<Range> unions_in(Range whole, Range changed) const;

 private:
  /// An address at which ranges begin or end.
  struct Point {
    std::size_t covering = 0;  ///< number of ranges that cover the addresses from here to the next point
    std::size_t begin = 0;     ///< number of ranges that begin here
    std::size_t end = 0;       ///< number of ranges that end here
  };
  using Points = std::map<RemoteAddress, Point>;

  Points::iterator point_at(RemoteAddress address);
  std::size_t covering(RemoteAddress address) const;
  void drop_if_unused(Points::iterator point);

  Points points_;
};

}  // namespace mpixrma::engine
