/// Attributes set from Fortran. MPI stores such an attribute as an integer, and C code that reads it gets a
/// pointer to that integer. MPI's Fortran interface makes no C call that libmpix_rma could intercept, so
/// these functions replace MPI's own, by link order, and set the library's attributes as C does.
///
/// The names are the symbols that gfortran and flang generate for mpif.h and module mpi, and those of Open
/// MPI's mpi_f08. The symbols of another MPI's mpi_f08 have to be added here.
#include <mpix_rma.h>

#include <algorithm>
#include <array>
#include <cstdint>

extern "C" {
void pmpi_comm_set_attr_(MPI_Fint*, MPI_Fint*, MPI_Aint*, MPI_Fint*);
void pmpi_comm_set_attr_f08_(MPI_Fint*, MPI_Fint*, MPI_Aint*, MPI_Fint*);
void pmpi_attr_put_(MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);
void pmpi_comm_free_keyval_(MPI_Fint*, MPI_Fint*);
void pmpi_comm_free_keyval_f08_(MPI_Fint*, MPI_Fint*);
void pmpi_keyval_free_(MPI_Fint*, MPI_Fint*);
}

namespace {

/// Not cached: there are no keys until the engine is open.
bool is_ours(int keyval) {
  std::array<int, 8> const keys{MPIX_RMA_KEY_ATOMICITY,        MPIX_RMA_KEY_ORDERING,
                                MPIX_RMA_KEY_BLOCKING,         MPIX_RMA_KEY_REMOTE_COMPLETION,
                                MPIX_RMA_KEY_COMMUNICATABLE,   MPIX_RMA_KEY_ACCUMULATE_OP,
                                MPIX_RMA_KEY_ACCUMULATE_SCALE, MPIX_RMA_KEY_NOTIFY};
  return keyval != MPI_KEYVAL_INVALID && std::find(keys.begin(), keys.end(), keyval) != keys.end();
}

template <typename Value>
void set(MPI_Fint* comm, MPI_Fint* keyval, Value* value, MPI_Fint* ierror,
         void (*other)(MPI_Fint*, MPI_Fint*, Value*, MPI_Fint*)) {
  if (!is_ours(*keyval)) return other(comm, keyval, value, ierror);
  int const code = MPI_Comm_set_attr(MPI_Comm_f2c(*comm), *keyval,
                                     reinterpret_cast<void*>(static_cast<std::intptr_t>(*value)));
  if (ierror != nullptr) *ierror = code;
}

void free_key(MPI_Fint* keyval, MPI_Fint* ierror, void (*other)(MPI_Fint*, MPI_Fint*)) {
  if (!is_ours(*keyval)) return other(keyval, ierror);
  int const code = MPI_Comm_free_keyval(keyval);
  if (ierror != nullptr) *ierror = code;
}

}  // namespace

extern "C" {

MPIX_RMA_API void mpi_comm_set_attr_(MPI_Fint* comm, MPI_Fint* keyval, MPI_Aint* value, MPI_Fint* ierror) {
  set(comm, keyval, value, ierror, &pmpi_comm_set_attr_);
}

MPIX_RMA_API void mpi_comm_set_attr_f08_(MPI_Fint* comm, MPI_Fint* keyval, MPI_Aint* value,
                                         MPI_Fint* ierror) {
  set(comm, keyval, value, ierror, &pmpi_comm_set_attr_f08_);
}

MPIX_RMA_API void mpi_attr_put_(MPI_Fint* comm, MPI_Fint* keyval, MPI_Fint* value, MPI_Fint* ierror) {
  set(comm, keyval, value, ierror, &pmpi_attr_put_);
}

MPIX_RMA_API void mpi_comm_free_keyval_(MPI_Fint* keyval, MPI_Fint* ierror) {
  free_key(keyval, ierror, &pmpi_comm_free_keyval_);
}

MPIX_RMA_API void mpi_comm_free_keyval_f08_(MPI_Fint* keyval, MPI_Fint* ierror) {
  free_key(keyval, ierror, &pmpi_comm_free_keyval_f08_);
}

MPIX_RMA_API void mpi_keyval_free_(MPI_Fint* keyval, MPI_Fint* ierror) {
  free_key(keyval, ierror, &pmpi_keyval_free_);
}

/// Implements MPIX_RMA_OP_VALUE of the Fortran modules.
MPIX_RMA_API MPI_Aint mpix_rma_op_value_f(MPI_Fint const* op) {
  return reinterpret_cast<MPI_Aint>(MPIX_RMA_OP_VALUE(MPI_Op_f2c(*op)));
}

}  // extern "C"
