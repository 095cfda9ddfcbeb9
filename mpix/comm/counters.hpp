/// The notification counters of a communicator: the locations of the counters of every rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/op/operation.hpp"

namespace mpixrma {

class Counters {
 public:
  /// Address and number of the counters of one process.
  struct Place {
    engine::RemoteAddress base = 0;
    std::int64_t count = 0;
  };

  /// Stores the counters that this process has allocated, and the locations of the target ranks' counters.
  void adopt(Place own, std::vector<Place> ranks);
  /// Frees this process's counters.
  void drop();
  /// Rejects further notified operations of this process.
  void close() noexcept { ranks_.clear(); }
  /// Keeps this process's counters allocated for ever: other processes may still increment them.
  void abandon() noexcept { own_ = {}; }
  /// Whether the processes of the communicator have exchanged their counters; the same at every process.
  bool are_known() const noexcept { return !ranks_.empty(); }

  std::int64_t count() const noexcept { return own_.count; }
  /// Returns the known number of counters of `rank`.
  std::int64_t count(int rank) const noexcept;
  /// Returns a counter of this process, or nullptr if the index is out of range.
  std::uint64_t* own(std::int64_t index) const noexcept;
  /// Returns the address of a counter of `rank`, or 0 if no such counter is known.
  engine::RemoteAddress at(int rank, std::int64_t index) const noexcept;

 private:
  Place own_;
  std::vector<Place> ranks_;
};

}  // namespace mpixrma
