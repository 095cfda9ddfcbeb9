/// Calls of the library from error handlers and attribute callbacks, and interruption by signals.
#include <signal.h>
#include <sys/time.h>

#include <atomic>
#include <functional>
#include <thread>

#include "tests/support/mpix_fixture.hpp"

namespace mpixrma::test {

namespace {

MPI_Comm handled = MPI_COMM_NULL;
int handler_calls = 0;
void* handler_target = nullptr;
int handler_rank = 0;
int depth = 0;

void calling_handler(MPI_Comm* comm, int*, ...) {
  ++handler_calls;
  if (depth > 2) return;
  ++depth;
  long value = 41 + depth;
  long back = 0;
  EXPECT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, handler_rank, handler_target, 1, MPI_LONG,
                          nullptr, comm, nullptr),
            MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_Complete(comm, handler_rank), MPI_SUCCESS);
  MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_BLOCKING);
  EXPECT_EQ(MPIX_RMA_xfer(MPIX_RMA_GET, &back, 1, MPI_LONG, handler_rank, handler_target, 1, MPI_LONG,
                          nullptr, comm, &chosen),
            MPI_SUCCESS);
  EXPECT_EQ(back, value);
  void* base = nullptr;
  EXPECT_EQ(rma_allocate_local(1000, MPI_INFO_NULL, &base), MPI_SUCCESS);
  EXPECT_EQ(rma_free_local(base), MPI_SUCCESS);
  // A nested error: the handler is called again.
  EXPECT_NE(MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, 1 << 20, handler_target, 1, MPI_LONG, nullptr,
                          comm, nullptr),
            MPI_SUCCESS);
  --depth;
}

void freeing_handler(MPI_Comm*, int*, ...) {
  ++handler_calls;
  if (handled != MPI_COMM_NULL) {
    MPI_Comm gone = handled;
    handled = MPI_COMM_NULL;
    MPI_Comm_free(&gone);
  }
}

class CallbackAttacks : public ::testing::Test {
 protected:
  void SetUp() override {
    MPI_Barrier(world);
    handler_calls = 0;
    depth = 0;
    handler_rank = (memory_.rank() + 1) % memory_.size();
  }
  MPI_Comm with_handler(MPI_Comm_errhandler_function* function) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(function, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    return comm;
  }
  /// Calls of many kinds that fail, through `comm`.
  void fail_everywhere(MPI_Comm comm) {
    long value = 0;
    void* bad = reinterpret_cast<void*>(8);
    (void)MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, 5, bad, 1, MPI_LONG, nullptr, &comm, nullptr);
    (void)MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, 0, bad, 1, MPI_LONG, nullptr, &comm, nullptr);
    (void)MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, &value, 1, MPI_LONG, 0, bad, 1, MPI_LONG, nullptr, &comm,
                        nullptr);
    (void)MPIX_RMA_Complete(&comm, MPIX_ALL_RANKS);
    MPI_Request request = MPI_REQUEST_NULL;
    if (MPIX_RMA_xfer(MPIX_RMA_GET, &value, 1, MPI_LONG, 0, bad, 1, MPI_LONG, &request, &comm, nullptr) ==
        MPI_SUCCESS)
      (void)MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPIX_Rma_request own = MPIX_RMA_REQUEST_NULL;
    if (MPIX_RMA_xfer_rma(MPIX_RMA_GET, &value, 1, MPI_LONG, 0, bad, 1, MPI_LONG, &own, &comm) == MPI_SUCCESS)
      (void)MPIX_Rma_request_wait(&own);
    (void)MPIX_RMA_rmw(MPIX_RMW_SUM, &value, 1, MPI_LONG, &value, 0, 8, nullptr, &comm, nullptr);
    (void)rma_set_num_notify(comm, -1);
    MPI_Count count = 0;
    (void)rma_get_notify_value(comm, 7, &count);
    (void)rma_wait_notify_value(comm, 7, 1, &request);
    void* bases[1];
    (void)rma_allocate(-1, MPI_INFO_NULL, comm, bases);
    (void)rma_free(bad, comm);
    (void)MPIX_RMA_Fence(&comm, 77);
    int flag = 0;
    (void)rma_query(comm, 77, bad, &flag, nullptr, nullptr);
    (void)MPIX_RMA_Statistics(comm, 0, MPIX_RMA_STATISTIC_BYTES, MPIX_RMA_PROTOCOL_ALL, nullptr);
    (void)MPI_Comm_set_attr(comm, MPIX_RMA_KEY_NOTIFY, reinterpret_cast<void*>(-1));
  }

  ErrorsReturn const returned_{MPI_COMM_WORLD};
  ErrorsReturn const returned_self_{MPI_COMM_SELF};
  Memory memory_{4096};
};

