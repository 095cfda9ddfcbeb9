/// The common part of the conformance tests beyond tests/support: three kinds of memory, neighbours, short
/// calls.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "include/mpix_rma.h"
#include "tests/support/mpix_fixture.hpp"

namespace mpixrma::test {

constexpr std::uint64_t blocking_remote = MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_REMOTE_COMPLETION;

/// Memory of every kind at every rank, and the next rank as target.
class Clause : public ::testing::Test {
 protected:
  static constexpr MPI_Aint bytes = 1 << 16;

  Memory memory_{bytes};
  int const rank_ = memory_.rank();
  int const size_ = memory_.size();
  int const next_ = (rank_ + 1) % size_;
  int const previous_ = (rank_ + size_ - 1) % size_;

  /// Returns the address `offset` bytes into the memory of that kind at the next rank.
  char* there(int kind, std::ptrdiff_t offset = 0) const { return memory_.at(next_, kind, offset); }
  /// Fills this rank's memory of every kind; all ranks have done so on return.
  void fill(int value) {
    for (int kind = 0; kind < Memory::kinds; ++kind) std::memset(memory_.own(kind), value, bytes);
    MPI_Barrier(world);
  }
  template <typename T>
  T own(int kind, std::ptrdiff_t offset = 0) {
    T value;
    std::memcpy(&value, memory_.own(kind) + offset, sizeof value);
    return value;
  }
};

/// The suite of behaviour that the document leaves open, in several files.
class G : public Clause {};

inline MPI_Aint address_of(void const* pointer) {
  MPI_Aint address = 0;
  MPI_Get_address(pointer, &address);
  return address;
}

/// A duplicate of a communicator, by default of MPI_COMM_WORLD, for a scope.
class Duplicate {
 public:
  Duplicate() { MPI_Comm_dup(MPI_COMM_WORLD, &comm_); }
  explicit Duplicate(MPI_Comm of) { MPI_Comm_dup(of, &comm_); }
  ~Duplicate() { MPI_Comm_free(&comm_); }
  Duplicate(Duplicate const&) = delete;
  Duplicate& operator=(Duplicate const&) = delete;

  MPI_Comm* operator&() noexcept { return &comm_; }
  MPI_Comm get() const noexcept { return comm_; }
  operator MPI_Comm() const noexcept { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

inline bool is_uniform(char const* begin, std::size_t bytes) {
  return std::all_of(begin, begin + bytes, [&](char c) { return c == *begin; });
}

}  // namespace mpixrma::test
