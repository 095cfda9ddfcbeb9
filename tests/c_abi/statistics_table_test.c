/*
 * The table that MPI_Finalize prints with MPIX_RMA_STATISTICS, to a file or to standard error.
 *
 * usage: statistics_table_test file|stderr|nowhere    (2 ranks of one host)
 */
#include <fcntl.h>
#include <mpi.h>
#include <mpix_rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char* const expected[2] = {
    "[0]    rank  path              operations               bytes\n"
    "[0]       0  direct                     2                  32\n"
    "[0]       1  direct                     3                  24\n"
    "[0]     all  direct                     5                  56\n",
    "[1]    rank  path              operations               bytes\n"
    "[1]       0  direct                  1000               16000\n"
    "[1]     all  direct                  1000               16000\n"};

static int check(const char* file, const char* wanted) {
  char found[1024] = "";
  FILE* const stream = fopen(file, "r");
  if (stream == NULL) return 1;
  found[fread(found, 1, sizeof found - 1, stream)] = '\0';
  fclose(stream);
  if (strcmp(found, wanted) == 0) return 0;
  fprintf(stdout, "%s has\n%sinstead of\n%s", file, found, wanted);
  return 1;
}

static void operate(int rank) {
  MPI_Comm world = MPI_COMM_WORLD;
  void* bases[2];
  double values[2] = {1, 2};
  MPIX_RMA_Allocate(64, MPI_INFO_NULL, world, NULL, bases);
  if (rank == 0) {
    for (int i = 0; i < 2; ++i)
      MPIX_RMA_xfer(MPIX_RMA_GET, values, 2, MPI_DOUBLE, 0, bases[0], 2, MPI_DOUBLE, NULL, &world, NULL);
    for (int i = 0; i < 3; ++i)
      MPIX_RMA_xfer(MPIX_RMA_PUT, values, 1, MPI_DOUBLE, 1, bases[1], 1, MPI_DOUBLE, NULL, &world, NULL);
  } else {
    for (int i = 0; i < 1000; ++i)
      MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, values, 2, MPI_DOUBLE, 0, bases[0], 2, MPI_DOUBLE, NULL, &world,
                    NULL);
  }
  MPIX_RMA_Complete(&world, MPIX_ALL_RANKS);
  MPI_Barrier(world);
  MPIX_RMA_Free(bases[rank], world);
}

int main(int argc, char** argv) {
  char directory[] = "statistics_XXXXXX";
  char file[64];
  int rank = 0;
  const char* const where = argc > 1 ? argv[1] : "nowhere";
  if (mkdtemp(directory) == NULL) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(file, sizeof file, "table.%d", rank);
  if (chdir(directory) != 0) return 2;
  /* Read when the library is set up, at its first call. */
  setenv("MPIX_RMA_STATISTICS",
         strcmp(where, "file") == 0     ? "table.%r"
         : strcmp(where, "stderr") == 0 ? "1"
                                        : "0",
         1);
  operate(rank);
  if (strcmp(where, "file") != 0) {
    const int fd = open(file, O_WRONLY | O_CREAT, 0600);
    dup2(fd, STDERR_FILENO);
    close(fd);
  }
  MPI_Finalize();
  const int failed = check(file, strcmp(where, "nowhere") == 0 ? "" : expected[rank]);
  unlink(file);
  /* A file of another name, such as "0", keeps the directory. */
  return chdir("..") != 0 || rmdir(directory) != 0 || failed;
}
