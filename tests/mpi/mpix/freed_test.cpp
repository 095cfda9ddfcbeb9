/// Objects that outlive a freed communicator or a reset counter: plans, requests, late errors; and memory
/// that is not freed.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "tests/support/mpix_fixture.hpp"

namespace mpixrma::test {
namespace {

class Freed : public ::testing::Test {
 protected:
  Freed() {
    int transport = 0;
    MPIX_RMA_Error_class(MPIX_RMA_ERR_ADDRESS, &address_class_);
    MPIX_RMA_Error_class(MPIX_RMA_ERR_TRANSPORT, &transport);
  }

  /// Returns a duplicate whose errors are returned.
  static MPI_Comm duplicate() {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(world, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
  }
  int next() const { return (memory_.rank() + 1) % memory_.size(); }
  char* there() const { return memory_.at(next(), Memory::allocated); }

  /// Issues an operation on memory that does not exist. The error is reported by the call or later.
  template <typename Request>
  int fail(MPIX_RMA_Op op, MPI_Comm* comm, Request* request) {
    auto* const nowhere = reinterpret_cast<void*>(0x10);
    if constexpr (std::is_same_v<Request, MPIX_Rma_request>) {
      return MPIX_RMA_xfer_rma(op, &value_, 1, MPI_DOUBLE, next(), nowhere, 1, MPI_DOUBLE, request, comm);
    } else {
      return MPIX_RMA_xfer(op, &value_, 1, MPI_DOUBLE, next(), nowhere, 1, MPI_DOUBLE, request, comm,
                           nullptr);
    }
  }

  ErrorsReturn returned_{MPI_COMM_WORLD};
  Memory memory_{256};
  double value_ = 1;
  int address_class_ = 0;
};

TEST_F(Freed, PlanDoesNotAdoptNextCommunicator) {
  MPI_Comm comm = duplicate();
  MPIX_RMA_Plan plan = MPIX_RMA_PLAN_NULL;
  ASSERT_EQ(MPIX_RMA_Plan_create(MPIX_RMA_PUT, MPI_DOUBLE, next(), MPI_DOUBLE, comm, nullptr, &plan),
            MPI_SUCCESS);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(MPIX_RMA_Plan_issue(plan, &value_, 1, there(), 1, nullptr), MPI_SUCCESS);
  ASSERT_EQ(MPIX_RMA_Complete(&comm, next()), MPI_SUCCESS);
  MPI_Comm_free(&comm);
  EXPECT_EQ(class_of(MPIX_RMA_Plan_issue(plan, &value_, 1, there(), 1, nullptr)), MPI_ERR_COMM);
  comm = duplicate();  // often with the same handle
  EXPECT_EQ(MPIX_RMA_Complete(&comm, next()), MPI_SUCCESS);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(class_of(MPIX_RMA_Plan_issue(plan, &value_, 1, there(), 1, nullptr)), MPI_ERR_COMM);
  EXPECT_EQ(MPIX_RMA_Plan_free(&plan), MPI_SUCCESS);
  MPI_Comm_free(&comm);
}

TEST_F(Freed, CounterHasEndedTheWaitsThatItHadReached) {
  MPI_Comm comm = duplicate();
  MPIX_RMA_Attributes notified{};
  notified.set = MPIX_RMA_ATTR_NOTIFY | MPIX_RMA_ATTR_REMOTE_COMPLETION | MPIX_RMA_ATTR_BLOCKING;
  for (bool const reached_before : {true, false}) {
    ASSERT_EQ(rma_set_num_notify(comm, 1), MPI_SUCCESS);
    MPI_Request reached = MPI_REQUEST_NULL;
    MPI_Request unreached = MPI_REQUEST_NULL;
    if (!reached_before) ASSERT_EQ(rma_wait_notify_value(comm, 0, 1, &reached), MPI_SUCCESS);
    MPI_Barrier(world);
    ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, next(), there(), 1, MPI_DOUBLE, nullptr,
                            &comm, &notified),
              MPI_SUCCESS);
    MPI_Barrier(world);
    if (reached_before) ASSERT_EQ(rma_wait_notify_value(comm, 0, 1, &reached), MPI_SUCCESS);
    ASSERT_EQ(rma_wait_notify_value(comm, 0, 2, &unreached), MPI_SUCCESS);
    ASSERT_EQ(rma_set_num_notify(comm, 1), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&reached, MPI_STATUS_IGNORE), MPI_SUCCESS) << "reached before " << reached_before;
    EXPECT_NE(MPI_Wait(&unreached, MPI_STATUS_IGNORE), MPI_SUCCESS);
  }
  MPI_Comm_free(&comm);
}

TEST_F(Freed, LateErrorsDoNotReachTheNextCommunicator) {
  MPI_Comm comm = duplicate();
  (void)fail<MPI_Request>(MPIX_RMA_PUT, &comm, nullptr);
  MPI_Barrier(world);
  MPI_Comm_free(&comm);
  comm = duplicate();
  EXPECT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, next(), there(), 1, MPI_DOUBLE, nullptr,
                          &comm, nullptr),
            MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_Complete(&comm, next()), MPI_SUCCESS);
  MPI_Comm_free(&comm);
}

