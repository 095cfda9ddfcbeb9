/// The notification counters of a communicator: where those of every rank stand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/op/operation.hpp"

namespace mpixrma {

class Counters {
 public:
  /// Counters of one process.
  struct Place {
    engine::RemoteAddress base = 0;
    std::int64_t count = 0;
  };

  /// Takes over the counters that this process has allocated, and the places of those of the target ranks.
  void adopt(Place own, std::vector<Place> ranks);
  /// Frees this process's counters.
  void drop();

  std::int64_t count() const noexcept { return own_.count; }
  /// A counter of this process; nullptr: it has none with that index.
  std::uint64_t* own(std::int64_t index) const noexcept;
  /// Address of a counter of `rank`; 0: it has none with that index.
  engine::RemoteAddress at(int rank, std::int64_t index) const noexcept;

 private:
  Place own_;
  std::vector<Place> ranks_;
};

}  // namespace mpixrma
