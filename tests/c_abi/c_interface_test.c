/* The interface as a C program sees it. */
#include <mpi.h>
#include <mpix_rma.h>
#include <stdio.h>
#include <stdlib.h>

/* Programs written for MPI-1 call MPI_Keyval_free. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define REQUIRE(condition)                                    \
  do {                                                        \
    if (!(condition)) {                                       \
      fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 1);                           \
    }                                                         \
  } while (0)

static MPI_Comm world;
static int rank, size, next;
static void** bases; /* of 64 bytes at each rank */

static int refuses_to_free(int key, int (*free_key)(int*)) {
  int copy = key;
  int error_class = MPI_SUCCESS;
  MPI_Error_class(free_key(&copy), &error_class);
  return error_class == MPI_ERR_KEYVAL && copy == key;
}

static void put_and_complete(void) {
  int value = 10 + rank;
  MPI_Request request;
  REQUIRE(MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_INT, next, bases[next], 1, MPI_INT, &request, &world,
                        NULL) == MPI_SUCCESS);
  REQUIRE(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  REQUIRE(MPIX_RMA_Complete(&world, MPIX_ALL_RANKS) == MPI_SUCCESS);
  MPI_Barrier(world);
  REQUIRE(*(int*)bases[rank] == 10 + (rank + size - 1) % size);
  MPI_Barrier(world);
}

/* Attributes through a void pointer, as in the prototypes that the proposal prints. */
static void use_attributes_of_calls(void) {
  MPIX_RMA_Attributes complete = {.set = MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_REMOTE_COMPLETION};
  void* attributes = &complete;
  long add = 1, sum = 0;
  long* words = (long*)bases[next] + 1;
  *((long*)bases[rank] + 1) = 40;
  MPI_Barrier(world);
  REQUIRE(MPIX_RMA_rmw(MPIX_RMW_SUM, &add, 1, MPI_LONG, NULL, next, (MPI_Aint)words, NULL, &world,
                       attributes) == MPI_SUCCESS);
  REQUIRE(MPIX_RMA_rmw2(MPIX_RMW2_COMP_SWAP_LT, &add, 1, MPI_LONG, &add, &sum, next, (MPI_Aint)words, NULL,
                        &world, attributes) == MPI_SUCCESS);
  REQUIRE(sum == 41);
  REQUIRE(MPIX_RMA_xfer(MPIX_RMA_GET, &sum, 1, MPI_LONG, next, words, 1, MPI_LONG, NULL, &world,
                        attributes) == MPI_SUCCESS);
  REQUIRE(sum == 1);
  MPI_Barrier(world);
}

/* The keys belong to the library: neither call frees them; the program's own keys can be freed. */
static void free_keys(MPI_Comm ordered) {
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(ordered, MPI_ERRORS_RETURN);
  REQUIRE(refuses_to_free(MPIX_RMA_KEY_ORDERING, MPI_Comm_free_keyval));
  REQUIRE(refuses_to_free(MPIX_RMA_KEY_NOTIFY, MPI_Keyval_free));
  MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
  void* set = NULL;
  int found = 0;
  REQUIRE(MPI_Comm_get_attr(ordered, MPIX_RMA_KEY_ORDERING, &set, &found) == MPI_SUCCESS);
  REQUIRE(found && set == MPIX_RMA_ON);
  int program_key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &program_key, NULL);
  REQUIRE(MPI_Comm_free_keyval(&program_key) == MPI_SUCCESS && program_key == MPI_KEYVAL_INVALID);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &program_key, NULL);
  REQUIRE(MPI_Keyval_free(&program_key) == MPI_SUCCESS && program_key == MPI_KEYVAL_INVALID);
}

