/*
 * A profiling tool that defines MPI_Comm_set_attr and MPI_Comm_free_keyval comes before the library:
 * attributes set on a communicator in use take effect nevertheless, also after the program has freed a key.
 */
#include <mpi.h>
#include <mpix_rma.h>
#include <stdio.h>
#include <stdlib.h>

static int calls;

int MPI_Comm_set_attr(MPI_Comm comm, int keyval, void* value) {
  ++calls;
  return PMPI_Comm_set_attr(comm, keyval, value);
}

int MPI_Comm_free_keyval(int* keyval) {
  ++calls;
  return PMPI_Comm_free_keyval(keyval);
}

/* Returns the result of an accumulate of 10 onto 12 in this process's own memory. */
static int accumulated(MPI_Comm* comm) {
  static int target;
  int ten = 10;
  target = 12;
  if (MPIX_RMA_xfer_req(MPIX_RMA_ACCUMULATE, &ten, 1, MPI_INT, 0, &target, 1, MPI_INT, NULL, comm) !=
          MPI_SUCCESS ||
      MPIX_RMA_Complete(comm, 0) != MPI_SUCCESS) {
    return -1;
  }
  return target;
}

static void expect(int got, int expected, const char* what) {
  if (got != expected) {
    fprintf(stderr, "%s: %d instead of %d\n", what, got, expected);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  expect(accumulated(&comm), 22, "without an attribute");
  MPI_Comm_set_attr(comm, MPIX_RMA_KEY_ACCUMULATE_OP, MPIX_RMA_OP_VALUE(MPI_PROD));
  expect(calls, 1, "calls that the tool saw");
  expect(accumulated(&comm), 120, "with an operation");
  MPI_Comm_set_attr(comm, MPIX_RMA_KEY_ACCUMULATE_OP, MPIX_RMA_OP_VALUE(MPI_MAX));
  expect(accumulated(&comm), 12, "with another operation");
  MPI_Comm_delete_attr(comm, MPIX_RMA_KEY_ACCUMULATE_OP);
  expect(accumulated(&comm), 22, "without the attribute again");
  int key = MPIX_RMA_KEY_ACCUMULATE_OP;
  MPI_Comm_free_keyval(&key);
  expect(calls, 3, "calls that the tool saw in the end");
  expect(key, MPI_KEYVAL_INVALID, "the key that was freed");
  int other = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &other, NULL);
  expect(other != MPIX_RMA_KEY_ACCUMULATE_OP, 1, "a key of the program's own");
  MPI_Comm_set_attr(comm, other, MPIX_RMA_OP_VALUE(MPI_PROD));
  expect(accumulated(&comm), 22, "with an attribute of the program's own");
  MPI_Comm_set_attr(comm, MPIX_RMA_KEY_ACCUMULATE_OP, MPIX_RMA_OP_VALUE(MPI_PROD));
  expect(accumulated(&comm), 120, "with an operation under the freed key");
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