TEST_F(CallbackAttacks, HandlersMayCallTheLibrary) {
  MPI_Comm comm = with_handler(&calling_handler);
  handler_rank = 0;
  handler_target = memory_.own(0);
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    handler_target = memory_.own(kind);
    fail_everywhere(comm);
  }
  EXPECT_GE(handler_calls, 3 * 14);
  MPI_Comm_free(&comm);
}

/// The error handler frees the communicator of the error.
TEST_F(CallbackAttacks, HandlersMayFreeTheCommunicator) {
  long value = 0;
  void* bad = reinterpret_cast<void*>(8);
  std::function<void(MPI_Comm)> const failures[] = {
      [&](MPI_Comm c) {
        EXPECT_NE(MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, 5, bad, 1, MPI_LONG, nullptr, &c, nullptr),
                  0);
      },
      [&](MPI_Comm c) {
        int e = MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, 0, bad, 1, MPI_LONG, nullptr, &c, nullptr);
        if (e == 0) e = MPIX_RMA_Complete(&c, 0);
        EXPECT_NE(e, 0);
      },
      [&](MPI_Comm c) {
        int e = MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, &value, 1, MPI_LONG, 0, bad, 1, MPI_LONG, nullptr, &c,
                              nullptr);
        if (e == 0) e = MPIX_RMA_Complete(&c, MPIX_ALL_RANKS);
        EXPECT_NE(e, 0);
      },
      [&](MPI_Comm c) {
        MPI_Request r = MPI_REQUEST_NULL;
        int e = MPIX_RMA_xfer(MPIX_RMA_GET, &value, 1, MPI_LONG, 0, bad, 1, MPI_LONG, &r, &c, nullptr);
        if (e == 0) e = MPI_Wait(&r, MPI_STATUS_IGNORE);
        EXPECT_NE(e, 0);
      },
      [&](MPI_Comm c) {
        MPIX_Rma_request r = MPIX_RMA_REQUEST_NULL;
        int e = MPIX_RMA_xfer_rma(MPIX_RMA_GET, &value, 1, MPI_LONG, 0, bad, 1, MPI_LONG, &r, &c);
        if (e == 0) e = MPIX_Rma_request_wait(&r);
        EXPECT_NE(e, 0);
      },
      [&](MPI_Comm c) {
        MPIX_Rma_request r = MPIX_RMA_REQUEST_NULL;
        MPIX_Rma_request_set_attr(&r, MPIX_RMA_KEY_ORDERING, MPIX_RMA_ON);
        int e = MPIX_RMA_xfer_rma(MPIX_RMA_GET, &value, 1, MPI_LONG, 0, bad, 1, MPI_LONG, &r, &c);
        if (e == 0) e = MPIX_Rma_request_wait(&r);
        EXPECT_NE(e, 0);
        MPIX_Rma_request_free(&r);
      },
      [&](MPI_Comm c) { EXPECT_NE(rma_set_num_notify(c, -1), 0); },
      [&](MPI_Comm c) { EXPECT_NE(rma_free(bad, c), 0); },
      [&](MPI_Comm c) { EXPECT_NE(MPIX_RMA_Fence(&c, 9), 0); },
      [&](MPI_Comm c) {
        rma_set_num_notify(c, 1);
        MPI_Request r = MPI_REQUEST_NULL;
        EXPECT_EQ(rma_wait_notify_value(c, 0, 5, &r), 0);
        EXPECT_EQ(rma_set_num_notify(c, 2), 0);
        EXPECT_NE(MPI_Wait(&r, MPI_STATUS_IGNORE), 0);
      },
  };
  for (auto const& fail : failures) {
    for (int i = 0; i < 20; ++i) {
      handled = with_handler(&freeing_handler);
      handler_calls = 0;
      fail(handled);
      EXPECT_EQ(handler_calls, 1) << (&fail - failures);
      if (handled != MPI_COMM_NULL) MPI_Comm_free(&handled);
    }
  }
}

