/* engine_member DIRECTORY PROCESS COUNT: one of the processes 1 to COUNT of a job without MPI, which share
 * nothing but a directory and use the engine's C interface. Each puts to and gets from the memory of the
 * next one, and all update the memory of process 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/bootstrap/file_bootstrap.h"
#include "engine/runtime/mpix_engine.h"

#define REQUIRE(condition)                                                   \
  do {                                                                       \
    if (!(condition)) {                                                      \
      fprintf(stderr, "engine_member, line %d: %s\n", __LINE__, #condition); \
      exit(1);                                                               \
    }                                                                        \
  } while (0)

enum { timeout_ms = 30000, rows = 8, words = 64, rounds = 50 };

/* The memory of a process; a file in the directory has its address. */
struct memory {
  uint64_t arrived; /* counter */
  uint64_t block[words];
  uint64_t strided[rows * words];
  uint64_t listed[words];
  uint64_t guarded;   /* at process 1: by its lock */
  uint64_t counter;   /* at process 1: by fetching updates */
  double sums[words]; /* at process 1 */
};

struct job {
  const char* directory;
  uint64_t self, count;
  mpix_engine_t* engine;
};

struct waiting {
  struct mpix_engine_completion completion;
  volatile int is_complete;
  int status;
  size_t bytes;
};

static void signal_completion(struct mpix_engine_completion* self, int status, size_t bytes) {
  struct waiting* waiting = (struct waiting*)self;
  waiting->status = status;
  waiting->bytes = bytes;
  __atomic_store_n(&waiting->is_complete, 1, __ATOMIC_RELEASE);
}

static int is_signalled(void* waiting) {
  return __atomic_load_n(&((struct waiting*)waiting)->is_complete, __ATOMIC_ACQUIRE);
}

static void show_place(const struct job* job, const char* what, const void* place) {
  char name[256], unfinished[300];
  snprintf(name, sizeof(name), "%s/%s.%d", job->directory, what, (int)job->self);
  snprintf(unfinished, sizeof(unfinished), "%s.new", name);
  FILE* file = fopen(unfinished, "w");
  REQUIRE(file != NULL);
  fprintf(file, "%llu\n", (unsigned long long)(uintptr_t)place);
  REQUIRE(fclose(file) == 0);
  REQUIRE(rename(unfinished, name) == 0);
}

struct looking {
  char name[256];
  unsigned long long place;
};

static int is_shown(void* context) {
  struct looking* looking = context;
  FILE* file = fopen(looking->name, "r");
  if (file == NULL) {
    return 0;
  }
  const int got = fscanf(file, "%llu", &looking->place);
  fclose(file);
  return got == 1;
}

/* Waits in the engine, which serves the others meanwhile. */
static uint64_t place_of(const struct job* job, const char* what, uint64_t process) {
  struct looking looking = {.place = 0};
  snprintf(looking.name, sizeof(looking.name), "%s/%s.%d", job->directory, what, (int)process);
  mpix_engine_wait_until(job->engine, is_shown, &looking);
  return looking.place;
}

static void run(const struct job* job, mpix_engine_peer_t* peer, int get,
                struct mpix_engine_transfer transfer) {
  struct waiting waiting = {.completion.done = signal_completion};
  struct mpix_engine_issued issued;
  transfer.flags = MPIX_ENGINE_REMOTE_COMPLETION;
  transfer.completion = &waiting.completion;
  REQUIRE((get ? mpix_engine_get : mpix_engine_put)(job->engine, peer, &transfer, &issued) == MPIX_ENGINE_OK);
  if (!issued.complete) {
    mpix_engine_wait_until(job->engine, is_signalled, &waiting);
    REQUIRE(waiting.status == MPIX_ENGINE_OK);
  }
}

/* Puts `words` values to each of the three arrays of the next process, with an increment of that process's
 * counter for each array, and gets them back. */
