/// Wrappers for the calls of MPIX_RMA that allocate memory, query it and count notifications, so that of the
/// C++ tests a change of their signatures affects only this file. Functions that return MPI's codes, and
/// objects for tests in which these calls cannot fail.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "include/mpix_rma.h"

namespace mpixrma::test {

inline int rma_allocate(MPI_Aint bytes, MPI_Info info, MPI_Comm comm, void** bases) {
  return MPIX_RMA_Allocate(bytes, info, comm, nullptr, bases);
}
inline int rma_allocate(MPI_Aint bytes, MPI_Info info, MPI_Comm comm, void** base, void** bases) {
  return MPIX_RMA_Allocate(bytes, info, comm, base, bases);
}
inline int rma_allocate_local(MPI_Aint bytes, MPI_Info info, void** base) {
  return MPIX_RMA_Allocate_local(bytes, info, base);
}
inline int rma_free(void* base, MPI_Comm comm) { return MPIX_RMA_Free(base, comm); }
inline int rma_free_local(void* base) { return MPIX_RMA_Free_local(base); }
inline int rma_register(void const* base, MPI_Aint bytes, MPI_Info info = MPI_INFO_NULL) {
  return MPIX_RMA_Register(base, bytes, info);
}
inline int rma_deregister(void* base, MPI_Aint bytes) { return MPIX_RMA_Deregister(base, bytes); }
inline int rma_query(MPI_Comm comm, int rank, void* address, int* flag, void** base, MPI_Aint* size) {
  return MPIX_RMA_Query(comm, rank, address, flag, base, size);
}
inline int rma_set_num_notify(MPI_Comm comm, int count) { return MPIX_RMA_Set_num_notify(comm, count); }
inline int rma_get_num_notify(MPI_Comm comm, int* count) { return MPIX_RMA_Get_num_notify(comm, count); }
inline int rma_get_notify_value(MPI_Comm comm, int index, MPI_Count* value) {
  return MPIX_RMA_Get_notify_value(comm, index, value);
}
inline int rma_reset_notify_value(MPI_Comm comm, int index, MPI_Count* value) {
  return MPIX_RMA_Reset_notify_value(comm, index, value);
}
inline int rma_wait_notify_value(MPI_Comm comm, int index, MPI_Count threshold, MPI_Request* request) {
  return MPIX_RMA_Wait_notify_value(comm, index, threshold, request);
}

/// Throws for an error code.
inline void require(int code, char const* call) {
  if (code != MPI_SUCCESS) throw std::runtime_error(std::string(call) + " failed");
}

/// Allocates `bytes` bytes at every rank, and has the addresses by rank. Construction and destruction are
/// collective.
class CommunicatableMemory {
 public:
  CommunicatableMemory(MPI_Comm comm, MPI_Aint bytes) : comm_(comm) {
    int size = 0;
    MPI_Comm_size(comm_, &size);
    MPI_Comm_rank(comm_, &rank_);
    bases_.resize(static_cast<std::size_t>(size));
    require(rma_allocate(bytes, MPI_INFO_NULL, comm_, bases_.data()), "MPIX_RMA_Allocate");
  }
  ~CommunicatableMemory() { rma_free(own(), comm_); }
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
  Registration(void* base, MPI_Aint bytes) : base_(base), bytes_(bytes) {
    require(rma_register(base, bytes), "MPIX_RMA_Register");
  }
  ~Registration() { rma_deregister(base_, bytes_); }
  Registration(Registration const&) = delete;
  Registration& operator=(Registration const&) = delete;

 private:
  void* base_;
  MPI_Aint bytes_;
};

/// Whether `address` at `rank` is communicatable.
inline bool is_communicatable(MPI_Comm comm, int rank, void* address) {
  int flag = 0;
  require(rma_query(comm, rank, address, &flag, nullptr, nullptr), "MPIX_RMA_Query");
  return flag != 0;
}

/// Allocates `count` notification counters at every rank, all zero. Collective.
inline void set_notification_counters(MPI_Comm comm, int count) {
  require(rma_set_num_notify(comm, count), "MPIX_RMA_Set_num_notify");
}

/// Returns the current value of a counter of this process.
inline std::int64_t notification_value(MPI_Comm comm, int index) {
  MPI_Count value = 0;
  require(rma_get_notify_value(comm, index, &value), "MPIX_RMA_Get_notify_value");
  return value;
}

}  // namespace mpixrma::test
