/// Array sections as origin and result buffers.
#pragma once

#include <ISO_Fortran_binding.h>
#include <mpi.h>

namespace mpix::fortran {

/// Why a buffer cannot be used; the text of each is in section.cpp.
enum class Refusal {
  none,
  gaps,     ///< a section with gaps where the call takes contiguous memory only
  type,     ///< a section with gaps, of elements that are not whole elements of the datatype
  count,    ///< more elements than the section has
  too_long  ///< an extent that MPI's datatypes cannot have
};

/// Null where Fortran's optional argument is absent; C's MPI_BOTTOM for Fortran's, which is a variable.
void* address_of(CFI_cdesc_t const* buffer) noexcept;

/// Whether the elements follow each other in memory; also of absent, empty and assumed-size buffers.
bool is_contiguous(CFI_cdesc_t const* buffer) noexcept;

/// `count` elements of a datatype in an array section: as they are when they are contiguous, otherwise as one
/// element of a datatype that leaves out the gaps.
class Section {
 public:
  Section(CFI_cdesc_t const* buffer, MPI_Count count, MPI_Datatype datatype);
  Section(Section const&) = delete;
  Section& operator=(Section const&) = delete;
  ~Section();

  Refusal refusal() const noexcept { return refusal_; }
  void* address() const noexcept { return address_; }
  template <typename Count>
  Count count() const noexcept {
    return static_cast<Count>(count_);
  }
  MPI_Datatype datatype() const noexcept { return datatype_; }

 private:
  Refusal describe(CFI_cdesc_t const& buffer);

  void* address_;
  MPI_Count count_;
  MPI_Datatype datatype_;
  bool made_ = false;  // datatype_ is to be freed
  Refusal refusal_ = Refusal::none;
};

/// Invokes the error handler of the communicator, MPI_COMM_WORLD's for null, and sets `ierror` unless it is
/// null.
void refuse(Refusal refusal, MPI_Fint const* communicator, int* ierror);
/// The same with the error handler of the window.
void refuse_on_window(Refusal refusal, MPI_Win win, int* ierror);

}  // namespace mpix::fortran
