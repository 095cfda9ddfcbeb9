/// Bounds the memory that origins use in this process: for buffered requests, and by their credit for
/// operations in flight. Under the channel's lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/target/origin.hpp"
#include "engine/target/origin_table.hpp"

namespace mpixrma::engine {

class BufferBudget {
 public:
  struct Settings {
    std::size_t fragment_bytes = 0;
    std::size_t credit_bytes = 0;  ///< maximum that one origin may have in flight
    std::size_t memory_bytes = 0;  ///< maximum for all origins together, beyond a minimum for each
  };

  BufferBudget(OriginTable const& origins, Settings const& settings) noexcept
      : origins_(origins), settings_(settings) {}

  /// Maximum of Origin::buffered_bytes.
  std::size_t max_origin_bytes() const noexcept;
  /// The credit of an origin: each gets the same share of the memory for operations in flight.
  std::uint64_t credit_share() const noexcept;
  /// Whether a request with so many wire::viewed_bytes() can be buffered for the origin.
  bool has_room(Origin const& origin, std::size_t viewed_bytes) const noexcept;

  void note_buffered(Origin& origin, BufferedRequest const& buffered) noexcept {
    add(origin, buffered.footprint());
  }
  void note_released(Origin& origin, BufferedRequest const& buffered) noexcept {
    subtract(origin, buffered.footprint());
  }
  /// Reserves memory for an entry of OutOfOrder, because an origin may never complete the entry. Returns
  /// false if there is no room.
  bool add_entry(Origin& origin) noexcept;
  void remove_entry(Origin& origin) noexcept { subtract(origin, OutOfOrder::bytes_of_entry); }
  /// Releases the memory of the origin's requests and entries, which are dropped.
  void forget(Origin& origin) noexcept { subtract(origin, origin.buffered_bytes); }

 private:
  void add(Origin& origin, std::size_t bytes) noexcept {
    origin.buffered_bytes += bytes;
    buffered_bytes_ += bytes;
  }
  void subtract(Origin& origin, std::size_t bytes) noexcept {
    origin.buffered_bytes -= bytes;
    buffered_bytes_ -= bytes;
  }

  OriginTable const& origins_;
  Settings settings_;
  std::size_t buffered_bytes_ = 0;  ///< sum of Origin::buffered_bytes
};

}  // namespace mpixrma::engine