TEST_F(Freed, RequestsReportTheirError) {
  MPI_Comm comm = duplicate();
  MPI_Request native = MPI_REQUEST_NULL;
  MPIX_Rma_request own = MPIX_RMA_REQUEST_NULL;
  int const native_code = fail(MPIX_RMA_GET, &comm, &native);
  int const own_code = fail(MPIX_RMA_GET, &comm, &own);
  MPI_Comm_free(&comm);
  EXPECT_EQ(class_of(native_code == MPI_SUCCESS ? MPI_Wait(&native, MPI_STATUS_IGNORE) : native_code),
            address_class_);
  EXPECT_EQ(class_of(own_code == MPI_SUCCESS ? MPIX_Rma_request_wait(&own) : own_code), address_class_);
}

/// The library keeps neither the freed request nor its wait: the heap does not grow.
TEST_F(Freed, RequestOfACounterDoesNotWaitAnyMore) {
  MPI_Comm comm = duplicate();
  ASSERT_EQ(rma_set_num_notify(comm, 1), MPI_SUCCESS);
  constexpr int rounds = 20000;
  std::size_t before = 0;
  for (int i = 0; i < 2 * rounds; ++i) {
    MPI_Request arrived = MPI_REQUEST_NULL;
    ASSERT_EQ(rma_wait_notify_value(comm, 0, 1, &arrived), MPI_SUCCESS);
    ASSERT_EQ(MPI_Request_free(&arrived), MPI_SUCCESS);
    if (i == rounds) before = ::mallinfo2().uordblks;
  }
  EXPECT_LT(::mallinfo2().uordblks, before + rounds * std::size_t{32});
  // Other requests still wait, and complete.
  MPI_Request first = MPI_REQUEST_NULL;
  MPI_Request freed = MPI_REQUEST_NULL;
  MPI_Request last = MPI_REQUEST_NULL;
  for (MPI_Request* const request : {&first, &freed, &last})
    ASSERT_EQ(rma_wait_notify_value(comm, 0, 1, request), MPI_SUCCESS);
  ASSERT_EQ(MPI_Request_free(&freed), MPI_SUCCESS);
  MPI_Barrier(world);
  MPIX_RMA_Attributes notified{};
  notified.set = MPIX_RMA_ATTR_NOTIFY;
  EXPECT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, next(), there(), 1, MPI_DOUBLE, nullptr,
                          &comm, &notified),
            MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_Complete(&comm, next()), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&first, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&last, MPI_STATUS_IGNORE), MPI_SUCCESS);
  // A request whose counter has reached the threshold before may be freed as well.
  ASSERT_EQ(rma_wait_notify_value(comm, 0, 1, &freed), MPI_SUCCESS);
  EXPECT_EQ(MPI_Request_free(&freed), MPI_SUCCESS);
  MPI_Comm_free(&comm);
}

/// MPI keeps a freed communicator for its error handler while a request exists, and after a request failed.
TEST_F(Freed, CommunicatorIsRejectedWhileMpiKeepsItForARequest) {
  for (int i = 0; i < 3; ++i) {
    MPI_Comm comm = duplicate();
    ASSERT_EQ(rma_set_num_notify(comm, 1), MPI_SUCCESS);
    MPI_Request arrived = MPI_REQUEST_NULL;
    ASSERT_EQ(rma_wait_notify_value(comm, 0, 5, &arrived), MPI_SUCCESS);
    MPI_Comm freed = comm;
    MPI_Comm_free(&comm);
    auto const expect_rejection = [&] {
      int count = 0;
      EXPECT_EQ(class_of(MPIX_RMA_Complete(&freed, next())), MPI_ERR_COMM);
      EXPECT_EQ(class_of(fail<MPI_Request>(MPIX_RMA_PUT, &freed, nullptr)), MPI_ERR_COMM);
      EXPECT_EQ(class_of(rma_get_num_notify(freed, &count)), MPI_ERR_COMM);
    };
    expect_rejection();
    EXPECT_EQ(class_of(MPI_Wait(&arrived, MPI_STATUS_IGNORE)), address_class_);
    expect_rejection();
    for (int j = 0; j < 3; ++j) {  // a duplicate has the same handle at some time
      comm = duplicate();
      EXPECT_EQ(MPIX_RMA_Complete(&comm, next()), MPI_SUCCESS);
      MPI_Comm_free(&comm);
    }
  }
}

TEST_F(Freed, RequestForACounterFails) {
  MPI_Comm comm = duplicate();
  ASSERT_EQ(rma_set_num_notify(comm, 1), MPI_SUCCESS);
  MPI_Request arrived = MPI_REQUEST_NULL;
  ASSERT_EQ(rma_wait_notify_value(comm, 0, 5, &arrived), MPI_SUCCESS);
  MPI_Comm_free(&comm);
  EXPECT_EQ(class_of(MPI_Wait(&arrived, MPI_STATUS_IGNORE)), address_class_);
}

