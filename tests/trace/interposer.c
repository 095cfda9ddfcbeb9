/*
 * A tool that is preloaded: counts the calls of transfers and read-modify-writes with data, and their bytes,
 * by target. MPI_Finalize writes the counts of each rank to the file PREFIX.RANK. The environment variable
 * COUNTED_CALLS has PREFIX, by default "calls".
 */
#include <mpix_rma.h>
#include <mpix_rma/profiling.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { max_ranks = 64 };
static long long calls[max_ranks], bytes[max_ranks];

static void count(int rank, MPI_Count elements, MPI_Datatype type) {
  int size = 0;
  if (rank < 0 || rank >= max_ranks || elements <= 0) return;
  PMPI_Type_size(type, &size);
  __atomic_fetch_add(&calls[rank], 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&bytes[rank], (long long)elements * size, __ATOMIC_RELAXED);
}

#define XFER(NAME, COUNT, MORE_PARAMETERS, MORE)                                                          \
  int NAME(MPIX_RMA_Op op, void* origin, COUNT origin_count, MPI_Datatype origin_type, int rank,          \
           void* target, COUNT target_count, MPI_Datatype target_type, MORE_PARAMETERS) {                 \
    count(rank, target_count, target_type);                                                               \
    return P##NAME(op, origin, origin_count, origin_type, rank, target, target_count, target_type, MORE); \
  }
#define RMW(NAME, COUNT, MORE_PARAMETERS, MORE)                                                            \
  int NAME(MPIX_RMW_Op op, const void* operand, COUNT elements, MPI_Datatype type, void* result, int rank, \
           MPI_Aint target, MORE_PARAMETERS) {                                                             \
    count(rank, elements, type);                                                                           \
    return P##NAME(op, operand, elements, type, result, rank, target, MORE);                               \
  }
#define RMW2(NAME, COUNT, MORE_PARAMETERS, MORE)                                                          \
  int NAME(MPIX_RMW2_Op op, const void* operand, COUNT elements, MPI_Datatype type, const void* operand2, \
           void* result, int rank, MPI_Aint target, MORE_PARAMETERS) {                                    \
    count(rank, elements, type);                                                                          \
    return P##NAME(op, operand, elements, type, operand2, result, rank, target, MORE);                    \
  }
#define LIST(...) __VA_ARGS__
#define WITH_ATTRIBUTES(REQUEST) LIST(REQUEST* request, MPI_Comm* comm, const MPIX_RMA_Attributes* attributes)
#define WITHOUT(REQUEST) LIST(REQUEST* request, MPI_Comm* comm)
#define THREE LIST(request, comm, attributes)
#define TWO LIST(request, comm)

XFER(MPIX_RMA_xfer, int, WITH_ATTRIBUTES(MPI_Request), THREE)
XFER(MPIX_RMA_xfer_req, int, WITHOUT(MPI_Request), TWO)
XFER(MPIX_RMA_xfer_rma, int, WITHOUT(MPIX_Rma_request), TWO)
XFER(MPIX_RMA_xfer_c, MPI_Count, WITH_ATTRIBUTES(MPI_Request), THREE)
XFER(MPIX_RMA_xfer_req_c, MPI_Count, WITHOUT(MPI_Request), TWO)
XFER(MPIX_RMA_xfer_rma_c, MPI_Count, WITHOUT(MPIX_Rma_request), TWO)
RMW(MPIX_RMA_rmw, int, WITH_ATTRIBUTES(MPI_Request), THREE)
RMW(MPIX_RMA_rmw_req, int, WITHOUT(MPI_Request), TWO)
RMW(MPIX_RMA_rmw_rma, int, WITH_ATTRIBUTES(MPIX_Rmw_request), THREE)
RMW(MPIX_RMA_rmw_c, MPI_Count, WITH_ATTRIBUTES(MPI_Request), THREE)
RMW(MPIX_RMA_rmw_req_c, MPI_Count, WITHOUT(MPI_Request), TWO)
RMW(MPIX_RMA_rmw_rma_c, MPI_Count, WITH_ATTRIBUTES(MPIX_Rmw_request), THREE)
RMW2(MPIX_RMA_rmw2, int, WITH_ATTRIBUTES(MPI_Request), THREE)
RMW2(MPIX_RMA_rmw2_req, int, WITHOUT(MPI_Request), TWO)
RMW2(MPIX_RMA_rmw2_rma, int, WITH_ATTRIBUTES(MPIX_Rmw_request), THREE)
RMW2(MPIX_RMA_rmw2_c, MPI_Count, WITH_ATTRIBUTES(MPI_Request), THREE)
RMW2(MPIX_RMA_rmw2_req_c, MPI_Count, WITHOUT(MPI_Request), TWO)
RMW2(MPIX_RMA_rmw2_rma_c, MPI_Count, WITH_ATTRIBUTES(MPIX_Rmw_request), THREE)

