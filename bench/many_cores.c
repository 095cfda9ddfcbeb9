/* Contention on one host: every rank, on a core of its own, operates as fast as it can on few places of rank
 * 0. A single file on the installed library alone, so that it can be compiled and measured anywhere:
 * bench/many-cores.
 *
 * usage: many_cores    (any number of ranks; all on one host)
 *
 * Prints lines "many_cores,mpix,OPERATION,PLACES,RANKS,8,VALUE". VALUE is a median in microseconds:
 *   of "fence" the time of a call,
 *   of "transfer" the time in which a cache line goes from one core to another,
 *   of others the time of the slowest rank divided by the operations of all ranks.
 * Ends with status 1 if an update was lost. */
#include <mpi.h>
#include <mpix_rma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  places = 64,
  line = 128,     /* bytes; processors fetch lines in pairs */
  apart = 16384,  /* bytes; one lock of the library covers no more */
  repetitions = 7 /* the first one warms up and does not count */
};

static MPI_Comm world;
static int rank, size;
static char* shared;   /* rank 0's places, as this process maps them: for loads and stores */
static void* remote;   /* the address of other places at rank 0, for MPIX_RMA */
static MPI_Win window; /* of one element of each rank */
static uint64_t random_state;
static MPIX_RMA_Attributes atomic_update;
/* The sums that this rank has added to each place, by add() and by accumulate(). */
static long added[places];
static long accumulated[places];

/* Returns a number below `limit`. */
static unsigned draw(unsigned limit) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (unsigned)(random_state >> 33) % limit;
}

static void fail(char const* text) {
  fprintf(stderr, "many_cores: %s\n", text);
  MPI_Abort(world, 1);
}

/* One atomic fetch-and-add: the lower bound. */
static void add_bare(unsigned among) {
  unsigned const place = draw(among);
  __atomic_fetch_add((long*)(shared + place * line), 1, __ATOMIC_SEQ_CST);
}

static void add(unsigned among) {
  static long const one = 1;
  static long before; /* received at the latest in MPIX_RMA_Complete */
  unsigned const place = draw(among);
  MPIX_RMA_rmw(MPIX_RMW_SUM, &one, 1, MPI_LONG, &before, 0, (MPI_Aint)remote + place * line, NULL, &world,
               NULL);
  ++added[place];
}

/* Adds to a double, for which the library takes a lock. */
static void accumulate(unsigned among) {
  static double one = 1;
  unsigned const place = draw(among);
  MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, &one, 1, MPI_DOUBLE, 0, (char*)remote + place * apart + apart / 2, 1,
                MPI_DOUBLE, NULL, &world, &atomic_update);
  ++accumulated[place];
}

static void fence(unsigned among) {
  (void)among;
  MPI_Win_fence(0, window);
}

/* Ranks 0 and 1 hand a line to each other. */
static void hand_over(unsigned round) {
  long* const turn = (long*)shared;
  long const mine = 2 * (long)round + rank;
  while (__atomic_load_n(turn, __ATOMIC_ACQUIRE) != mine) {
  }
  __atomic_store_n(turn, mine + 1, __ATOMIC_RELEASE);
}

static int compare(void const* a, void const* b) {
  double const x = *(double const*)a, y = *(double const*)b;
  return (x > y) - (x < y);
}

/* Returns the median without the first repetition, and sorts the others. */
static double median_of(double* times) {
  qsort(times + 1, repetitions - 1, sizeof *times, compare);
  return (times[repetitions / 2] + times[repetitions / 2 + 1]) / 2;
}

/* Collective. `active` ranks call `operation` `rounds` times; `shares` is the number of operations that the
 * time of a round is divided by. */
static void measure(char const* name, void (*operation)(unsigned), unsigned among, int active, long rounds,
                    double shares) {
  double times[repetitions];
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    MPI_Barrier(world);
    double const begin = MPI_Wtime();
    for (long i = 0; rank < active && i < rounds; ++i) operation(among);
    double mine = rank < active ? MPI_Wtime() - begin : 0;
    MPIX_RMA_Complete(&world, 0);
    MPI_Allreduce(&mine, &times[repetition], 1, MPI_DOUBLE, MPI_MAX, world);
  }
  if (rank == 0)
    printf("many_cores,mpix,%s,%u,%d,8,%.5f\n", name, among, active,
           median_of(times) / ((double)rounds * shares) * 1e6);
  fflush(stdout);
}

static void measure_transfer(void) {
  enum { rounds = 200000 };
  *(long*)shared = 0;
  double times[repetitions];
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    MPI_Barrier(world);
    if (rank == 0) *(long*)shared = 0;
    MPI_Barrier(world);
    double const begin = MPI_Wtime();
    for (unsigned i = 0; rank < 2 && i < rounds; ++i) hand_over(i);
    times[repetition] = MPI_Wtime() - begin;
  }
  MPI_Barrier(world);
  if (rank == 0)
    printf("many_cores,mpix,transfer,1,2,8,%.5f\n", median_of(times) / (2.0 * rounds) * 1e6);
}

/* Ends the job if an addition is not in the places of rank 0. */
static void verify(void) {
  long sums[places], sums_under_locks[places];
  MPI_Reduce(added, sums, places, MPI_LONG, MPI_SUM, 0, world);
  MPI_Reduce(accumulated, sums_under_locks, places, MPI_LONG, MPI_SUM, 0, world);
  for (int i = 0; rank == 0 && i < places; ++i) {
    char const* const place = (char const*)remote + i * apart + apart / 2;
    if (*(long const*)((char const*)remote + i * line) != sums[i]) fail("an addition was lost");
    if ((long)*(double const*)place != sums_under_locks[i]) fail("an atomic accumulate was lost");
  }
}

static void set_up(void) {
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  random_state = 0x9e3779b97f4a7c15u * (uint64_t)(rank + 1);
  atomic_update = (MPIX_RMA_Attributes){.set = MPIX_RMA_ATTR_ATOMICITY};
  MPI_Aint const bytes = places * apart;
  MPI_Comm host;
  MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int on_host;
  MPI_Comm_size(host, &on_host);
  MPI_Comm_free(&host);
  if (on_host != size) fail("all ranks have to be on one host");
  void** bases = calloc((size_t)size, sizeof *bases);
  if (bases == NULL || MPIX_RMA_Allocate(bytes, MPI_INFO_NULL, world, NULL, bases) != MPI_SUCCESS)
    fail("no memory");
  remote = bases[0];
  if (rank == 0) memset(remote, 0, (size_t)bytes);
  free(bases);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  world = MPI_COMM_WORLD;
  set_up();
  MPI_Win bare;
  MPI_Aint const bytes = rank == 0 ? places * line : 0;
  MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, world, &shared, &bare);
  MPI_Aint found;
  int unit;
  MPI_Win_shared_query(bare, 0, &found, &unit, &shared);
  void* element;
  MPI_Win_allocate(sizeof(double), 1, MPI_INFO_NULL, world, &element, &window);
  if (rank == 0) memset(shared, 0, places * line);
  long const rounds = 100000;
  if (size >= 2) measure_transfer();
  for (int active = 1; active <= size; active = active == 1 && size > 1 ? size : active + size) {
    for (unsigned among = 1; among <= places; among *= 8) {
      measure("bare", add_bare, among, active, rounds, active);
      measure("counters", add, among, active, rounds, active);
      measure("accumulate", accumulate, among, active, rounds / 4, active);
    }
  }
  measure("fence", fence, 1, size, rounds / 4, 1);
  verify();
  MPI_Win_free(&window);
  MPI_Win_free(&bare);
  MPI_Finalize();
  return 0;
}
