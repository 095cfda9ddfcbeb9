/// The memory of this rank that operations use: allocated, registered and plain; made anew for every round.
#pragma once

#include <cstdlib>
#include <cstring>
#include <vector>

#include "include/mpix_rma.h"
#include "tests/stress/region.hpp"
#include "tests/support/communicatable.hpp"

namespace mpixrma::stress {

class Memory {
 public:
  Memory(std::size_t bytes, MPI_Comm comm) : comm_(comm), bytes_(static_cast<MPI_Aint>(bytes)) {
    int size = 0;
    int rank = 0;
    MPI_Comm_size(comm_, &size);
    MPI_Comm_rank(comm_, &rank);
    std::vector<void*> bases(static_cast<std::size_t>(size));
    int const code =
        mpixrma::test::rma_allocate(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, comm_, bases.data());
    if (code != MPI_SUCCESS) MPI_Abort(comm_, 1);  // the library has said why
    own_[0] = static_cast<std::byte*>(bases[static_cast<std::size_t>(rank)]);
    own_[1] = static_cast<std::byte*>(std::malloc(bytes));
    own_[2] = static_cast<std::byte*>(std::malloc(bytes));
    mpixrma::test::rma_register(own_[1], static_cast<MPI_Aint>(bytes));
    for (int kind = 0; kind < Places::kinds; ++kind) {
      std::memset(own_[kind], 0, bytes);
      auto const mine = reinterpret_cast<std::intptr_t>(own_[kind]);
      places_.of_kind[kind].resize(static_cast<std::size_t>(size));
      MPI_Allgather(&mine, sizeof mine, MPI_BYTE, places_.of_kind[kind].data(), sizeof mine, MPI_BYTE, comm_);
    }
  }
  ~Memory() {
    mpixrma::test::rma_deregister(own_[1], bytes_);
    mpixrma::test::rma_free(own_[0], comm_);
    std::free(own_[1]);
    std::free(own_[2]);
  }
  Memory(Memory const&) = delete;
  Memory& operator=(Memory const&) = delete;

  Places const& places() const { return places_; }
  std::byte* own(int kind) const { return own_[kind]; }

 private:
  MPI_Comm comm_;
  MPI_Aint bytes_;
  std::byte* own_[Places::kinds] = {};
  Places places_;
};

}  // namespace mpixrma::stress