/* Target and datatype of each plan that is not freed. */
enum { max_plans = 16 };
static struct {
  MPIX_RMA_Plan plan;
  int rank;
  MPI_Datatype type;
} plans[max_plans];
static pthread_mutex_t plans_lock = PTHREAD_MUTEX_INITIALIZER;

/* Gives the place of `before`, a plan or MPIX_RMA_PLAN_NULL for any free place, to `after`. */
static void replace_plan(MPIX_RMA_Plan before, MPIX_RMA_Plan after, int rank, MPI_Datatype type) {
  pthread_mutex_lock(&plans_lock);
  int i = 0;
  while (i < max_plans && plans[i].plan != before) ++i;
  if (i == max_plans) abort();
  plans[i].plan = after;
  plans[i].rank = rank;
  plans[i].type = type;
  pthread_mutex_unlock(&plans_lock);
}

static void count_plan(MPIX_RMA_Plan plan, MPI_Count elements) {
  pthread_mutex_lock(&plans_lock);
  for (int i = 0; i < max_plans; ++i)
    if (plans[i].plan == plan) count(plans[i].rank, elements, plans[i].type);
  pthread_mutex_unlock(&plans_lock);
}

int MPIX_RMA_Plan_create(MPIX_RMA_Op op, MPI_Datatype origin_type, int rank, MPI_Datatype target_type,
                         MPI_Comm comm, const MPIX_RMA_Attributes* attributes, MPIX_RMA_Plan* plan) {
  const int error = PMPIX_RMA_Plan_create(op, origin_type, rank, target_type, comm, attributes, plan);
  if (error == MPI_SUCCESS) replace_plan(MPIX_RMA_PLAN_NULL, *plan, rank, target_type);
  return error;
}

int MPIX_RMA_Plan_free(MPIX_RMA_Plan* plan) {
  replace_plan(*plan, MPIX_RMA_PLAN_NULL, 0, MPI_DATATYPE_NULL);
  return PMPIX_RMA_Plan_free(plan);
}

#define PLAN_ISSUE(NAME, COUNT)                                                                    \
  int NAME(MPIX_RMA_Plan plan, void* origin, COUNT origin_count, void* target, COUNT target_count, \
           MPI_Request* request) {                                                                 \
    count_plan(plan, target_count);                                                                \
    return P##NAME(plan, origin, origin_count, target, target_count, request);                     \
  }
PLAN_ISSUE(MPIX_RMA_Plan_issue, int)
PLAN_ISSUE(MPIX_RMA_Plan_issue_c, MPI_Count)

int MPI_Finalize(void) {
  char name[512];
  const char* const prefix = getenv("COUNTED_CALLS");
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(name, sizeof name, "%s.%d", prefix != NULL ? prefix : "calls", rank);
  FILE* const file = fopen(name, "w");
  for (int target = 0; file != NULL && target < max_ranks; ++target)
    if (calls[target] != 0) fprintf(file, "%d %lld %lld\n", target, calls[target], bytes[target]);
  if (file == NULL || fclose(file) != 0) perror(name);
  return PMPI_Finalize();
}
