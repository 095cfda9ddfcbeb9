/*
 * A profiling tool that defines MPI_Comm_set_attr stands in front of the library: attributes that are set on
 * a communicator in use count all the same.
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

/* What 12 in this process's own memory becomes with an accumulate of 10. */
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
  MPI_Comm_set_attr(comm, MPIX_RMA_ACCUMULATE_OP, MPIX_RMA_OP_VALUE(MPI_PROD));
  expect(calls, 1, "calls that the tool saw");
  expect(accumulated(&comm), 120, "with an operation");
  MPI_Comm_set_attr(comm, MPIX_RMA_ACCUMULATE_OP, MPIX_RMA_OP_VALUE(MPI_MAX));
  expect(accumulated(&comm), 12, "with another operation");
  MPI_Comm_delete_attr(comm, MPIX_RMA_ACCUMULATE_OP);
  expect(accumulated(&comm), 22, "without the attribute again");
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