int callbacks = 0;
int calling_delete(MPI_Comm comm, int, void* value, void*) {
  ++callbacks;
  // The communicator still works.
  long one = 3;
  int const code =
      MPIX_RMA_xfer(MPIX_RMA_PUT, &one, 1, MPI_LONG, 0, value, 1, MPI_LONG, nullptr, &comm, nullptr);
  int const completed = MPIX_RMA_Complete(&comm, 0);
  void* base = nullptr;
  EXPECT_EQ(rma_allocate_local(64, MPI_INFO_NULL, &base), MPI_SUCCESS);
  EXPECT_EQ(rma_free_local(base), MPI_SUCCESS);
  EXPECT_EQ(code, MPI_SUCCESS);
  EXPECT_EQ(completed, MPI_SUCCESS);
  return MPI_SUCCESS;
}
int calling_copy(MPI_Comm comm, int, void*, void* in, void* out, int* flag) {
  ++callbacks;
  long one = 5;
  EXPECT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, &one, 1, MPI_LONG, 0, in, 1, MPI_LONG, nullptr, &comm, nullptr),
            MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_Complete(&comm, 0), MPI_SUCCESS);
  *static_cast<void**>(out) = in;
  *flag = 1;
  return MPI_SUCCESS;
}

TEST_F(CallbackAttacks, AttributeCallbacksMayCallTheLibrary) {
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(&calling_copy, &calling_delete, &keyval, nullptr);
  callbacks = 0;  // a run may repeat the test
  constexpr int rounds = 20;
  for (bool const used_before : {false, true}) {
    for (int i = 0; i < rounds; ++i) {
      MPI_Comm comm = MPI_COMM_NULL;
      MPI_Comm copy = MPI_COMM_NULL;
      MPI_Comm_dup(MPI_COMM_SELF, &comm);
      MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
      if (used_before) EXPECT_EQ(MPIX_RMA_Complete(&comm, 0), MPI_SUCCESS);
      MPI_Comm_set_attr(comm, keyval, memory_.own(i % 3));
      MPI_Comm_set_attr(comm, MPIX_RMA_KEY_ORDERING, MPIX_RMA_ON);
      MPI_Comm_dup(comm, &copy);
      MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
      MPI_Comm_delete_attr(comm, keyval);
      MPI_Comm_free(&comm);
      MPI_Comm_free(&copy);
      // A larger communicator may get one of these handles.
      MPI_Comm larger = MPI_COMM_NULL;
      MPI_Comm_dup(world, &larger);
      ASSERT_EQ(rma_set_num_notify(larger, 1), MPI_SUCCESS);
      MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_NOTIFY | MPIX_RMA_ATTR_REMOTE_COMPLETION);
      long value = i;
      int const last = memory_.size() - 1;
      EXPECT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, last,
                              memory_.at(last, i % 3, 64 + 8 * memory_.rank()), 1, MPI_LONG, nullptr, &larger,
                              &chosen),
                MPI_SUCCESS);
      EXPECT_EQ(MPIX_RMA_Complete(&larger, MPIX_ALL_RANKS), MPI_SUCCESS);
      MPI_Barrier(larger);
      MPI_Count count = 0;
      EXPECT_EQ(rma_get_notify_value(larger, 0, &count), MPI_SUCCESS);
      EXPECT_EQ(count, memory_.rank() == last ? memory_.size() : 0);
      MPI_Comm_free(&larger);
    }
  }
  MPI_Comm_free_keyval(&keyval);
  EXPECT_EQ(callbacks, 2 * rounds * 3);
}

