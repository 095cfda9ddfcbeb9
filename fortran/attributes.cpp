/// Attributes that Fortran sets. MPI keeps what its Fortran interface sets as integers, of which C gets the
/// address, and sets it without a call that libmpix_rma could see. So these calls are defined here, in front
/// of MPI's: what is an attribute of the library is set as C sets it.
///
/// The names are those that gfortran and flang give to the calls of mpif.h and module mpi, and that Open MPI
/// gives to those of mpi_f08. Another MPI's mpi_f08 adds its names here.
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

/// The keys stay the same from MPI_Init to MPI_Finalize, outside of which these calls are errors.
bool is_ours(int keyval) {
  static std::array<int, 8> const keys{
      MPIX_RMA_ATOMICITY,      MPIX_RMA_ORDERING,      MPIX_RMA_BLOCKING,         MPIX_RMA_REMOTE_COMPLETION,
      MPIX_RMA_COMMUNICATABLE, MPIX_RMA_ACCUMULATE_OP, MPIX_RMA_ACCUMULATE_SCALE, MPIX_RMA_NOTIFY};
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

/// MPIX_RMA_OP_VALUE of the modules.
MPIX_RMA_API MPI_Aint mpix_rma_op_value_f(MPI_Fint const* op) {
  return reinterpret_cast<MPI_Aint>(MPIX_RMA_OP_VALUE(MPI_Op_f2c(*op)));
}

}  // extern "C"
