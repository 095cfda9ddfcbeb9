/// The layout of a process's memory, its addresses, and the values that one origin expects in it.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/stress/base_types.hpp"

namespace mpixrma::stress {

/// Memory of one process, of one kind: a private part per origin, then the parts that all of them share.
/// An origin is a thread of a process.
struct Region {
  static constexpr std::size_t first_zone_bytes = 49152;
  static constexpr std::size_t zone_bytes = 6144;
  static constexpr std::size_t private_bytes = first_zone_bytes + (zones - 1) * zone_bytes;
  static constexpr std::size_t sums = 64;           ///< int64 elements that everybody adds to
  static constexpr std::size_t reals = 64;          ///< doubles likewise
  static constexpr std::size_t mixed_bytes = 512;   ///< everybody flips bits of it, in words of all sizes
  static constexpr std::size_t counters = 8;        ///< int64 elements that hand out each value once
  static constexpr std::size_t uniform_ints = 700;  ///< equal at every moment

  explicit Region(int origins) : origins_(origins) {}

  static std::size_t zone_at(int zone) {
    return zone == 0 ? 0 : first_zone_bytes + static_cast<std::size_t>(zone - 1) * zone_bytes;
  }
  static std::size_t bytes_of_zone(int zone) { return zone == 0 ? first_zone_bytes : zone_bytes; }
  std::size_t private_at(int origin) const { return private_bytes * static_cast<std::size_t>(origin); }
  std::size_t sums_at() const { return private_at(origins_); }
  std::size_t reals_at() const { return sums_at() + sums * sizeof(std::int64_t); }
  std::size_t mixed_at() const { return reals_at() + reals * sizeof(double); }
  std::size_t counters_at() const { return mixed_at() + mixed_bytes; }
  std::size_t uniform_at() const { return counters_at() + counters * sizeof(std::int64_t); }
  std::size_t bytes() const { return uniform_at() + uniform_ints * sizeof(int); }

 private:
  int origins_;
};

/// The addresses of the memory of each kind at each rank.
struct Places {
  static constexpr int kinds = 3;  ///< allocated, registered, neither
  std::vector<std::intptr_t> of_kind[kinds];
  std::byte* at(int kind, int rank, std::size_t offset) const {
    return reinterpret_cast<std::byte*>(of_kind[kind][static_cast<std::size_t>(rank)]) + offset;
  }
};

/// The values that one origin expects in one region.
struct Model {
  std::vector<std::byte> mine = std::vector<std::byte>(Region::private_bytes);
  /// 0: the byte is padding of an element that was computed.
  std::vector<std::uint8_t> known = std::vector<std::uint8_t>(Region::private_bytes, 1);
  std::vector<std::int64_t> added = std::vector<std::int64_t>(Region::sums, 0);
  std::vector<double> reals = std::vector<double>(Region::reals, 0.0);
  std::vector<std::uint8_t> flipped = std::vector<std::uint8_t>(Region::mixed_bytes, 0);
  std::vector<std::int64_t> counted = std::vector<std::int64_t>(Region::counters, 0);
  std::vector<std::int64_t> last_fetched = std::vector<std::int64_t>(Region::counters, -1);
};

/// A communicator that operations go through, and its counters for notification.
struct Channel {
  static constexpr int counters = 4;  ///< of each process
  MPI_Comm comm = MPI_COMM_NULL;
  bool ordered = false;  ///< by an attribute of the communicator
};

}  // namespace mpixrma::stress
