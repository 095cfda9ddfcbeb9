/// How ranges of addresses that may overlap cover memory.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "engine/op/operation.hpp"

namespace mpixrma::engine {

/// A number of ranges. Those that overlap form a union; ranges that only touch do not.
class Coverage {
 public:
  struct Range {
    RemoteAddress begin;
    RemoteAddress end;
    bool operator==(Range const&) const = default;
  };

  void add(Range range);
  /// Takes one away that was added.
  void remove(Range range);

  /// The unions in `whole`, a union until [changed.begin, changed.end) was removed, in ascending order.
  /// Looks at nothing outside of `changed`.
  std::vector<Range> unions_in(Range whole, Range changed) const;

 private:
  /// Where ranges begin or end.
  struct Point {
    std::size_t covering = 0;  ///< ranges over the addresses from here to the next point
    std::size_t begin = 0;     ///< ranges that begin here
    std::size_t end = 0;       ///< ranges that end here
  };
  using Points = std::map<RemoteAddress, Point>;

  Points::iterator point_at(RemoteAddress address);
  std::size_t covering(RemoteAddress address) const;
  void drop_if_unused(Points::iterator point);

  Points points_;
};

}  // namespace mpixrma::engine
