/// Array sections as origin and result buffers.
#pragma once

#include <ISO_Fortran_binding.h>
#include <mpi.h>

#include <string>

namespace mpixrma::fortran {

/// Why a buffer cannot be used: an error class, MPI_SUCCESS for none, and a text.
struct Refusal {
  int error_class = MPI_SUCCESS;
  std::string text;
  explicit operator bool() const noexcept { return error_class != MPI_SUCCESS; }
};

/// A buffer of a call as error texts name it.
struct Buffer {
  char const* call;
  char const* argument;
  char const* count_argument;
  CFI_cdesc_t const* given;
};

/// Null where Fortran's optional argument is absent; C's MPI_BOTTOM for Fortran's, which is a variable.
void* address_of(CFI_cdesc_t const* buffer) noexcept;

/// Whether the elements follow each other in memory; also of absent, empty and assumed-size buffers.
bool is_contiguous(CFI_cdesc_t const* buffer) noexcept;

/// For a buffer that has to be contiguous: gaps, or an array of fewer bytes than `count` elements of the
/// datatype span. The length of a scalar is not known: it may be the first element that is meant of an array.
Refusal check_contiguous(Buffer const& buffer, MPI_Count count, MPI_Datatype datatype);
/// The same of a call that has no count of elements.
Refusal check_contiguous(Buffer const& buffer);

/// `count` elements of a datatype in an array section: as they are when they are contiguous, otherwise as one
/// element of a datatype that leaves out the gaps.
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
  bool made_ = false;  // datatype_ is to be freed
  Refusal refusal_;
};

/// Invokes the error handler of the communicator, MPI_COMM_WORLD's for null, and sets `ierror` unless it is
/// null.
void refuse(Refusal const& refusal, MPI_Fint const* communicator, int* ierror);
/// The same with the error handler of the window.
void refuse_on_window(Refusal const& refusal, MPI_Win win, int* ierror);

}  // namespace mpixrma::fortran
