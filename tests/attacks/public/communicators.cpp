/// Communicators are created and freed while others are in use.
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "tests/support/mpix_fixture.hpp"
#include "tests/support/random_layout.hpp"

namespace mpixrma::test {

namespace {

std::atomic<int> wrong_in_callbacks{0};

/// Uses the communicator that is being freed.
int using_delete(MPI_Comm comm, int, void* memory, void*) {
  long put = 5;
  long got = 0;
  MPIX_RMA_Attributes blocking = attributes(MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_ORDERING);
  bool const well = MPIX_RMA_xfer(MPIX_RMA_PUT, &put, 1, MPI_LONG, 0, memory, 1, MPI_LONG, nullptr, &comm,
                                  &blocking) == MPI_SUCCESS &&
                    MPIX_RMA_xfer(MPIX_RMA_GET, &got, 1, MPI_LONG, 0, memory, 1, MPI_LONG, nullptr, &comm,
                                  &blocking) == MPI_SUCCESS;
  wrong_in_callbacks += well && got == put ? 0 : 1;
  return MPI_SUCCESS;
}

class CommunicatorAttacks : public ::testing::Test {
 protected:
  void SetUp() override {
    MPI_Barrier(world);
    MPI_Comm_rank(world, &rank_);
    MPI_Comm_size(world, &size_);
  }

  ErrorsReturn const returned_{MPI_COMM_WORLD};
  ErrorsReturn const returned_self_{MPI_COMM_SELF};
  int rank_ = 0;
  int size_ = 0;
};

/// One of several threads that operate on a communicator whose attributes change. Returns the number of calls
/// that fail, and of values that differ.
int operate(MPI_Comm comm, Memory& memory, int right, std::mt19937_64 random, int thread) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  int wrong = 0;
  auto const check = [&](int code) { wrong += code != MPI_SUCCESS; };
  for (int round = 0; round < 800; ++round) {
    int const kind = static_cast<int>(random() % 3);
    auto value = static_cast<long>(random());
    long back = 0;
    void* const there = memory.at(right, kind, thread * 64);
    MPIX_RMA_Attributes chosen = attributes(random() % 16);
    check(
        MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, right, there, 1, MPI_LONG, nullptr, &comm, &chosen));
    switch (random() % 3) {
      case 0: check(MPIX_RMA_Complete(&comm, right)); break;
      case 1: check(MPIX_RMA_Complete(&comm, MPIX_ALL_RANKS)); break;
      default: check(MPIX_RMA_Fence(&comm, random() % 2 == 0 ? right : MPIX_ALL_RANKS));
    }
    MPIX_RMA_Attributes blocking = attributes(MPIX_RMA_ATTR_BLOCKING);
    check(MPIX_RMA_xfer(MPIX_RMA_GET, &back, 1, MPI_LONG, right, there, 1, MPI_LONG, nullptr, &comm,
                        &blocking));
    wrong += back != value;
    check(MPIX_RMA_Complete(&comm, right));
    if (round % 64 == 0) {
      int flag = 0;
      check(rma_query(comm, right, memory.at(right, 0), &flag, nullptr, nullptr));
      wrong += flag != 1;
      MPI_Count bytes = 0;
      check(
          MPIX_RMA_Statistics(comm, MPIX_ALL_RANKS, MPIX_RMA_STATISTIC_BYTES, MPIX_RMA_PROTOCOL_ALL, &bytes));
    }
  }
  return wrong;
}

/// One thread creates and frees communicators, counters and attributes while other threads operate.
TEST_F(CommunicatorAttacks, ThreadsOperateDuringCommunicatorCreationAndFree) {
  constexpr int n = 64;
  Memory memory(n * 8 * 8);
  int const right = (rank_ + 1) % size_;
  std::atomic<int> wrong{0};
  MPI_Comm shared = MPI_COMM_NULL;
  MPI_Comm_dup(world, &shared);
  MPI_Comm_set_errhandler(shared, MPI_ERRORS_RETURN);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    std::mt19937_64 const random(seed() + static_cast<unsigned>(10 * rank_ + thread));
    threads.emplace_back([&, random, thread] { wrong += operate(shared, memory, right, random, thread); });
  }
  for (int round = 0; round < 60; ++round) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(world, &comm);
    MPI_Comm_set_attr(comm, MPIX_RMA_KEY_ORDERING, round % 2 == 0 ? MPIX_RMA_ON : nullptr);
    EXPECT_EQ(rma_set_num_notify(comm, 2), MPI_SUCCESS);
    long value = round;
    MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_NOTIFY);
    chosen.notify_index = 1;
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(rma_wait_notify_value(comm, 1, 1, &request), MPI_SUCCESS);
    EXPECT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, right, memory.at(right, round % 3, 480), 1,
                            MPI_LONG, nullptr, &comm, &chosen),
              MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(*reinterpret_cast<long volatile*>(memory.own(round % 3) + 480), value);
    EXPECT_EQ(MPIX_RMA_Complete(&comm, MPIX_ALL_RANKS), MPI_SUCCESS);
    MPI_Comm_free(&comm);
    void* base = nullptr;
    EXPECT_EQ(rma_allocate_local(100 + round * 5000, MPI_INFO_NULL, &base), MPI_SUCCESS);
    MPI_Comm_set_attr(shared, MPIX_RMA_KEY_ORDERING, round % 2 == 0 ? MPIX_RMA_ON : nullptr);
    EXPECT_EQ(rma_free_local(base), MPI_SUCCESS);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  MPI_Barrier(world);
  MPI_Comm_free(&shared);
}

