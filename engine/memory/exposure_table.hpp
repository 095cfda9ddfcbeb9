/// What this process exposes. Not thread-safe: used as the segment table is.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "engine/memory/published_tables.hpp"
#include "engine/op/exposure.hpp"

namespace mpixrma::engine {

class ExposureTable {
 public:
  /// `slots` are what peers see of it; they read as zero so far.
  void open(RangeSlot* slots) noexcept { slots_ = slots; }

  bool is_full() const noexcept { return free_slots_.empty() && entries_.size() == max_exposures; }
  /// Peers find the exposure from here on, as one of memory in `region`. The generation is odd, and larger
  /// than any before. Not when it is full.
  ExposureId add(Exposure const& exposure, std::uint32_t region, std::uint64_t generation);
  /// The same with a name whose slot is free.
  void add(ExposureId id, Exposure const& exposure, std::uint32_t region);
  /// From here on all slots are free.
  std::uint32_t first_unused_slot() const noexcept;
  /// Nobody finds it any more. False: there is none.
  bool remove(ExposureId id, Exposure* removed);

  /// nullptr: never made, or withdrawn.
  Exposure const* find(ExposureId id) const noexcept {
    std::uint32_t const slot = slot_of(id);
    bool const known = slot < entries_.size() && entries_[slot].id == id && id != ExposureId::none;
    return known ? &entries_[slot].exposure : nullptr;
  }

  /// Those that begin in [begin, end).
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