TEST_F(Freed, RequestForACounterCompletesBeforeTheReset) {
  MPI_Comm comm = duplicate();
  ASSERT_EQ(rma_set_num_notify(comm, 1), MPI_SUCCESS);
  MPI_Request arrived = MPI_REQUEST_NULL;
  ASSERT_EQ(rma_wait_notify_value(comm, 0, 1, &arrived), MPI_SUCCESS);
  MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_NOTIFY | MPIX_RMA_ATTR_BLOCKING);
  char* const own = memory_.at(memory_.rank(), Memory::allocated);
  EXPECT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, memory_.rank(), own, 1, MPI_DOUBLE, nullptr,
                          &comm, &chosen),
            MPI_SUCCESS);
  MPI_Count before = -1;
  while (before <= 0) ASSERT_EQ(rma_reset_notify_value(comm, 0, &before), MPI_SUCCESS);
  EXPECT_EQ(before, 1);
  EXPECT_EQ(MPI_Wait(&arrived, MPI_STATUS_IGNORE), MPI_SUCCESS);
  MPI_Comm_free(&comm);
}

TEST_F(Freed, MemoryIsNotFreedIfOneRankPassesWrongAddress) {
  std::vector<void*> bases(static_cast<std::size_t>(memory_.size()));
  ASSERT_EQ(rma_allocate(64, MPI_INFO_NULL, world, bases.data()), MPI_SUCCESS);
  auto* const mine = static_cast<char*>(bases[static_cast<std::size_t>(memory_.rank())]);
  EXPECT_EQ(class_of(rma_free(memory_.rank() == 0 ? mine + 8 : mine, world)), MPI_ERR_ARG);
  std::memset(mine, 1, 64);
  EXPECT_EQ(transfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, next(), bases[static_cast<std::size_t>(next())]),
            MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_Complete(&world, next()), MPI_SUCCESS);
  EXPECT_EQ(rma_free(mine, world), MPI_SUCCESS);
}

/// Counters are freed when nobody increments them any more: afterwards their addresses may be those of other
/// memory.
TEST_F(Freed, NotifiedOperationsChangeNoLaterMemory) {
  constexpr int operations = 50;
  constexpr std::size_t blocks = 16;
  constexpr std::size_t words = 8;
  MPIX_RMA_Attributes notify = attributes(MPIX_RMA_ATTR_NOTIFY);
  notify.notify_index = 2;
  for (int round = 0; round < 20; ++round) {
    MPI_Comm comm = duplicate();
    set_notification_counters(comm, 4);
    if (memory_.rank() % 2 == 0) ::usleep(2000);
    std::vector<MPI_Request> requests(operations, MPI_REQUEST_NULL);
    for (MPI_Request& request : requests) {
      ASSERT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, next(), there(), 1, MPI_DOUBLE, &request,
                              &comm, &notify),
                MPI_SUCCESS);
    }
    MPI_Comm_free(&comm);
    std::vector<void*> later(blocks);
    for (void*& block : later) {
      ASSERT_EQ(rma_allocate_local(words * sizeof(std::uint64_t), MPI_INFO_NULL, &block), MPI_SUCCESS);
      std::memset(block, 0, words * sizeof(std::uint64_t));
    }
    EXPECT_EQ(MPI_Waitall(operations, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    MPI_Barrier(world);
    for (void* const block : later) {
      auto const* const values = static_cast<std::uint64_t const*>(block);
      EXPECT_EQ(std::count(values, values + words, 0u), static_cast<std::ptrdiff_t>(words));
      EXPECT_EQ(rma_free_local(block), MPI_SUCCESS);
    }
  }
}

/// A library that duplicates the communicator that it is given has no counters on the duplicate.
TEST_F(Freed, DuplicatesDoNotInheritTheKeyOfACounter) {
  MPI_Comm comm = duplicate();
  set_notification_counters(comm, 2);
  MPI_Comm_set_attr(comm, MPIX_RMA_KEY_NOTIFY, MPIX_RMA_INDEX_VALUE(1));
  MPI_Comm_set_attr(comm, MPIX_RMA_KEY_BLOCKING, MPIX_RMA_ON);
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &copy);
  void* value = nullptr;
  int found = 0;
  MPI_Comm_get_attr(copy, MPIX_RMA_KEY_BLOCKING, &value, &found);
  EXPECT_EQ(found, 1);
  EXPECT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, next(), there(), 1, MPI_DOUBLE, nullptr,
                          &copy, nullptr),
            MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_xfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, next(), there(), 1, MPI_DOUBLE, nullptr,
                          &comm, nullptr),
            MPI_SUCCESS);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&comm);
}

}  // namespace
}  // namespace mpixrma::test
