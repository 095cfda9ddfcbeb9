/// The records that jobs put into a window while a man in the middle attacks them, and the ledger in which
/// each rank notes what is complete.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace mpixrma::nam {

inline constexpr int record_ranks = 2;
inline constexpr std::size_t record_words = 2048;
inline constexpr std::size_t record_bytes = record_words * sizeof(std::uint64_t);
/// A record for each rank, and then a counter.
inline constexpr std::size_t record_window_bytes = record_ranks * record_bytes + sizeof(std::uint64_t);

/// Returns the value of every word of the record that the rank puts in this round.
constexpr std::uint64_t stamp_of(int rank, std::uint64_t round) noexcept {
  return 0x6d70697800000000u + (static_cast<std::uint64_t>(rank) << 24) + round;
}

/// The content of a job's ledger file: by rank, the last round in which the operation was complete.
struct Ledger {
  std::array<std::uint64_t, record_ranks> put{};
  std::array<std::uint64_t, record_ranks> counted{};
};

inline constexpr int job_found_wrong = 4;  ///< exit code: values in the window are wrong
inline constexpr int job_failed = 3;       ///< exit code: a call has returned an error

}  // namespace mpixrma::nam
