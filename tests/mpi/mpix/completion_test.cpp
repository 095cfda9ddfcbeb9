/// Completion at the origin, completion by request, versions and error classes.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/support/full_length.hpp"
#include "tests/support/mpix_fixture.hpp"
#include "tests/support/pinning.hpp"

namespace mpixrma::test {
namespace {

class Completions : public ::testing::Test {
 protected:
  int next() const { return (memory_.rank() + 1) % memory_.size(); }
  int previous() const { return (memory_.rank() + memory_.size() - 1) % memory_.size(); }
  char* there(int kind) const { return memory_.at(next(), kind); }

  Memory memory_{1 << 20};
};

/// The origin buffer is overwritten after each local completion; the target still receives the put values.
TEST_F(Completions, BuffersMayBeReusedAfterLocalCompletion) {
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (int all = 0; all < 2; ++all) {
      std::vector<int> values(100000, 0);
      for (int round = 1; round <= 5; ++round) {
        std::fill(values.begin(), values.end(), 1000 * kind + round);
        ASSERT_EQ(transfer(MPIX_RMA_PUT, values.data(), 100000, MPI_INT, next(), there(kind)), MPI_SUCCESS);
        ASSERT_EQ(MPIX_RMA_Complete_local(&world, all != 0 ? MPIX_ALL_RANKS : next()), MPI_SUCCESS);
        std::fill(values.begin(), values.end(), -1);
        ASSERT_EQ(MPIX_RMA_Complete(&world, next()), MPI_SUCCESS);
        MPI_Barrier(world);
        auto const* const own = reinterpret_cast<int const*>(memory_.own(kind));
        EXPECT_EQ(std::count(own, own + 100000, 1000 * kind + round), 100000) << "kind " << kind;
        MPI_Barrier(world);
      }
    }
  }
}

TEST_F(Completions, RequestCoversEarlierOperations) {
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (int const rank : {next(), int{MPIX_ALL_RANKS}}) {
      std::vector<long> values(2000);
      for (int round = 1; round <= 20; ++round) {
        std::fill(values.begin(), values.end(), 100L * round + kind);
        for (int target = 0; target < memory_.size(); ++target) {
          if (rank != MPIX_ALL_RANKS && target != rank) continue;
          ASSERT_EQ(transfer(MPIX_RMA_PUT, values.data(), 2000, MPI_LONG, target,
                             memory_.at(target, kind, 16000 * memory_.rank())),
                    MPI_SUCCESS);
        }
        MPI_Request requests[2];
        ASSERT_EQ(MPIX_RMA_Icomplete(&world, rank, &requests[0]), MPI_SUCCESS);
        ASSERT_EQ(MPIX_RMA_Icomplete_local(&world, rank, &requests[1]), MPI_SUCCESS);
        ASSERT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(requests[0], MPI_REQUEST_NULL);
        MPI_Barrier(world);
        for (int origin = 0; origin < memory_.size(); ++origin) {
          if (rank != MPIX_ALL_RANKS && origin != previous()) continue;
          auto const* const own = reinterpret_cast<long const*>(memory_.own(kind) + 16000 * origin);
          EXPECT_EQ(std::count(own, own + 2000, 100L * round + kind), 2000) << "kind " << kind;
        }
        MPI_Barrier(world);
      }
    }
  }
  ASSERT_EQ(MPIX_RMA_Complete(&world, MPIX_ALL_RANKS), MPI_SUCCESS);
}

