/// Checks whether a handle refers to a communicator. MPI does not define calls on a freed communicator.
#include <mpi.h>

#include <mutex>

#include "datatype/handle.hpp"
#include "hosts/public-mpi/operations.hpp"

namespace mpixrma::host {

namespace {

#ifdef OPEN_MPI

/// The handle is a pointer, which may dangle, so it is only compared with the handles of the communicators'
/// Fortran numbers. A new communicator gets the lowest free number, so a long gap ends the search.
bool is_live(MPI_Comm comm) {
  constexpr MPI_Fint longest_gap = 1 << 16;
  for (MPI_Fint number = 0, gap = 0; gap < longest_gap; ++number) {
    MPI_Comm const known = PMPI_Comm_f2c(number);
    if (known == comm) return true;
    gap = known == nullptr || known == MPI_COMM_NULL ? gap + 1 : 0;
  }
  return false;
}

#else

/// Makes errors of calls without a valid object return instead of abort.
class ErrorsReturnScope {
 public:
  explicit ErrorsReturnScope(MPI_Comm comm) : comm_(comm) {
    PMPI_Comm_get_errhandler(comm_, &before_);
    PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }
  ErrorsReturnScope(ErrorsReturnScope const&) = delete;
  ErrorsReturnScope& operator=(ErrorsReturnScope const&) = delete;
  ~ErrorsReturnScope() {
    PMPI_Comm_set_errhandler(comm_, before_);
    PMPI_Errhandler_free(&before_);
  }

 private:
  MPI_Comm comm_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

/// The handle is an index, and MPI reports whether it is in use.
bool is_live(MPI_Comm comm) {
  static std::mutex errhandler_mutex;
  std::lock_guard const held(errhandler_mutex);
  ErrorsReturnScope const world(MPI_COMM_WORLD);
  ErrorsReturnScope const self(MPI_COMM_SELF);
  int inter = 0;
  return PMPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS;
}

#endif

}  // namespace

int communicator_is_live(mpix_handle_t number) {
  auto const comm = handle_from<MPI_Comm>(number);
  return number != 0 && comm != MPI_COMM_NULL && is_live(comm) ? 1 : 0;
}

}  // namespace mpixrma::host
