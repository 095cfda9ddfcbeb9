/// The calls of MPIX_RMA that allocate memory, ask about it and count notifications, for tests and examples:
/// a change of their signatures changes this file.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "include/mpix_rma.h"

namespace mpixrma::test {

/// Throws for an error code.
inline void require(int code, char const* call) {
  if (code != MPI_SUCCESS) throw std::runtime_error(std::string(call) + " failed");
}

/// `bytes` bytes at every rank, and their addresses by rank. Collective, and so is the end.
class CommunicatableMemory {
 public:
  CommunicatableMemory(MPI_Comm comm, MPI_Aint bytes) : comm_(comm) {
    int size = 0;
    MPI_Comm_size(comm_, &size);
    MPI_Comm_rank(comm_, &rank_);
    bases_.resize(static_cast<std::size_t>(size));
    require(MPIX_RMA_Allocate(bytes, MPI_INFO_NULL, &comm_, bases_.data()), "MPIX_RMA_Allocate");
  }
  ~CommunicatableMemory() { MPIX_RMA_Free(own(), &comm_); }
  CommunicatableMemory(CommunicatableMemory const&) = delete;
  CommunicatableMemory& operator=(CommunicatableMemory const&) = delete;

  char* own() const { return at(rank_); }
  char* at(int rank) const { return static_cast<char*>(bases_[static_cast<std::size_t>(rank)]); }

 private:
  MPI_Comm comm_;
  int rank_ = 0;
  std::vector<void*> bases_;
};

/// Registers memory for a scope.
class Registration {
 public:
  Registration(void* base, MPI_Aint bytes) : base_(base) {
    require(MPIX_RMA_Register(base, bytes), "MPIX_RMA_Register");
  }
  ~Registration() { MPIX_RMA_Deregister(base_); }
  Registration(Registration const&) = delete;
  Registration& operator=(Registration const&) = delete;

 private:
  void* base_;
};

/// Whether the address of a rank is communicatable.
inline bool is_communicatable(MPI_Comm comm, int rank, void* address) {
  int flag = 0;
  require(MPIX_RMA_Query(&comm, rank, address, &flag, nullptr, nullptr), "MPIX_RMA_Query");
  return flag != 0;
}

/// Gives every rank `count` notification counters, all zero. Collective.
inline void set_notification_counters(MPI_Comm comm, int count) {
  require(MPIX_RMA_Set_num_notify(&comm, count), "MPIX_RMA_Set_num_notify");
}

/// The present value of a counter of this process.
inline std::int64_t notification_value(MPI_Comm comm, int index) {
  MPI_Count value = 0;
  require(MPIX_RMA_Get_notify_value(&comm, index, &value), "MPIX_RMA_Get_notify_value");
  return value;
}

}  // namespace mpixrma::test