/// A library attaches memory to a communicator and frees it in its delete callback.
int freeing_delete(MPI_Comm comm, int, void* memory, void*) {
  EXPECT_EQ(rma_free(*static_cast<void**>(memory), comm), MPI_SUCCESS);
  return MPI_SUCCESS;
}

TEST_F(CallbackAttacks, MemoryMayBeFreedWithItsCommunicator) {
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &freeing_delete, &keyval, nullptr);
  for (int i = 0; i < 40; ++i) {
    MPI_Comm comm = MPI_COMM_NULL;
    if (i % 2 == 0) {
      MPI_Comm_split(world, memory_.rank() % 2, 0, &comm);
    } else {
      MPI_Comm_dup(world, &comm);
    }
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    std::vector<void*> bases(static_cast<std::size_t>(size));
    // The attribute is set before the library knows the communicator, so it is deleted last.
    MPI_Comm_set_attr(comm, keyval, &bases[static_cast<std::size_t>(rank)]);
    ASSERT_EQ(rma_allocate(4096, MPI_INFO_NULL, comm, bases.data()), MPI_SUCCESS);
    long value = i;
    int const right = (rank + 1) % size;
    ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, right, bases[static_cast<std::size_t>(right)],
                            1, MPI_LONG, nullptr, &comm, nullptr),
              MPI_SUCCESS);
    if (i % 4 < 2) {
      MPI_Comm_free(&comm);
    } else {
      MPI_Comm_disconnect(&comm);
    }
  }
  MPI_Comm_free_keyval(&keyval);
}

std::atomic<long> alarms{0};
void count_alarm(int) { alarms.fetch_add(1, std::memory_order_relaxed); }

/// System calls return early, or with part of their work done.
TEST_F(CallbackAttacks, OperationsCompleteDespiteSignals) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = &count_alarm;  // without SA_RESTART
  alarms.store(0);
  sigaction(SIGALRM, &action, &before);
  itimerval const often{{0, 100}, {0, 100}};
  unsigned const rest = alarm(0);
  setitimer(ITIMER_REAL, &often, nullptr);
  std::vector<char> from(1 << 22);
  std::vector<char> back(1 << 22);
  std::vector<char> heap(1 << 22);
  std::intptr_t mine = reinterpret_cast<std::intptr_t>(heap.data());
  std::vector<std::intptr_t> all(static_cast<std::size_t>(memory_.size()));
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, world);
  int const right = (memory_.rank() + 1) % memory_.size();
  auto* const there = reinterpret_cast<char*>(all[static_cast<std::size_t>(right)]);
  for (int round = 0; round < 8; ++round) {
    for (std::size_t i = 0; i < from.size(); ++i)
      from[i] = static_cast<char>(i * 31 + static_cast<std::size_t>(round) + i / 4096);
    EXPECT_EQ(transfer(MPIX_RMA_PUT, from.data(), 1 << 22, MPI_BYTE, right, there), MPI_SUCCESS);
    EXPECT_EQ(MPIX_RMA_Complete(&world, right), MPI_SUCCESS);
    EXPECT_EQ(transfer(MPIX_RMA_GET, back.data(), 1 << 22, MPI_BYTE, right, there, MPIX_RMA_ATTR_BLOCKING),
              MPI_SUCCESS);
    EXPECT_EQ(std::memcmp(from.data(), back.data(), from.size()), 0);
    long one = 1;
    long value = 0;
    EXPECT_EQ(
        MPIX_RMA_rmw(MPIX_RMW_SUM, &one, 1, MPI_LONG, &value, right,
                     reinterpret_cast<MPI_Aint>(memory_.at(right, round % 3)), nullptr, &world, nullptr),
        MPI_SUCCESS);
    EXPECT_EQ(MPIX_RMA_Complete(&world, right), MPI_SUCCESS);
    void* base = nullptr;
    EXPECT_EQ(rma_allocate_local(1 << 20, MPI_INFO_NULL, &base), MPI_SUCCESS);
    EXPECT_EQ(rma_free_local(base), MPI_SUCCESS);
  }
  MPI_Barrier(world);
  itimerval const never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  alarm(rest);
  EXPECT_GT(alarms.load(), 0);
  MPI_Barrier(world);
}

}  // namespace
}  // namespace mpixrma::test