TEST_F(Completions, LocalCompletionDeliversFetchedData) {
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    *reinterpret_cast<long*>(memory_.own(kind)) = 40 + memory_.rank();
    MPI_Barrier(world);
    long fetched = -1;
    ASSERT_EQ(transfer(MPIX_RMA_GET, &fetched, 1, MPI_LONG, next(), there(kind)), MPI_SUCCESS);
    MPI_Request request;
    ASSERT_EQ(MPIX_RMA_Icomplete_local(&world, next(), &request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(fetched, 40 + next()) << "kind " << kind;
    MPI_Barrier(world);
  }
}

/// Each thread puts and announces its put; then another thread completes, and the target has all values.
TEST_F(Completions, CoverCallsOfOtherThreadsThatHappenBefore) {
  constexpr int threads = 3;
  constexpr int rounds = 50;
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (long round = 1; round <= rounds; ++round) {
      std::atomic<int> issued{0};
      std::vector<std::jthread> origins;
      for (int thread = 0; thread < threads; ++thread) {
        origins.emplace_back([&, thread] {
          std::vector<long> const values(100 << thread, 1000 * kind + round);
          EXPECT_EQ(transfer(MPIX_RMA_PUT, const_cast<long*>(values.data()), static_cast<int>(values.size()),
                             MPI_LONG, next(), there(kind) + 8192 * thread),
                    MPI_SUCCESS);
          issued.fetch_add(1, std::memory_order_release);
          while (issued.load(std::memory_order_acquire) <= threads)
            std::this_thread::yield();  // keeps the buffer
        });
      }
      while (issued.load(std::memory_order_acquire) < threads) std::this_thread::yield();
      EXPECT_EQ(MPIX_RMA_Complete(&world, round % 2 == 0 ? next() : MPIX_ALL_RANKS), MPI_SUCCESS);
      issued.fetch_add(1, std::memory_order_release);
      origins.clear();
      MPI_Barrier(world);
      for (int thread = 0; thread < threads; ++thread) {
        auto const* const own = reinterpret_cast<long const*>(memory_.own(kind) + 8192 * thread);
        ASSERT_EQ(std::count(own, own + (100 << thread), 1000 * kind + round), 100 << thread);
      }
      MPI_Barrier(world);
    }
  }
}

/// A thread fences all ranks while an operation of another thread waits because of an earlier such fence: the
/// operations of both threads continue.
TEST_F(Completions, ThreadsFenceAllRanksAtOnce) {
  constexpr int threads = 3;
  long const rounds = 20000 / shortened(20);
  auto const place = [](int thread) { return 64L * thread; };
  {
    std::vector<std::jthread> origins;
    for (int thread = 0; thread < threads; ++thread) {
      origins.emplace_back([&, thread] {
        Pinned const pinned(thread);
        std::vector<long> values(rounds);
        std::iota(values.begin(), values.end(), 1);
        for (long& value : values) {
          for (int kind = Memory::kinds; kind-- > 0;) {
            ASSERT_EQ(transfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, next(), there(kind) + place(thread)),
                      MPI_SUCCESS);
            ASSERT_EQ(MPIX_RMA_Fence(&world, MPIX_ALL_RANKS), MPI_SUCCESS);
          }
        }
        ASSERT_EQ(MPIX_RMA_Complete(&world, MPIX_ALL_RANKS), MPI_SUCCESS);
      });
    }
  }
  MPI_Barrier(world);
  for (int thread = 0; thread < threads; ++thread) {
    for (int kind = 0; kind < Memory::kinds; ++kind) {
      auto const* const own = reinterpret_cast<long const*>(memory_.own(kind) + place(thread));
      EXPECT_EQ(*own, rounds) << "kind " << kind << ", thread " << thread;
    }
  }
  MPI_Barrier(world);
}

TEST_F(Completions, ReportFailures) {
  ErrorsReturn const returned(world);
  int address_class = 0;
  ASSERT_EQ(MPIX_RMA_Error_class(MPIX_RMA_ERR_ADDRESS, &address_class), MPI_SUCCESS);
  long value = 1;
  int const issued = class_of(
      transfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, next(), reinterpret_cast<char*>(std::uintptr_t{4096})));
  MPI_Request request = MPI_REQUEST_NULL;
  ASSERT_EQ(MPIX_RMA_Icomplete(&world, next(), &request), MPI_SUCCESS);
  int const code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  int const completed = class_of(code);
  if (code != MPI_SUCCESS) {
    std::string const place = "a put of 8 bytes at address 0x1000 of rank " + std::to_string(next());
    EXPECT_NE(text_of(code).find(place), std::string::npos) << text_of(code);
  }
  // The call reports the failure on one host; the request reports it if the operation is a message.
  EXPECT_EQ(issued == MPI_SUCCESS ? completed : issued, address_class);
  EXPECT_EQ(issued == MPI_SUCCESS ? issued : completed, MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_Complete(&world, next()), MPI_SUCCESS);
}