/* The forms with their own names in C, attributes on request objects and communicators. */
static void use_named_forms(MPI_Comm ordered) {
  MPIX_Rma_request own = MPIX_RMA_REQUEST_NULL;
  MPI_Request request;
  REQUIRE(MPIX_Rma_request_set_attr(&own, MPIX_RMA_KEY_ACCUMULATE_OP, MPIX_RMA_OP_VALUE(MPI_MAX)) == MPI_SUCCESS);
  int value = 1000 + rank;
  REQUIRE(MPIX_RMA_xfer_rma(MPIX_RMA_ACCUMULATE, &value, 1, MPI_INT, next, bases[next], 1, MPI_INT, &own,
                            &ordered) == MPI_SUCCESS);
  REQUIRE(MPIX_Rma_request_wait(&own) == MPI_SUCCESS && own != MPIX_RMA_REQUEST_NULL);
  REQUIRE(MPIX_Rma_request_free(&own) == MPI_SUCCESS);
  MPIX_RMA_Attributes blocking = {.set = MPIX_RMA_ATTR_BLOCKING};
  int got = 0, none = 0;
  REQUIRE(MPIX_RMA_rmw2(MPIX_RMW2_COMP_SWAP_E, &value, 1, MPI_INT, &none, &got, next, (MPI_Aint)bases[next],
                        NULL, &ordered, &blocking) == MPI_SUCCESS);
  REQUIRE(got == 1000 + rank);
  REQUIRE(MPIX_RMA_xfer_req(MPIX_RMA_GET, &got, 1, MPI_INT, next, bases[next], 1, MPI_INT, &request,
                            &ordered) == MPI_SUCCESS);
  REQUIRE(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && got == 0);
  MPI_Count const one = 1;
  value = 500 + rank;
  REQUIRE(MPIX_RMA_xfer_c(MPIX_RMA_PUT, &value, one, MPI_INT, next, bases[next], one, MPI_INT, NULL, &ordered,
                          &blocking) == MPI_SUCCESS);
  REQUIRE(MPIX_RMA_rmw_c(MPIX_RMW_INC, NULL, one, MPI_INT, &got, next, (MPI_Aint)bases[next], NULL, &ordered,
                         &blocking) == MPI_SUCCESS);
  REQUIRE(got == 500 + rank);
}

/* A plan that knows the location of memory which is not freed before MPI_Finalize. Returns it. */
static MPIX_RMA_Plan use_plan(void* kept) {
  MPIX_RMA_Plan plan = MPIX_RMA_PLAN_NULL;
  REQUIRE(MPIX_RMA_Plan_create(MPIX_RMA_PUT, MPI_INT, rank, MPI_INT, world, NULL, &plan) == MPI_SUCCESS);
  for (int value = 1; value <= 3; ++value) {
    REQUIRE(MPIX_RMA_Plan_issue(plan, &value, 1, kept, 1, NULL) == MPI_SUCCESS);
  }
  REQUIRE(MPIX_RMA_Complete(&world, rank) == MPI_SUCCESS && *(int*)kept == 3);
  return plan;
}

int main(int argc, char** argv) {
  /* Before MPI_Init there is no error handler: one line on stderr, and an error code. */
  void* early = NULL;
  REQUIRE(MPIX_RMA_Allocate_local(8, MPI_INFO_NULL, &early) == MPI_ERR_OTHER);
  MPI_Init(&argc, &argv);
  world = MPI_COMM_WORLD;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  next = (rank + 1) % size;
  bases = malloc(sizeof(void*) * (size_t)size);
  REQUIRE(MPIX_RMA_Allocate(64, MPI_INFO_NULL, world, NULL, bases) == MPI_SUCCESS);
  put_and_complete();
  use_attributes_of_calls();
  MPI_Comm ordered;
  MPI_Comm_dup(world, &ordered);
  REQUIRE(MPI_Comm_set_attr(ordered, MPIX_RMA_KEY_ORDERING, MPIX_RMA_ON) == MPI_SUCCESS);
  free_keys(ordered);
  use_named_forms(ordered);
  MPI_Comm_free(&ordered);
  REQUIRE(MPIX_RMA_Free(bases[rank], world) == MPI_SUCCESS);
  free(bases);
  int value = 0;
  void* kept = NULL;
  REQUIRE(MPIX_RMA_Allocate_local(64, MPI_INFO_NULL, &kept) == MPI_SUCCESS);
  MPIX_RMA_Plan const plan = use_plan(kept);
  MPI_Finalize();
  REQUIRE(MPIX_RMA_Free_local(&value) == MPI_ERR_OTHER);
  REQUIRE(MPIX_RMA_Plan_issue(plan, &value, 1, kept, 1, NULL) == MPI_ERR_OTHER);
  return 0;
}
