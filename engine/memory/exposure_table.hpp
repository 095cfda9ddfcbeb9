/// The exposures of this process. Not thread-safe: under the same locks as SegmentTable.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "engine/memory/published_tables.hpp"
#include "engine/op/exposure.hpp"

namespace mpixrma::engine {

class ExposureTable {
 public:
  /// `slots` is the table that peers read; it is zero-initialised.
  void open(RangeSlot* slots) noexcept { slots_ = slots; }

  bool is_full() const noexcept { return free_slots_.empty() && entries_.size() == max_exposures; }
  /// Publishes the exposure, with memory in `region`. The generation is odd, and larger than any before. The
  /// table must not be full.
  ExposureId add(Exposure const& exposure, std::uint32_t region, std::uint64_t generation);
  /// As the other add(), with an id whose slot is free.
  void add(ExposureId id, Exposure const& exposure, std::uint32_t region);
  /// Returns the slot behind the last used one.
  std::uint32_t first_unused_slot() const noexcept;
  /// Withdraws an exposure. Returns false if it does not exist.
  bool remove(ExposureId id, Exposure* removed);

  /// Returns nullptr if the exposure was never created, or was withdrawn.
  Exposure const* find(ExposureId id) const noexcept {
    std::uint32_t const slot = slot_of(id);
    bool const known = slot < entries_.size() && entries_[slot].id == id && id != ExposureId::none;
    return known ? &entries_[slot].exposure : nullptr;
  }

  /// Returns the exposures that begin in [begin, end).
  std::vector<ExposureId> within(RemoteAddress begin, RemoteAddress end) const;

 private:
  struct Entry {
    ExposureId id = ExposureId::none;
    Exposure exposure;
  };

  RangeSlot* slots_ = nullptr;  ///< written only
  std::vector<Entry> entries_;  ///< by slot
  std::vector<std::uint32_t> free_slots_;
  std::multimap<RemoteAddress, ExposureId> by_base_;
};

}  // namespace mpixrma::engine
