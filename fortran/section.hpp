/// Array sections as origin and result buffers.
#pragma once

#include <ISO_Fortran_binding.h>
#include <mpi.h>

#include <string>

namespace mpixrma::fortran {

/// The reason why a buffer cannot be used: an error class (MPI_SUCCESS for none) and a text.
struct Refusal {
  int error_class = MPI_SUCCESS;
  std::string text;
  explicit operator bool() const noexcept { return error_class != MPI_SUCCESS; }
};

/// A buffer argument of a call, with the names that its error texts use.
struct Buffer {
  char const* call;
  char const* argument;
  char const* count_argument;
  CFI_cdesc_t const* given;
};

/// Returns null if Fortran's optional argument is absent, and C's MPI_BOTTOM for Fortran's, which is a
/// variable.
void* address_of(CFI_cdesc_t const* buffer) noexcept;

/// Whether the elements are contiguous; true for absent, unallocated, empty and assumed-size buffers.
bool is_contiguous(CFI_cdesc_t const* buffer) noexcept;

/// Checks a buffer that must be contiguous. Errors: gaps, or an array of fewer bytes than `count` elements of
/// the datatype span. A scalar passes, because it may be the first element of an array.
Refusal check_contiguous(Buffer const& buffer, MPI_Count count, MPI_Datatype datatype);
/// Checks the buffer of a call without an element count.
Refusal check_contiguous(Buffer const& buffer);

/// `count` elements of a datatype in an array section. Contiguous elements are passed unchanged, others as
/// one element of a datatype that omits the gaps.
class Section {
 public:
  Section(Buffer const& buffer, MPI_Count count, MPI_Datatype datatype);
  Section(Section const&) = delete;
  Section& operator=(Section const&) = delete;
  ~Section();

  Refusal const& refusal() const noexcept { return refusal_; }
  void* address() const noexcept { return address_; }
  template <typename Count>
  Count count() const noexcept {
    return static_cast<Count>(count_);
  }
  MPI_Datatype datatype() const noexcept { return datatype_; }

 private:
  Refusal describe(Buffer const& buffer);

  void* address_;
  MPI_Count count_;
  MPI_Datatype datatype_;
  bool made_ = false;  // datatype_ must be freed
  Refusal refusal_;
};

/// Invokes the error handler of `communicator` (null: MPI_COMM_WORLD) and sets `ierror` unless it is null.
void refuse(Refusal const& refusal, MPI_Fint const* communicator, int* ierror);
/// Invokes the error handler of the window and sets `ierror` unless it is null.
void refuse_on_window(Refusal const& refusal, MPI_Win win, int* ierror);

}  // namespace mpixrma::fortran