/// Communicators are freed with operations in flight.
TEST_F(CommunicatorAttacks, CommunicatorsMayBeFreedWithOperationsInFlight) {
  constexpr int n = 256;
  // Operations without a request complete by MPI_Finalize: both sides' memory stays until then, and the
  // origin does not change.
  static std::vector<long> values(n, 1000);
  static Memory const& memory = *new Memory(n * sizeof(long));
  int const right = (rank_ + 1) % size_;
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (int round = 0; round < 20; ++round) {
      MPI_Comm comm = MPI_COMM_NULL;
      MPI_Comm_dup(world, &comm);
      MPI_Request requests[4];
      for (int i = 0; i < n; ++i) {
        int const code = MPIX_RMA_xfer(i % 3 == 2 ? MPIX_RMA_ACCUMULATE : MPIX_RMA_PUT, values.data() + i, 1,
                                       MPI_LONG, right, memory.at(right, kind, 8 * i), 1, MPI_LONG,
                                       i < 4 ? &requests[i] : nullptr, &comm, nullptr);
        ASSERT_EQ(code, MPI_SUCCESS) << text_of(code);
      }
      MPI_Comm_free(&comm);
      EXPECT_EQ(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
      // An operation to the same target through another communicator works afterwards.
      long back[n];
      EXPECT_EQ(
          transfer(MPIX_RMA_GET, back, n, MPI_LONG, right, memory.at(right, kind), MPIX_RMA_ATTR_BLOCKING),
          MPI_SUCCESS);
      MPI_Barrier(world);
    }
  }
}

/// Handles are reused at once by communicators of other sizes.
TEST_F(CommunicatorAttacks, ThreadsFreeCommunicatorsThatTheirCallbacksUse) {
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &using_delete, &keyval, nullptr);
  constexpr std::size_t count = 3;
  MPI_Comm parents[count];
  for (MPI_Comm& parent : parents) MPI_Comm_dup(MPI_COMM_SELF, &parent);
  long cells[count][16] = {};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 150; ++round) {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_dup(parents[i], &comm);
        // The attribute is set before the first use, after it, and on a communicator without use.
        if (round % 3 == 0) MPI_Comm_set_attr(comm, keyval, cells[i]);
        if (round % 3 != 2) EXPECT_EQ(MPIX_RMA_Fence(&comm, 0), MPI_SUCCESS);
        if (round % 3 != 0) MPI_Comm_set_attr(comm, keyval, cells[i]);
        MPI_Comm_free(&comm);
      }
    });
  }
  for (int round = 0; round < 40; ++round) {
    MPI_Comm larger = MPI_COMM_NULL;
    MPI_Comm_dup(world, &larger);
    EXPECT_EQ(rma_set_num_notify(larger, 1), MPI_SUCCESS);
    MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_NOTIFY);
    EXPECT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, nullptr, 0, MPI_LONG, size_ - 1, nullptr, 0, MPI_LONG, nullptr,
                            &larger, &chosen),
              MPI_SUCCESS);
    EXPECT_EQ(MPIX_RMA_Complete(&larger, MPIX_ALL_RANKS), MPI_SUCCESS);
    MPI_Barrier(larger);
    MPI_Count value = -1;
    EXPECT_EQ(rma_get_notify_value(larger, 0, &value), MPI_SUCCESS);
    EXPECT_EQ(value, rank_ == size_ - 1 ? size_ : 0);
    MPI_Comm_free(&larger);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong_in_callbacks.load(), 0);
  for (MPI_Comm& parent : parents) MPI_Comm_free(&parent);
  MPI_Comm_free_keyval(&keyval);
}

}  // namespace
}  // namespace mpixrma::test
