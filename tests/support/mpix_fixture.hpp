/// The common part of the tests of the MPIX_RMA interface.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "include/mpix_rma.h"
#include "tests/support/communicatable.hpp"

namespace mpixrma::test {

inline MPI_Comm world = MPI_COMM_WORLD;

/// Memory of three kinds at every rank, with the addresses at the other ranks.
class Memory {
 public:
  enum Kind { allocated, registered, plain, kinds };

  explicit Memory(MPI_Aint bytes, MPI_Comm comm = MPI_COMM_WORLD) : comm_(comm) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    auto const ranks = static_cast<std::size_t>(size_);
    std::vector<void*> bases(ranks);
    if (int const status = rma_allocate(bytes, MPI_INFO_NULL, comm_, bases.data()); status != MPI_SUCCESS)
      throw std::runtime_error("no memory for the test: error " + std::to_string(status));
    registered_.resize(static_cast<std::size_t>(bytes));
    plain_.resize(static_cast<std::size_t>(bytes));
    EXPECT_EQ(rma_register(registered_.data(), bytes), MPI_SUCCESS);
    allocated_ = static_cast<char*>(bases[static_cast<std::size_t>(rank_)]);
    std::memset(allocated_, 0, static_cast<std::size_t>(bytes));
    for (int kind = 0; kind < kinds; ++kind) {
      auto const mine = reinterpret_cast<std::intptr_t>(own(kind));
      where_[kind].resize(ranks);
      MPI_Allgather(&mine, sizeof mine, MPI_BYTE, where_[kind].data(), sizeof mine, MPI_BYTE, comm_);
    }
    EXPECT_EQ(where_[allocated],
              std::vector<std::intptr_t>(reinterpret_cast<std::intptr_t*>(bases.data()),
                                         reinterpret_cast<std::intptr_t*>(bases.data()) + size_));
  }
  ~Memory() {
    MPI_Barrier(comm_);
    EXPECT_EQ(rma_free(allocated_, comm_), MPI_SUCCESS);
    EXPECT_EQ(rma_deregister(registered_.data(), static_cast<MPI_Aint>(registered_.size())), MPI_SUCCESS);
  }
  Memory(Memory const&) = delete;
  Memory& operator=(Memory const&) = delete;

  char* own(int kind) {
    return kind == allocated ? allocated_ : kind == registered ? registered_.data() : plain_.data();
  }
  char* at(int rank, int kind, std::ptrdiff_t offset = 0) const {
    return reinterpret_cast<char*>(where_[kind][static_cast<std::size_t>(rank)]) + offset;
  }
  int rank() const { return rank_; }
  int size() const { return size_; }

 private:
  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 0;
  char* allocated_ = nullptr;
  std::vector<char> registered_;
  std::vector<char> plain_;
  std::vector<std::intptr_t> where_[kinds];
};

inline int class_of(int code) {
  int error_class = code;
  MPI_Error_class(code, &error_class);
  return error_class;
}

inline std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return text;
}

/// Whether the text of `code` contains `words`. MPICH has no texts for user-defined error classes.
inline bool says(int code, std::string_view words) {
#ifdef MPICH_VERSION
  static_cast<void>(code);
  static_cast<void>(words);
  return true;
#else
  return text_of(code).find(words) != std::string::npos;
#endif
}

inline MPIX_RMA_Attributes attributes(std::uint64_t set) {
  MPIX_RMA_Attributes made{};
  made.set = set;
  return made;
}

/// Calls xfer with equal counts and types on both sides.
inline int transfer(MPIX_RMA_Op op, void* origin, int count, MPI_Datatype type, int rank, void* target,
                    std::uint64_t set = 0, MPI_Request* request = nullptr) {
  MPIX_RMA_Attributes chosen = attributes(set);
  return MPIX_RMA_xfer(op, origin, count, type, rank, target, count, type, request, &world,
                       set != 0 ? &chosen : nullptr);
}

/// Makes a communicator return errors within the scope.
class ErrorsReturn {
 public:
  explicit ErrorsReturn(MPI_Comm comm) : comm_(comm) {
    MPI_Comm_get_errhandler(comm_, &before_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }
  ~ErrorsReturn() {
    MPI_Comm_set_errhandler(comm_, before_);
    MPI_Errhandler_free(&before_);
  }
  ErrorsReturn(ErrorsReturn const&) = delete;
  ErrorsReturn& operator=(ErrorsReturn const&) = delete;

 private:
  MPI_Comm comm_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

}  // namespace mpixrma::test