static void exchange(const struct job* job, mpix_engine_peer_t* peer, uint64_t base) {
  uint64_t out[words], in[words];
  for (uint64_t i = 0; i < words; ++i) {
    out[i] = job->self * 1000 + i;
  }
  const struct mpix_engine_layout contiguous = {.block = sizeof(out)};
  const struct mpix_engine_dimension every_row[] = {{.count = rows, .stride = words * sizeof(uint64_t)}};
  const struct mpix_engine_layout strided = {.block = sizeof(out) / rows, .dims = every_row, .dim_count = 1};
  const struct mpix_engine_segment halves[] = {{sizeof(out) / 2, sizeof(out) / 2}, {0, sizeof(out) / 2}};
  const struct mpix_engine_layout listed = {.block = sizeof(out), .segments = halves, .segment_count = 2};
  const struct {
    size_t offset;
    struct mpix_engine_layout layout;
  } targets[] = {{offsetof(struct memory, block), contiguous},
                 {offsetof(struct memory, strided), strided},
                 {offsetof(struct memory, listed), listed}};
  for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); ++i) {
    struct mpix_engine_transfer transfer = {.origin = out, .origin_layout = contiguous};
    transfer.target = base + targets[i].offset;
    transfer.target_layout = targets[i].layout;
    transfer.notify = base + offsetof(struct memory, arrived);
    run(job, peer, 0, transfer);
    memset(in, 0, sizeof(in));
    transfer.origin = in;
    transfer.notify = 0;
    run(job, peer, 1, transfer);
    REQUIRE(memcmp(in, out, sizeof(in)) == 0);
  }
}

static void check_memory(const struct memory* memory, uint64_t from) {
  for (uint64_t i = 0; i < words; ++i) {
    const uint64_t in_row = words / rows;
    REQUIRE(memory->block[i] == from * 1000 + i);
    REQUIRE(memory->strided[i / in_row * words + i % in_row] == from * 1000 + i);
    REQUIRE(memory->listed[(i + words / 2) % words] == from * 1000 + i);
  }
}

/* Without a completion: a failure is kept and reported once. */
static void check_errors(const struct job* job, mpix_engine_peer_t* peer) {
  uint64_t word = 0;
  struct mpix_engine_transfer transfer = {.context = 3, .origin = &word, .target = 64};
  transfer.origin_layout.block = transfer.target_layout.block = sizeof(word);
  int status = mpix_engine_put(job->engine, peer, &transfer, NULL);
  mpix_engine_complete_local(job->engine, peer, mpix_engine_newest(peer));
  mpix_engine_fence(job->engine, peer, mpix_engine_newest(peer));
  mpix_engine_complete(job->engine, peer, mpix_engine_newest(peer));
  REQUIRE(mpix_engine_test(job->engine, peer, mpix_engine_newest(peer)) == 1);
  if (status == MPIX_ENGINE_OK) {
    status = mpix_engine_take_error(job->engine, peer, 3);
  }
  REQUIRE(status == MPIX_ENGINE_BAD_ADDRESS);
  REQUIRE(mpix_engine_take_error(job->engine, peer, 3) == MPIX_ENGINE_OK);
  REQUIRE(strlen(mpix_engine_status_text(status)) > 0);
}

/* All processes increment a counter at process 1 in two steps. */
static void count_with_lock(const struct job* job, mpix_engine_peer_t* peer, uint64_t word) {
  for (int i = 0; i < rounds; ++i) {
    struct waiting waiting = {.completion.done = signal_completion};
    const struct mpix_engine_lock_request request = {.owner = 5, .completion = &waiting.completion};
    struct mpix_engine_issued issued;
    REQUIRE(mpix_engine_lock(job->engine, peer, &request, &issued) == MPIX_ENGINE_OK);
    if (!issued.complete) {
      mpix_engine_wait_until(job->engine, is_signalled, &waiting);
      REQUIRE(waiting.status == MPIX_ENGINE_OK);
    }
    uint64_t value;
    struct mpix_engine_transfer transfer = {.origin = &value, .target = word};
    transfer.origin_layout.block = transfer.target_layout.block = sizeof(value);
    run(job, peer, 1, transfer);
    ++value;
    run(job, peer, 0, transfer);
    REQUIRE(mpix_engine_unlock(job->engine, peer, 0, 5, 0, NULL) == MPIX_ENGINE_OK);
  }
}

