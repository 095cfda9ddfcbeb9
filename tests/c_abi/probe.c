/* Prints the result of the library's first call. */
#include <mpi.h>
#include <mpix_rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* From here on the process cannot open files. */
static void use_up_descriptors(void) {
  int const next = dup(0);
  close(next);
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = (rlim_t)next;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (argc > 1) use_up_descriptors();
  void* memory = NULL;
  int code = MPIX_RMA_Allocate_local(8, MPI_INFO_NULL, &memory);
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  int address = 0, transport = 0;
  MPIX_RMA_Error_class(MPIX_RMA_ERR_ADDRESS, &address);
  MPIX_RMA_Error_class(MPIX_RMA_ERR_TRANSPORT, &transport);
  if (error_class == transport)
    printf("class transport\n");
  else
    printf("class %d\n", error_class);
  MPI_Finalize();
  return 0;
}
