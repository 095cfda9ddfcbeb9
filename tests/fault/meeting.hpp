/// Two groups of processes connected by an intercommunicator, with accessible memory of every kind.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "include/mpix_rma.h"
#include "tests/support/communicatable.hpp"

namespace mpixrma::test {

/// Puts to the next process in a window over both groups, and frees the window. Returns whether all processes
/// have received the right value, the same at all: a job of children that fails is not seen otherwise.
inline bool exchange_in_window(MPI_Comm other, bool high) {
  MPI_Comm both = MPI_COMM_NULL;
  MPI_Intercomm_merge(other, high ? 1 : 0, &both);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(both, &rank);
  MPI_Comm_size(both, &size);
  std::int64_t* own = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate(sizeof *own, sizeof *own, MPI_INFO_NULL, both, &own, &window);
  MPI_Win_fence(0, window);
  std::int64_t const sent = rank;
  MPI_Put(&sent, 1, MPI_INT64_T, (rank + 1) % size, 0, 1, MPI_INT64_T, window);
  MPI_Win_fence(0, window);
  int right = *own == (rank + size - 1) % size ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, both);
  MPI_Win_free(&window);
  MPI_Comm_free(&both);
  return right != 0;
}

class Meeting {
 public:
  enum Kind { allocated, registered, plain, kinds };
  static constexpr std::size_t words = 65536;
  static constexpr std::size_t large_words = 1u << 20;  ///< of the allocated memory; see fill()
  static constexpr std::size_t sum_at = 64;  ///< of each kind; below it a word per process of the other group

  explicit Meeting(MPI_Comm other) : other_(other), registered_(words, 0), plain_(words, 0) {
    MPI_Comm_rank(other_, &rank_);
    MPI_Comm_remote_size(other_, &others_);
    bool const there =
        rma_allocate_local(large_words * sizeof(std::int64_t), MPI_INFO_NULL, &allocated_) == MPI_SUCCESS;
    note(there);
    if (there) std::fill_n(static_cast<std::int64_t*>(allocated_), large_words, 0);
    note(rma_register(registered_.data(), bytes()) == MPI_SUCCESS);
    std::array<std::int64_t*, kinds> const mine{own(allocated), own(registered), own(plain)};
    where_.resize(static_cast<std::size_t>(others_));
    MPI_Allgather(mine.data(), sizeof mine, MPI_BYTE, where_.data(), sizeof mine, MPI_BYTE, other_);
  }

  /// Every process puts, sums and gets at every process of the other group, and checks its own memory.
  void exchange() {
    for (int kind = 0; kind < kinds; ++kind) {
      for (int to = 0; to < others_; ++to) {
        std::int64_t mark = 1000 * (kind + 1) + rank_;
        note(put(&mark, to, at(to, kind) + rank_) == MPI_SUCCESS);
        std::vector<std::int64_t> const ones(words - sum_at, 1);
        note(sum(ones, to, at(to, kind) + sum_at) == MPI_SUCCESS);
      }
    }
    note(MPIX_RMA_Complete(&other_, MPIX_ALL_RANKS) == MPI_SUCCESS);
    MPI_Barrier(other_);
    for (int kind = 0; kind < kinds; ++kind) {
      for (int from = 0; from < others_; ++from) note(own(kind)[from] == 1000 * (kind + 1) + from);
      for (std::size_t i = sum_at; i < words; ++i) note(own(kind)[i] == others_);
      for (int to = 0; to < others_; ++to) {
        std::int64_t got = 0;
        note(get(&got, to, at(to, kind) + rank_) == MPI_SUCCESS);
        note(got == 1000 * (kind + 1) + rank_);
      }
    }
    MPI_Barrier(other_);
  }

  /// Fills the allocated memory of every process of the other group.
  void fill() {
    std::vector<std::int64_t> values(large_words, 1);
    constexpr int count = large_words;
    for (int to = 0; to < others_; ++to) {
      note(MPIX_RMA_xfer(MPIX_RMA_PUT, values.data(), count, MPI_INT64_T, to, at(to, allocated), count,
                         MPI_INT64_T, nullptr, &other_, &blocking_) == MPI_SUCCESS);
    }
    note(MPIX_RMA_Complete(&other_, MPIX_ALL_RANKS) == MPI_SUCCESS);
    MPI_Barrier(other_);
    if (others_ != 0) note(own(allocated)[large_words - 1] == 1);
  }

  int put(std::int64_t* value, int to, std::int64_t* address) {
    return MPIX_RMA_xfer(MPIX_RMA_PUT, value, 1, MPI_INT64_T, to, address, 1, MPI_INT64_T, nullptr, &other_,
                         &blocking_);
  }
  int get(std::int64_t* value, int to, std::int64_t* address) {
    return MPIX_RMA_xfer(MPIX_RMA_GET, value, 1, MPI_INT64_T, to, address, 1, MPI_INT64_T, nullptr, &other_,
                         &blocking_);
  }
  /// Adds `values` to as many words; atomic, complete on return.
  int sum(std::vector<std::int64_t> const& values, int to, std::int64_t* address) {
    auto const count = static_cast<int>(values.size());
    return MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, const_cast<std::int64_t*>(values.data()), count, MPI_INT64_T,
                         to, address, count, MPI_INT64_T, nullptr, &other_, &atomic_);
  }

  /// Frees the memory, without use of the communicator.
  void end() {
    note(rma_free_local(allocated_) == MPI_SUCCESS);
    note(rma_deregister(registered_.data(), bytes()) == MPI_SUCCESS);
  }

  int others() const { return others_; }
  std::int64_t* at(int process, int kind) const {
    return where_[static_cast<std::size_t>(process)][static_cast<std::size_t>(kind)];
  }
  std::int64_t* own(int kind) {
    return kind == allocated    ? static_cast<std::int64_t*>(allocated_)
           : kind == registered ? registered_.data()
                                : plain_.data();
  }
  /// Number of errors so far.
  int failures() const { return failures_; }

 private:
  static constexpr MPI_Aint bytes() { return static_cast<MPI_Aint>(words * sizeof(std::int64_t)); }
  void note(bool good) { failures_ += good ? 0 : 1; }
  static MPIX_RMA_Attributes with(std::uint64_t set) {
    MPIX_RMA_Attributes made{};
    made.set = set;
    return made;
  }

  MPIX_RMA_Attributes blocking_ = with(MPIX_RMA_ATTR_BLOCKING);
  MPIX_RMA_Attributes atomic_ = with(MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_ATOMICITY);
  MPI_Comm other_;
  int rank_ = 0;
  int others_ = 0;
  void* allocated_ = nullptr;
  std::vector<std::int64_t> registered_;
  std::vector<std::int64_t> plain_;
  std::vector<std::array<std::int64_t*, kinds>> where_;
  int failures_ = 0;
};

}  // namespace mpixrma::test