/* All processes increment a counter at process 1 in one step, and add to an array. */
static void update(const struct job* job, mpix_engine_peer_t* peer, uint64_t base) {
  const uint64_t one = 1;
  uint64_t before, last = 0;
  double halves[words];
  struct mpix_engine_update count = {.operation = MPIX_ENGINE_OP_SUM, .type = MPIX_ENGINE_TYPE_UINT64};
  struct mpix_engine_update sum = {.operation = MPIX_ENGINE_OP_SUM, .type = MPIX_ENGINE_TYPE_FLOAT64};
  count.origin = &one;
  count.result = &before;
  count.target = base + offsetof(struct memory, counter);
  count.origin_layout.block = count.result_layout.block = count.target_layout.block = sizeof(one);
  sum.origin = halves;
  sum.target = base + offsetof(struct memory, sums);
  sum.origin_layout.block = sum.target_layout.block = sizeof(halves);
  sum.flags = count.flags = MPIX_ENGINE_ELEMENT_ATOMIC | MPIX_ENGINE_REMOTE_COMPLETION;
  for (int i = 0; i < words; ++i) {
    halves[i] = 0.5 * i;
  }
  for (int i = 0; i < rounds; ++i) {
    struct waiting counted = {.completion.done = signal_completion}, added = {.completion.done = signal_completion};
    struct mpix_engine_issued issued;
    count.completion = &counted.completion;
    sum.completion = &added.completion;
    REQUIRE(mpix_engine_issue_update(job->engine, peer, &count, &issued) == MPIX_ENGINE_OK);
    if (!issued.complete) {
      mpix_engine_wait_until(job->engine, is_signalled, &counted);
      REQUIRE(counted.status == MPIX_ENGINE_OK);
    }
    REQUIRE(i == 0 || before > last);
    last = before;
    REQUIRE(mpix_engine_issue_update(job->engine, peer, &sum, &issued) == MPIX_ENGINE_OK);
    if (!issued.complete) {
      mpix_engine_wait_until(job->engine, is_signalled, &added);
      REQUIRE(added.status == MPIX_ENGINE_OK);
    }
  }
  sum.operation = 1000;
  REQUIRE(mpix_engine_issue_update(job->engine, peer, &sum, NULL) == MPIX_ENGINE_BAD_ARGUMENT);
}

static void check_updates(const struct job* job, const struct memory* memory) {
  REQUIRE(memory->guarded == rounds * job->count);
  REQUIRE(memory->counter == rounds * job->count);
  for (int i = 0; i < words; ++i) {
    REQUIRE(memory->sums[i] == 0.5 * i * rounds * (double)job->count);
  }
}

/* Exposure ids are distributed like addresses. */
static void use_exposure(const struct job* job, mpix_engine_peer_t* peer, uint64_t next) {
  static uint64_t exposed[words];
  uint64_t own, out = job->self + 7, in = 0;
  REQUIRE(mpix_engine_expose(job->engine, exposed, sizeof(exposed), MPIX_ENGINE_READ | MPIX_ENGINE_WRITE,
                             &own) == MPIX_ENGINE_OK);
  REQUIRE(own != 0);
  show_place(job, "exposure", (const void*)(uintptr_t)own);
  struct mpix_engine_transfer transfer = {.origin = &out, .target = 3 * sizeof(out)};
  transfer.exposure = place_of(job, "exposure", next);
  transfer.origin_layout.block = transfer.target_layout.block = sizeof(out);
  run(job, peer, 0, transfer);
  transfer.origin = &in;
  run(job, peer, 1, transfer);
  REQUIRE(in == out);
  show_place(job, "withdrawn", exposed);
  for (uint64_t process = 1; process <= job->count; ++process) {
    (void)place_of(job, "withdrawn", process);
  }
  REQUIRE(exposed[3] != 0);
  REQUIRE(mpix_engine_withdraw(job->engine, own) == MPIX_ENGINE_OK);
  REQUIRE(mpix_engine_withdraw(job->engine, own) == MPIX_ENGINE_STALE_EXPOSURE);
}