/// However late the program completes a request, the request reports the failures of the operations that it
/// covers, and no others.
TEST_F(Completions, RequestReportsFailuresOfItsOperationsOnly) {
  ErrorsReturn const returned(world);
  long value = 1;
  auto* const nowhere = reinterpret_cast<char*>(std::uintptr_t{4096});
  char* const there = memory_.at(next(), Memory::plain, 64L * memory_.rank());
  for (int round = 0; round < 10; ++round) {
    MPI_Request request = MPI_REQUEST_NULL;
    ASSERT_EQ(transfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, next(), there), MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Icomplete(&world, next(), &request), MPI_SUCCESS);
    bool reported = transfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, next(), nowhere) != MPI_SUCCESS;
    ::usleep(2000);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS) << "round " << round;
    EXPECT_EQ(MPIX_RMA_Complete(&world, next()) == MPI_SUCCESS, reported) << "round " << round;

    reported = transfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, next(), nowhere) != MPI_SUCCESS;
    ASSERT_EQ(MPIX_RMA_Icomplete(&world, next(), &request), MPI_SUCCESS);
    ::usleep(2000);
    EXPECT_EQ(MPIX_RMA_Complete(&world, next()), MPI_SUCCESS) << "round " << round;
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, reported) << "round " << round;
  }
  MPI_Barrier(world);
}

