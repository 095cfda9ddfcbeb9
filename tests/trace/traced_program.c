/*
 * Makes the same calls to every rank: transfers, also by a plan, and read-modify-writes in several forms,
 * with and without data.
 *
 * usage: traced_program [killed | threads | many]
 *   killed: the last rank is killed when all have completed their calls
 *   threads: two threads of each rank make the calls at once
 *   many: a hundred times as often
 */
#include <mpix_rma.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { rounds = 20, elements = 100, max_ranks = 64 };

static void require(int is_true, const char* what) {
  if (is_true) return;
  fprintf(stderr, "traced_program: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static int issue_by_plan(MPI_Comm world, int rank, long* there, long* values) {
  MPIX_RMA_Plan plan = MPIX_RMA_PLAN_NULL;
  int failed = MPIX_RMA_Plan_create(MPIX_RMA_PUT, MPI_LONG, rank, MPI_LONG, world, NULL, &plan);
  failed |= MPIX_RMA_Plan_issue(plan, values, 1, there, 1, NULL);
  failed |= MPIX_RMA_Plan_issue_c(plan, values, elements, there, elements, NULL);
  failed |= MPIX_RMA_Plan_issue(plan, values, 0, there, 0, NULL); /* not an operation */
  return failed | MPIX_RMA_Plan_free(&plan);
}

static void call_each(MPI_Comm* world, int rank, long* there) {
  /* In use until the operations are complete. */
  static _Thread_local long values[elements], previous;
  static const long one = 1, none = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  int failed = 0;
  failed |= MPIX_RMA_xfer(MPIX_RMA_PUT, values, 1, MPI_LONG, rank, there, 1, MPI_LONG, NULL, world, NULL);
  failed |= MPIX_RMA_xfer_c(MPIX_RMA_PUT, values, elements, MPI_LONG, rank, there, elements, MPI_LONG, NULL,
                            world, NULL);
  failed |= MPIX_RMA_xfer_req(MPIX_RMA_GET, values, elements, MPI_LONG, rank, there, elements, MPI_LONG,
                              &request, world);
  failed |= MPI_Wait(&request, MPI_STATUS_IGNORE);
  failed |=
      MPIX_RMA_xfer_rma(MPIX_RMA_ACCUMULATE, values, 3, MPI_LONG, rank, there, 3, MPI_LONG, NULL, world);
  failed |=
      MPIX_RMA_rmw(MPIX_RMW_SUM, &one, 1, MPI_LONG, &previous, rank, (MPI_Aint)there, NULL, world, NULL);
  failed |= MPIX_RMA_rmw2(MPIX_RMW2_COMP_SWAP_E, &one, 1, MPI_LONG, &none, &previous, rank, (MPI_Aint)there,
                          NULL, world, NULL);
  failed |=
      MPIX_RMA_rmw(MPIX_RMW_BOR, &one, 1, MPI_LONG, &previous, rank, (MPI_Aint)there, NULL, world, NULL);
  failed |= issue_by_plan(*world, rank, there, values);
  /* Not operations: there are no data, or there is no target. */
  failed |= MPIX_RMA_xfer(MPIX_RMA_PUT, values, 0, MPI_LONG, rank, there, 0, MPI_LONG, NULL, world, NULL);
  failed |=
      MPIX_RMA_xfer(MPIX_RMA_GET, values, 1, MPI_LONG, MPI_PROC_NULL, there, 1, MPI_LONG, NULL, world, NULL);
  require(failed == MPI_SUCCESS, "a call failed");
}

struct job {
  MPI_Comm world;
  int size;
  int rounds;
  void* bases[max_ranks];
};

static void* call_all(void* argument) {
  struct job* const job = argument;
  MPI_Comm world = job->world;
  for (int round = 0; round < job->rounds; ++round)
    for (int target = 0; target < job->size; ++target) call_each(&world, target, job->bases[target]);
  require(MPIX_RMA_Complete(&world, MPIX_ALL_RANKS) == MPI_SUCCESS, "operations failed");
  return NULL;
}

int main(int argc, char** argv) {
  const char* const how = argc > 1 ? argv[1] : "";
  struct job job = {MPI_COMM_WORLD, 0, strcmp(how, "many") == 0 ? 100 * rounds : rounds, {NULL}};
  pthread_t second;
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  require(level == MPI_THREAD_MULTIPLE, "MPI does not permit threads");
  MPI_Comm world = MPI_COMM_WORLD;
  int rank;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &job.size);
  require(job.size <= max_ranks, "too many ranks");
  require(MPIX_RMA_Allocate(elements * sizeof(long), MPI_INFO_NULL, world, NULL, job.bases) == MPI_SUCCESS,
          "no memory");
  const int two = strcmp(how, "threads") == 0;
  if (two) require(pthread_create(&second, NULL, call_all, &job) == 0, "no thread");
  call_all(&job);
  if (two) pthread_join(second, NULL);
  MPI_Barrier(world);
  if (strcmp(how, "killed") == 0) {
    if (rank == job.size - 1) raise(SIGKILL);
    MPI_Barrier(world);
  }
  require(MPIX_RMA_Free(job.bases[rank], world) == MPI_SUCCESS, "memory is not freed");
  MPI_Finalize();
  return 0;
}
