/* A program that is not linked with the library and loads it by dlopen(), as plugins do.
 *
 * usage: dlopen_test LIBRARY before|after|without
 *
 * before   before MPI_Init, which then finds the component
 * after    after MPI_Init, which has found the component by the environment: calls fail with the transport
 *          class until MPIX_RMA_Allocate has opened the engines
 * without  after MPI_Init, which has found no component: calls fail with the transport class
 *
 * LIBRARY may be the one for Fortran. Then its function that sets attributes is tested as well.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/mpix_rma.h"

/* With the types that the header declares. */
static struct {
  __typeof__(&MPIX_RMA_Allocate) allocate;
  __typeof__(&MPIX_RMA_Free) release;
  __typeof__(&MPIX_RMA_xfer) transfer;
  __typeof__(&MPIX_RMA_Complete) complete;
  __typeof__(&MPIX_RMA_Error_class) error_class;
  __typeof__(&MPIX_RMA_Keyval) keyval;
  void (*set_attribute)(MPI_Fint*, MPI_Fint*, MPI_Aint*, MPI_Fint*); /* Fortran's, or null */
} rma;

static MPI_Comm world = MPI_COMM_WORLD;
static int failures = 0;

static void expect(int right, int line) {
  if (right) return;
  fprintf(stderr, "line %d: failed\n", line);
  ++failures;
}
#define EXPECT(condition) expect(condition, __LINE__)

static void* symbol(void* library, const char* name) {
  void* const found = dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return found;
}

static void load(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  *(void**)&rma.allocate = symbol(library, "MPIX_RMA_Allocate");
  *(void**)&rma.release = symbol(library, "MPIX_RMA_Free");
  *(void**)&rma.transfer = symbol(library, "MPIX_RMA_xfer");
  *(void**)&rma.complete = symbol(library, "MPIX_RMA_Complete");
  *(void**)&rma.error_class = symbol(library, "MPIX_RMA_Error_class");
  *(void**)&rma.keyval = symbol(library, "MPIX_RMA_Keyval");
  *(void**)&rma.set_attribute = dlsym(library, "mpi_comm_set_attr_");
}

/* Sets an attribute as Fortran does, and returns the value that C gets. */
static void* set_and_get(int keyval, void* set) {
  MPI_Fint comm = MPI_Comm_c2f(world);
  MPI_Fint key = keyval;
  MPI_Fint code = MPI_ERR_OTHER;
  MPI_Aint value = (MPI_Aint)set;
  void* got = NULL;
  int flag = 0;
  rma.set_attribute(&comm, &key, &value, &code);
  EXPECT(code == MPI_SUCCESS);
  MPI_Comm_get_attr(world, keyval, &got, &flag);
  EXPECT(flag);
  MPI_Comm_delete_attr(world, keyval);
  return got;
}

/* C gets a pointer to the value of the program's attribute. */
static void expect_attribute_of_program(void) {
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
  EXPECT(set_and_get(keyval, MPIX_RMA_ON) != MPIX_RMA_ON);
  MPI_Comm_free_keyval(&keyval);
}

/* The library's attribute has its value in Fortran and in C. */
static void expect_attribute_of_library(void) {
  const int keyval = rma.keyval("MPIX_RMA_KEY_BLOCKING");
  EXPECT(keyval != MPI_KEYVAL_INVALID);
  EXPECT(set_and_get(keyval, MPIX_RMA_ON) == MPIX_RMA_ON);
}

struct round {
  long* target;
  int rank;
  long first;
};

/* Several transfers, so that the later ones use the cached state of the first one. */
static void* put_and_get(void* argument) {
  const struct round* const round = argument;
  for (long i = 0; i < 100; ++i) {
    long value = round->first + i;
    long got = 0;
    EXPECT(rma.transfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, round->rank, round->target, 1, MPI_LONG, NULL,
                        &world, NULL) == MPI_SUCCESS);
    EXPECT(rma.complete(&world, round->rank) == MPI_SUCCESS);
    EXPECT(rma.transfer(MPIX_RMA_GET, &got, 1, MPI_LONG, round->rank, round->target, 1, MPI_LONG, NULL,
                        &world, NULL) == MPI_SUCCESS);
    EXPECT(rma.complete(&world, round->rank) == MPI_SUCCESS);
    EXPECT(got == value);
  }
  return NULL;
}

/* A process without an engine cannot transfer; only a collective call can open the engines. */
static void expect_transport_error(int rank) {
  int transport = 0;
  int class = 0;
  long value = 0;
  EXPECT(rma.error_class(MPIX_RMA_ERR_TRANSPORT, &transport) == MPI_SUCCESS);
  const int code =
      rma.transfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, rank, &value, 1, MPI_LONG, NULL, &world, NULL);
  MPI_Error_class(code, &class);
  EXPECT(class == transport);
}

static void communicate(int rank, int size) {
  void** const bases = calloc((size_t)size, sizeof *bases);
  EXPECT(rma.allocate(2 * sizeof(long), MPI_INFO_NULL, world, NULL, bases) == MPI_SUCCESS);
  const int next = (rank + 1) % size;
  struct round round = {bases[next], next, 1000 * rank};
  put_and_get(&round);
  /* In a separate thread. */
  pthread_t thread;
  round.first += 500;
  pthread_create(&thread, NULL, put_and_get, &round);
  pthread_join(thread, NULL);
  MPI_Barrier(world);
  EXPECT(*(long*)bases[rank] == 1000 * ((rank + size - 1) % size) + 599);
  EXPECT(rma.release(bases[rank], world) == MPI_SUCCESS);
  free(bases);
}

static void fail(int rank) {
  int transport = 0;
  void* bases[64];
  EXPECT(rma.error_class(MPIX_RMA_ERR_TRANSPORT, &transport) == MPI_SUCCESS);
  int class = 0;
  MPI_Error_class(rma.allocate(64, MPI_INFO_NULL, world, NULL, bases), &class);
  EXPECT(class == transport);
  expect_transport_error(rank);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int before = strcmp(argv[2], "before") == 0;
  if (before) load(argv[1]);
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  if (!before) load(argv[1]);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  if (strcmp(argv[2], "without") == 0) {
    fail(rank);
  } else {
    if (!before) expect_transport_error(rank);
    if (rma.set_attribute != NULL) expect_attribute_of_program(); /* while the library has no keys */
    communicate(rank, size);
    if (rma.set_attribute != NULL) expect_attribute_of_library();
  }
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, world);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