/// MPI_Request_get_status leaves the request. A later call reports its failure, also if another request of
/// the array is complete.
TEST_F(Completions, StatusOfARequestLeavesItsFailure) {
  ErrorsReturn const returned(world);
  long value = 1;
  auto* const nowhere = reinterpret_cast<char*>(std::uintptr_t{4096});
  for (int round = 0; round < 10; ++round) {
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    ASSERT_EQ(MPIX_RMA_Icomplete(&world, memory_.rank(), &requests[0]), MPI_SUCCESS);
    bool const reported = transfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, next(), nowhere) != MPI_SUCCESS;
    ASSERT_EQ(MPIX_RMA_Icomplete(&world, next(), &requests[1]), MPI_SUCCESS);
    for (int complete = 0; complete == 0;) {
      ASSERT_EQ(MPI_Request_get_status(requests[1], &complete, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    EXPECT_NE(requests[1], MPI_REQUEST_NULL);
    int failures = 0;
    for (int i = 0; i < 2; ++i) {
      int index = MPI_UNDEFINED;
      if (MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE) != MPI_SUCCESS) ++failures;
    }
    EXPECT_EQ(failures, reported ? 0 : 1) << "round " << round;
  }
  MPI_Barrier(world);
}

/// Several messages of the operation fail, some of them after its request has reported the first failure.
TEST_F(Completions, DoNotRepeatFailuresThatRequestsHaveReported) {
  ErrorsReturn const returned(world);
  std::vector<char> values(300000);
  auto* const nowhere = reinterpret_cast<void*>(0xdead0000);
  for (int round = 0; round < 20; ++round) {
    MPI_Request request = MPI_REQUEST_NULL;
    int const issued = MPIX_RMA_xfer(MPIX_RMA_PUT, values.data(), 300000, MPI_BYTE, next(), nowhere, 300000,
                                     MPI_BYTE, &request, &world, nullptr);
    bool const reported = issued != MPI_SUCCESS || MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    EXPECT_EQ(MPIX_RMA_Complete(&world, next()) == MPI_SUCCESS, reported) << "round " << round;
    EXPECT_EQ(MPIX_RMA_Complete(&world, next()), MPI_SUCCESS) << "round " << round;
  }
}

/// The request for all ranks reports a failure, and names the rank of the operation that failed.
TEST_F(Completions, RequestForAllRanksReportsFailureOfOneRank) {
  ErrorsReturn const returned(world);
  int address_class = 0;
  ASSERT_EQ(MPIX_RMA_Error_class(MPIX_RMA_ERR_ADDRESS, &address_class), MPI_SUCCESS);
  long value = 1;
  int issued = MPI_SUCCESS;
  for (int rank = 0; rank < memory_.size(); ++rank) {
    char* const there = rank == memory_.size() - 1 ? reinterpret_cast<char*>(std::uintptr_t{4096})
                                                   : memory_.at(rank, Memory::plain, 64L * memory_.rank());
    issued = transfer(MPIX_RMA_PUT, &value, 1, MPI_LONG, rank, there);
  }
  MPI_Request request = MPI_REQUEST_NULL;
  ASSERT_EQ(MPIX_RMA_Icomplete(&world, MPIX_ALL_RANKS, &request), MPI_SUCCESS);
  int const completed = MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(class_of(issued == MPI_SUCCESS ? completed : issued), address_class);
  if (completed != MPI_SUCCESS) {
    std::string const place = "address 0x1000 of rank " + std::to_string(memory_.size() - 1);
    EXPECT_NE(text_of(completed).find(place), std::string::npos) << text_of(completed);
  }
  EXPECT_EQ(MPIX_RMA_Complete(&world, MPIX_ALL_RANKS), MPI_SUCCESS);
  MPI_Barrier(world);
}

TEST_F(Completions, RequestForReachedThresholdIsComplete) {
  ASSERT_EQ(rma_set_num_notify(world, 2), MPI_SUCCESS);
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  auto const create_both = [&requests] {
    for (int index = 0; index < 2; ++index)
      ASSERT_EQ(rma_wait_notify_value(world, index, 0, &requests[index]), MPI_SUCCESS);
  };
  int complete = 0;
  create_both();
  EXPECT_EQ(MPI_Request_get_status(requests[0], &complete, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(complete, 1);
  EXPECT_EQ(MPI_Testall(2, requests, &complete, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(complete, 1);
  EXPECT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  create_both();
  int index = MPI_UNDEFINED;
  EXPECT_EQ(MPI_Testany(2, requests, &index, &complete, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(complete, 1);
  EXPECT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  ASSERT_EQ(rma_set_num_notify(world, 0), MPI_SUCCESS);
}

TEST_F(Completions, RefuseBadArguments) {
  ErrorsReturn const returned(world);
  int address_class = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_EQ(class_of(MPIX_RMA_Icomplete(&world, 0, nullptr)), MPI_ERR_REQUEST);
  EXPECT_EQ(class_of(MPIX_RMA_Icomplete(&world, memory_.size(), &request)), MPI_ERR_RANK);
  MPI_Comm none = MPI_COMM_NULL;
  EXPECT_EQ(class_of(MPIX_RMA_Icomplete(&none, 0, &request)), MPI_ERR_COMM);
  EXPECT_EQ(class_of(MPIX_RMA_Icomplete(nullptr, 0, &request)), MPI_ERR_COMM);
  EXPECT_EQ(class_of(MPIX_RMA_Icomplete_local(nullptr, 0, nullptr)), MPI_ERR_COMM);
  EXPECT_EQ(class_of(MPIX_RMA_Complete_local(&world, -7)), MPI_ERR_RANK);
  EXPECT_EQ(class_of(MPIX_RMA_Complete_local(&none, 0)), MPI_ERR_COMM);
  EXPECT_EQ(class_of(MPIX_RMA_Complete_local(nullptr, 0)), MPI_ERR_COMM);
  EXPECT_EQ(MPIX_RMA_Complete_local(&world, MPI_PROC_NULL), MPI_SUCCESS);
  ASSERT_EQ(MPIX_RMA_Icomplete(&world, MPI_PROC_NULL, &request), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPIX_RMA_Error_class(static_cast<MPIX_RMA_Error>(77), &address_class)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPIX_RMA_Error_class(MPIX_RMA_ERR_ADDRESS, nullptr)), MPI_ERR_ARG);
}

TEST(Version, MatchesTheHeader) {
  int version = -1;
  int subversion = -1;
  EXPECT_EQ(MPIX_RMA_Get_version(&version, &subversion), MPI_SUCCESS);
  EXPECT_EQ(version, MPIX_RMA_VERSION);
  EXPECT_EQ(subversion, MPIX_RMA_SUBVERSION);
  EXPECT_EQ(MPIX_RMA_Get_version(nullptr, &subversion), MPI_ERR_ARG);
}

}  // namespace
}  // namespace mpixrma::test
