/// Conversion of Fortran arguments for the duration of one call. `fortran/generate` writes the calls.
#pragma once

#include <ISO_Fortran_binding.h>
#include <mpix_rma.h>

#include <cstdint>
#include <memory>
#include <new>

#include "fortran/section.hpp"

namespace mpixrma::fortran {

inline void* pointer_to(MPI_Aint address) noexcept { return reinterpret_cast<void*>(address); }

class Communicator {
 public:
  explicit Communicator(MPI_Fint const* handle) : value_(MPI_Comm_f2c(*handle)) {}
  operator MPI_Comm*() noexcept { return &value_; }

 private:
  MPI_Comm value_;
};

/// Stores the request in Fortran's variable when the call ends.
class Request {
 public:
  explicit Request(MPI_Fint* handle)
      : handle_(handle), value_(handle != nullptr ? MPI_Request_f2c(*handle) : MPI_REQUEST_NULL) {}
  Request(Request const&) = delete;
  Request& operator=(Request const&) = delete;
  ~Request() {
    if (handle_ != nullptr) *handle_ = MPI_Request_c2f(value_);
  }
  operator MPI_Request*() noexcept { return handle_ != nullptr ? &value_ : nullptr; }

 private:
  MPI_Fint* handle_;
  MPI_Request value_;
};

/// A request that the call may create.
class OutputRequest {
 public:
  explicit OutputRequest(MPI_Fint* handle) noexcept : handle_(handle) {}
  OutputRequest(OutputRequest const&) = delete;
  OutputRequest& operator=(OutputRequest const&) = delete;
  ~OutputRequest() { *handle_ = MPI_Request_c2f(value_); }
  operator MPI_Request*() noexcept { return &value_; }

 private:
  MPI_Fint* handle_;
  MPI_Request value_ = MPI_REQUEST_NULL;
};

/// An array of windows; null if `count` is not positive, or memory is exhausted.
class Windows {
 public:
  Windows(MPI_Fint const* handles, int count)
      : values_(count > 0 ? new (std::nothrow) MPI_Win[static_cast<std::size_t>(count)] : nullptr) {
    for (int i = 0; values_ != nullptr && i < count; ++i) values_[i] = MPI_Win_f2c(handles[i]);
  }
  operator MPI_Win const*() const noexcept { return values_.get(); }

 private:
  std::unique_ptr<MPI_Win[]> values_;
};

/// An array index, which Fortran counts from 1.
class Position {
 public:
  explicit Position(int* position) noexcept : position_(position) {}
  Position(Position const&) = delete;
  Position& operator=(Position const&) = delete;
  ~Position() { *position_ = value_ == MPI_UNDEFINED ? value_ : value_ + 1; }
  operator int*() noexcept { return &value_; }

 private:
  int* position_;
  int value_ = MPI_UNDEFINED;
};

/// The layout of type MPIX_RMA_Attributes in both Fortran modules.
struct FortranAttributes {
  std::uint64_t set;
  MPI_Fint accumulate_op;
  MPI_Aint accumulate_scale;
  int notify_index;
};

class Attributes {
 public:
  explicit Attributes(FortranAttributes const* given) : is_present_(given != nullptr) {
    if (!is_present_) return;
    value_.set = given->set;
    if ((given->set & MPIX_RMA_ATTR_ACCUMULATE_OP) != 0)
      value_.accumulate_op = MPI_Op_f2c(given->accumulate_op);
    value_.accumulate_scale = pointer_to(given->accumulate_scale);
    value_.notify_index = given->notify_index;
  }
  operator MPIX_RMA_Attributes const*() noexcept { return is_present_ ? &value_ : nullptr; }

 private:
  bool is_present_;
  MPIX_RMA_Attributes value_{};
};

inline void tell(int* ierror, int code) noexcept {
  if (ierror != nullptr) *ierror = code;
}

}  // namespace mpixrma::fortran
