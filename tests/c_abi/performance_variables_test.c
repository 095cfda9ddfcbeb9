/*
 * The component's performance variables, found and read through MPI_T as a tool does: they grow by what
 * MPIX_RMA_Statistics counts.
 */
#include <mpi.h>
#include <mpix_rma.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/protocols.h"

#define OPERATIONS_NAME(name, NAME, number, means) "osc_mpix_operations_" #name,
#define BYTES_NAME(name, NAME, number, means) "osc_mpix_bytes_" #name,

enum { protocols = MPIX_ENGINE_PROTOCOL_COUNT, variables = 2 * protocols + 2, transfers = 12 };

#define OPERATIONS_NAMES MPIX_ENGINE_PROTOCOLS(OPERATIONS_NAME)
#define BYTES_NAMES MPIX_ENGINE_PROTOCOLS(BYTES_NAME)
static const char* const names[variables] = {OPERATIONS_NAMES BYTES_NAMES "osc_mpix_messages_sent",
                                             "osc_mpix_messages_executed"};

static void expect(unsigned long long got, unsigned long long expected, const char* what) {
  if (got != expected) {
    fprintf(stderr, "%s: %llu instead of %llu\n", what, got, expected);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

/* Indices of this library's variables among all. */
static void find_variables(int indices[variables]) {
  int found = 0, number = 0;
  MPI_T_pvar_get_num(&number);
  for (int i = 0; i < number; ++i) {
    char name[256], description[1024];
    int name_length = sizeof name, description_length = sizeof description;
    int verbosity, class, bind, readonly, continuous, atomic;
    MPI_Datatype type;
    MPI_T_enum enumeration;
    if (MPI_T_pvar_get_info(i, name, &name_length, &verbosity, &class, &type, &enumeration, description,
                            &description_length, &bind, &readonly, &continuous, &atomic) != MPI_SUCCESS) {
      continue;
    }
    for (int j = 0; j < variables; ++j) {
      if (strcmp(name, names[j]) != 0) continue;
      indices[j] = i;
      ++found;
      expect(class == MPI_T_PVAR_CLASS_COUNTER, 1, "a counter");
      expect(type == MPI_UNSIGNED_LONG_LONG, 1, "of unsigned long long");
      expect(bind == MPI_T_BIND_NO_OBJECT, 1, "bound to nothing");
      expect(continuous == 1, 1, "that runs by itself");
      expect(strlen(description) > 0, 1, "with a description");
    }
  }
  expect((unsigned long long)found, variables, "variables found");
}

/* The counter of MPIX_RMA_Statistics that a variable shows. */
static MPI_Count count_of(int variable) {
  MPIX_RMA_Statistic which = MPIX_RMA_STATISTIC_MESSAGES_SENT;
  if (variable < protocols) {
    which = MPIX_RMA_STATISTIC_OPERATIONS;
  } else if (variable < 2 * protocols) {
    which = MPIX_RMA_STATISTIC_BYTES;
  } else if (variable > 2 * protocols) {
    which = MPIX_RMA_STATISTIC_MESSAGES_EXECUTED;
  }
  MPI_Count count = 0;
  const MPIX_RMA_Protocol protocol = (MPIX_RMA_Protocol)(MPIX_RMA_PROTOCOL_DIRECT + variable % protocols);
  expect(MPIX_RMA_Statistics(MPI_COMM_WORLD, MPIX_ALL_RANKS, which, protocol, &count), MPI_SUCCESS,
         "statistics");
  return count;
}

int main(int argc, char** argv) {
  int provided = 0, rank = 0, size = 0, indices[variables];
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handles[variables];
  MPI_Count before[variables], after[variables];
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  find_variables(indices);
  void* bases[64];
  MPIX_RMA_Allocate(4096, MPI_INFO_NULL, world, NULL, bases);
  for (int i = 0; i < variables; ++i) before[i] = count_of(i);
  MPI_T_pvar_session_create(&session);
  for (int i = 0; i < variables; ++i) {
    int count = 0;
    expect(MPI_T_pvar_handle_alloc(session, indices[i], NULL, &handles[i], &count), MPI_SUCCESS, names[i]);
    expect((unsigned long long)count, 1, "values of a variable");
  }
  MPI_Barrier(world);

  long value = rank;
  const int next = (rank + 1) % size;
  for (int i = 0; i < transfers; ++i) {
    MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, next, bases[next], 1, MPI_LONG, NULL, &world, NULL);
  }
  MPIX_RMA_Complete(&world, next);
  MPI_Barrier(world);
  for (int i = 0; i < variables; ++i) after[i] = count_of(i);
  unsigned long long operations = 0, bytes = 0;
  for (int i = 0; i < variables; ++i) {
    unsigned long long read = 0;
    expect(MPI_T_pvar_read(session, handles[i], &read), MPI_SUCCESS, names[i]);
    expect(read, (unsigned long long)(after[i] - before[i]), names[i]);
    if (i < protocols) {
      operations += read;
    } else if (i < 2 * protocols) {
      bytes += read;
    }
    MPI_T_pvar_handle_free(session, &handles[i]);
  }
  expect(operations, transfers, "operations on all paths");
  expect(bytes, transfers * sizeof value, "bytes on all paths");
  expect((unsigned long long)*(long*)bases[rank], (unsigned long long)((rank + size - 1) % size), "value");
  MPI_T_pvar_session_free(&session);
  MPIX_RMA_Free(bases[rank], world);
  MPI_T_finalize(); /* after MPI_Finalize it crashes in Open MPI 4.1.4, whatever the program does */
  MPI_Finalize();
  return 0;
}