static void work(const struct job* job, struct memory* memory) {
  const uint64_t next = job->self % job->count + 1, before = (job->self + job->count - 2) % job->count + 1;
  mpix_engine_peer_t* peer = mpix_engine_find_peer(job->engine, next);
  REQUIRE(peer != NULL);
  show_place(job, "memory", memory);
  exchange(job, peer, place_of(job, "memory", next));
  struct waiting arrival = {.completion.done = signal_completion};
  REQUIRE(mpix_engine_watch(job->engine, &memory->arrived, 3, &arrival.completion) == MPIX_ENGINE_OK);
  mpix_engine_wait_until(job->engine, is_signalled, &arrival);
  REQUIRE(arrival.status == MPIX_ENGINE_OK);
  check_memory(memory, before);
  check_errors(job, peer);
  struct mpix_engine_traffic all = {{0}, {0}, 0, 0}, with_next;
  mpix_engine_read_traffic(job->engine, &all);
  mpix_engine_read_traffic_with(job->engine, next, &with_next);
  REQUIRE(memcmp(all.operations, with_next.operations, sizeof(all.operations)) == 0);
  count_with_lock(job, mpix_engine_find_peer(job->engine, 1),
                  place_of(job, "memory", 1) + offsetof(struct memory, guarded));
  update(job, mpix_engine_find_peer(job->engine, 1), place_of(job, "memory", 1));
  use_exposure(job, peer, next);
  /* No process ends before all are done. */
  show_place(job, "done", memory);
  for (uint64_t process = 1; process <= job->count; ++process) {
    (void)place_of(job, "done", process);
  }
  if (job->self == 1) {
    check_updates(job, memory);
  }
}

int main(int argc, char** argv) {
  REQUIRE(argc == 4);
  struct job job = {argv[1], strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10), NULL};
  mpix_file_bootstrap_t* files;
  struct mpix_engine_config config;
  REQUIRE(mpix_file_bootstrap_open(job.directory, job.self, timeout_ms, &files) == 0);
  mpix_engine_config_init(&config);
  const char* paths = getenv("MPIX_TEST_PATHS");
  if (paths != NULL) {
    config.protocols = (unsigned)strtoul(paths, NULL, 0);
  }
  REQUIRE(mpix_engine_create(&config, mpix_file_bootstrap_get(files), &job.engine) == MPIX_ENGINE_OK);
  REQUIRE(mpix_file_bootstrap_wait(files, job.count) == 0);
  uint64_t processes[64];
  REQUIRE(mpix_file_bootstrap_processes(files, processes, 64) == job.count);
  REQUIRE(processes[job.self - 1] == job.self);

  const struct mpix_engine_hints hints = {.alignment = 4096};
  void* base;
  REQUIRE(mpix_engine_allocate(job.engine, sizeof(struct memory), &hints, &base) == MPIX_ENGINE_OK);
  REQUIRE((uintptr_t)base % 4096 == 0);
  memset(base, 0, sizeof(struct memory));
  static char registered[100];
  REQUIRE(mpix_engine_attach(job.engine, registered, sizeof(registered)) == MPIX_ENGINE_OK);
  uint32_t first_lock;
  REQUIRE(mpix_engine_create_locks(job.engine, 1, &first_lock) == MPIX_ENGINE_OK);
  REQUIRE(first_lock == 0);
  work(&job, base);
  REQUIRE(mpix_engine_destroy_locks(job.engine, first_lock, 1) == MPIX_ENGINE_OK);
  REQUIRE(mpix_engine_detach(job.engine, registered, 0) == MPIX_ENGINE_OK);
  REQUIRE(mpix_engine_detach(job.engine, registered, 0) == MPIX_ENGINE_BAD_ARGUMENT);
  mpix_engine_forget_counters(job.engine, base, (char*)base + sizeof(struct memory));
  REQUIRE(mpix_engine_free(job.engine, base) == MPIX_ENGINE_OK);
  mpix_engine_destroy(job.engine);
  mpix_file_bootstrap_close(files);
  return 0;
}
