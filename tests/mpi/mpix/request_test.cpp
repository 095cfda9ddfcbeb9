/// Requests: their memory, the failures that they report, and the error handler that is called.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tests/mpi/mpix/request_arrays.hpp"
#include "tests/support/host.hpp"
#include "tests/support/mpix_fixture.hpp"

namespace mpixrma::test {
namespace {

MPI_Comm handled_comm = MPI_COMM_NULL;
int handled_code = MPI_SUCCESS;
int request_handler_calls = 0;
void note_request_error(MPI_Comm* comm, int* code, ...) {
  handled_comm = *comm;
  handled_code = *code;
  ++request_handler_calls;
}

/// Resident memory of this process in KiB.
long resident() {
  long pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  EXPECT_EQ(std::fscanf(file, "%*d %ld", &pages), 1);
  std::fclose(file);
  return pages * 4;
}

class Requests : public ::testing::Test {
 protected:
  int next() const { return (memory_.rank() + 1) % memory_.size(); }
  void expect_object_works(MPI_Request& object, MPI_Comm comm);

  Memory memory_{256};
  double value_ = 1;
};

TEST_F(Requests, FreedBeforeCompletionAreUsedAgain) {
  auto const put_and_free = [&](int kind) {
    for (int i = 0; i < 10000; ++i) {
      MPI_Request request = MPI_REQUEST_NULL;
      ASSERT_EQ(transfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, next(), memory_.at(next(), kind), 0, &request),
                MPI_SUCCESS);
      ASSERT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
      if (i % 100 == 99) ASSERT_EQ(MPIX_RMA_Complete(&world, next()), MPI_SUCCESS);
    }
  };
  for (int kind = 0; kind < Memory::kinds; ++kind) put_and_free(kind);
  long const before = resident();
  for (int kind = 0; kind < Memory::kinds; ++kind) put_and_free(kind);
  EXPECT_LT(resident() - before, 1024);  // 250 bytes each would be seven times as much
}

TEST_F(Requests, HaveAnEmptyStatus) {
  for (int kind = 0; kind < Memory::kinds; ++kind) {
    for (std::uint64_t const set : {std::uint64_t{0}, std::uint64_t{MPIX_RMA_ATTR_BLOCKING}}) {
      MPI_Request request = MPI_REQUEST_NULL;
      char* const target = memory_.at(next(), kind);
      ASSERT_EQ(transfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, next(), target, set, &request), MPI_SUCCESS);
      MPI_Status status;
      std::memset(&status, 0x7f, sizeof status);
      ASSERT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
      int count = -1;
      int cancelled = 1;
      MPI_Get_count(&status, MPI_BYTE, &count);
      MPI_Test_cancelled(&status, &cancelled);
      EXPECT_EQ(count, 0) << "memory of kind " << kind << ", attributes " << set;
      EXPECT_EQ(cancelled, 0);
    }
  }
}

TEST_F(Requests, FreedBeforeCompletionDoNotCompleteOthers) {
  constexpr std::size_t count = 100000;
  Memory memory(static_cast<int>((count + 1) * sizeof(double)));
  for (int kind = 0; kind < Memory::kinds; ++kind)
    std::fill_n(reinterpret_cast<double*>(memory.own(kind)), count, 1.0 + kind);
  MPI_Barrier(world);
  for (int round = 0; round < 50; ++round) {
    for (int kind = 0; kind < Memory::kinds; ++kind) {
      MPI_Request request = MPI_REQUEST_NULL;
      ASSERT_EQ(transfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, next(),
                         memory.at(next(), kind, count * sizeof(double)), MPIX_RMA_ATTR_REMOTE_COMPLETION,
                         &request),
                MPI_SUCCESS);
      ASSERT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
      std::vector<double> got(count, -1.0);
      ASSERT_EQ(
          transfer(MPIX_RMA_GET, got.data(), count, MPI_DOUBLE, next(), memory.at(next(), kind), 0, &request),
          MPI_SUCCESS);
      ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      ASSERT_EQ(got, std::vector<double>(count, 1.0 + kind)) << "round " << round;
    }
  }
  ASSERT_EQ(MPIX_RMA_Complete(&world, next()), MPI_SUCCESS);
  MPI_Barrier(world);
}

TEST_F(Requests, LateErrorReachesHandlerOfCommunicator) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(world, &comm);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(&note_request_error, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  for (bool const persistent : {false, true}) {
    request_handler_calls = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    if (persistent) {
      ASSERT_EQ(MPIX_Req_set_attr(&request, MPIX_RMA_KEY_REMOTE_COMPLETION, MPIX_RMA_ON), MPI_SUCCESS);
    }
    int code = MPIX_RMA_xfer_req(MPIX_RMA_GET, &value_, 1, MPI_DOUBLE, next(), reinterpret_cast<void*>(0x10),
                                 1, MPI_DOUBLE, &request, &comm);
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_NE(code, MPI_SUCCESS);
    EXPECT_EQ(request_handler_calls, 1);
    EXPECT_EQ(handled_comm, comm);
    EXPECT_EQ(handled_code, code);
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
}

TEST_F(Requests, EachFailureOfAnArrayReachesTheHandler) {
  ErrorsReturn const returned(world);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(world, &comm);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(&note_request_error, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  request_handler_calls = 0;
  MPIX_Rma_request requests[3] = {};
  char const* const nowhere = nullptr;
  int rejected = 0;
  for (int i = 0; i < 3; ++i) {
    void* const target = i == 0 ? memory_.at(next(), 0) : const_cast<char*>(nowhere + 16 * i);
    if (MPIX_RMA_xfer_rma(MPIX_RMA_GET, &value_, 1, MPI_DOUBLE, next(), target, 1, MPI_DOUBLE, &requests[i],
                          &comm) != MPI_SUCCESS)
      ++rejected;
  }
  int const code = MPIX_Rma_request_waitall(3, requests);
  // A protocol that finds out at once reports the failure by the call.
  EXPECT_TRUE(rejected == 0 || rejected == 2) << rejected;
  EXPECT_EQ(request_handler_calls, 2);
  EXPECT_EQ(code != MPI_SUCCESS, rejected == 0);
  if (rejected == 0) EXPECT_TRUE(says(code, "0x10 ")) << text_of(code);
  for (MPIX_Rma_request const request : requests) EXPECT_EQ(request, MPIX_RMA_REQUEST_NULL);
  EXPECT_EQ(class_of(MPIX_Rma_request_free(&requests[0])), MPI_ERR_REQUEST);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
}

/// Waits long enough for failing operations to fail and for the MPI library to notice the failures.
void let_operations_fail() {
  for (int i = 0; i < 100; ++i) {
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &found, MPI_STATUS_IGNORE);
    ::usleep(200);
  }
}

TEST_F(Requests, FreedAfterFailureLeaveItToComplete) {
  ErrorsReturn const returned(world);
  auto* const nowhere = reinterpret_cast<void*>(0x40);
  std::string const rank = "rank " + std::to_string(next());
  MPIX_Rma_request own = MPIX_RMA_REQUEST_NULL;
  // A protocol that finds out at once reports the failure by the call.
  if (MPIX_RMA_xfer_rma(MPIX_RMA_GET, &value_, 1, MPI_DOUBLE, next(), nowhere, 1, MPI_DOUBLE, &own, &world) ==
      MPI_SUCCESS) {
    let_operations_fail();
    ASSERT_EQ(MPIX_Rma_request_free(&own), MPI_SUCCESS);
    int const code = MPIX_RMA_Complete(&world, next());
    EXPECT_NE(code, MPI_SUCCESS);
    EXPECT_TRUE(says(code, rank)) << text_of(code);
  }
  for (int const target : {next(), MPIX_ALL_RANKS}) {
    for (bool const freed : {true, false}) {
      if (transfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, next(), nowhere) != MPI_SUCCESS) continue;
      MPI_Request all = MPI_REQUEST_NULL;
      ASSERT_EQ(MPIX_RMA_Icomplete(&world, target, &all), MPI_SUCCESS);
      let_operations_fail();
      if (freed) ASSERT_EQ(MPI_Request_free(&all), MPI_SUCCESS);
      int const code = freed ? MPIX_RMA_Complete(&world, MPIX_ALL_RANKS) : MPI_Wait(&all, MPI_STATUS_IGNORE);
      EXPECT_NE(code, MPI_SUCCESS) << "freed " << freed;
      EXPECT_TRUE(says(code, rank)) << text_of(code) << ", freed " << freed;
      EXPECT_EQ(MPIX_RMA_Complete(&world, MPIX_ALL_RANKS), MPI_SUCCESS);
    }
  }
  MPI_Barrier(world);
}

/// MPIX_RMA_Complete completes the operation, and leaves the failure to the request. Nothing is outstanding.
TEST_F(Requests, FreedAfterCompleteLeaveItToTheNextComplete) {
  ErrorsReturn const returned(world);
  auto* const nowhere = reinterpret_cast<void*>(0x40);
  for (int const target : {next(), MPIX_ALL_RANKS}) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPIX_Rma_request own = MPIX_RMA_REQUEST_NULL;
    if (transfer(MPIX_RMA_GET, &value_, 1, MPI_DOUBLE, next(), nowhere, 0, &request) == MPI_SUCCESS) {
      ASSERT_EQ(MPIX_RMA_Complete(&world, next()), MPI_SUCCESS);
      ASSERT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
      EXPECT_NE(MPIX_RMA_Complete(&world, target), MPI_SUCCESS);
    }
    if (MPIX_RMA_xfer_rma(MPIX_RMA_GET, &value_, 1, MPI_DOUBLE, next(), nowhere, 1, MPI_DOUBLE, &own,
                          &world) == MPI_SUCCESS) {
      ASSERT_EQ(MPIX_RMA_Complete(&world, next()), MPI_SUCCESS);
      ASSERT_EQ(MPIX_Rma_request_free(&own), MPI_SUCCESS);
      EXPECT_NE(MPIX_RMA_Complete(&world, target), MPI_SUCCESS);
    }
    EXPECT_EQ(MPIX_RMA_Complete(&world, MPIX_ALL_RANKS), MPI_SUCCESS);
  }
  MPI_Barrier(world);
}

TEST_F(Requests, FreedLeaveTheirFailureToCompletionsOfTheirTarget) {
  if (memory_.size() == 1) GTEST_SKIP() << "needs two targets";
  ErrorsReturn const returned(world);
  auto* const nowhere = reinterpret_cast<void*>(0x40);
  for (bool const at_once : {true, false}) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (transfer(MPIX_RMA_GET, &value_, 1, MPI_DOUBLE, next(), nowhere, 0, &request) != MPI_SUCCESS) continue;
    if (!at_once) let_operations_fail();
    ASSERT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    let_operations_fail();
    int const me = memory_.rank();
    ASSERT_EQ(transfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, me, memory_.at(me, 0)), MPI_SUCCESS);
    EXPECT_EQ(MPIX_RMA_Complete(&world, me), MPI_SUCCESS) << "at once " << at_once;
    EXPECT_NE(MPIX_RMA_Complete(&world, next()), MPI_SUCCESS) << "at once " << at_once;
  }
  MPI_Barrier(world);
}

/// On public MPI a failed object stays, and can be used again.
void Requests::expect_object_works(MPI_Request& object, MPI_Comm comm) {
  EXPECT_TRUE(on_public_mpi());
  MPI_Request const before = object;
  EXPECT_EQ(MPIX_RMA_xfer_req(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, next(), memory_.at(next(), 0), 1,
                              MPI_DOUBLE, &object, &comm),
            MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&object, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(object, before);
  EXPECT_EQ(MPI_Request_free(&object), MPI_SUCCESS);
}

TEST_F(Requests, MpisCallsReportEachFailureOfAnArray) {
  ErrorsReturn const returned(world);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(world, &comm);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(&note_request_error, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPIX_RMA_Attributes const remote = attributes(MPIX_RMA_ATTR_REMOTE_COMPLETION);
  for (Finish const finish : {Finish{&wait_for_all}, Finish{&test_all},
                              Finish{&some_at_a_time<&MPI_Waitsome>}, Finish{&some_at_a_time<&MPI_Testsome>},
                              Finish{&wait_for_any}, Finish{&test_any}, Finish{&wait_for_each}}) {
    std::vector<MPI_Request> requests;
    int bad = 0;
    for (int i = 0; i < 6; ++i) {
      bool const fails = i % 3 != 0;
      void* const target = fails ? reinterpret_cast<void*>(0x10) : memory_.at(next(), 0);
      MPI_Request request = MPI_REQUEST_NULL;
      bool const object = i == 4;
      if (object) {
        ASSERT_EQ(MPIX_Req_set_attr(&request, MPIX_RMA_KEY_REMOTE_COMPLETION, MPIX_RMA_ON), MPI_SUCCESS);
      }
      int const code = object ? MPIX_RMA_xfer_req(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, next(), target, 1,
                                                  MPI_DOUBLE, &request, &comm)
                              : MPIX_RMA_xfer(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, next(), target, 1,
                                              MPI_DOUBLE, &request, &comm, &remote);
      if (code != MPI_SUCCESS) {  // a protocol that finds out at once
        if (object) MPI_Request_free(&request);
        continue;
      }
      bad += fails ? 1 : 0;
      requests.push_back(request);
    }
    if (bad == 0) {
      EXPECT_EQ(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
                MPI_SUCCESS);
      continue;
    }
    // The failures are known to MPI before the call.
    EXPECT_EQ(MPIX_RMA_Complete(&comm, next()), MPI_SUCCESS);
    int flag = 0;
    for (int i = 0; i < 3; ++i) MPI_Iprobe(MPI_ANY_SOURCE, 1, world, &flag, MPI_STATUS_IGNORE);
    request_handler_calls = 0;
    EXPECT_EQ(finish(requests), bad);
    if (!on_public_mpi()) {  // on public MPI, failures do not reach the communicator's handler
      EXPECT_GE(request_handler_calls, 1);
      EXPECT_EQ(handled_comm, comm);
    }
    for (MPI_Request& request : requests) {
      if (request != MPI_REQUEST_NULL) expect_object_works(request, comm);
    }
    EXPECT_EQ(MPIX_RMA_Complete(&comm, next()), MPI_SUCCESS);
  }
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
}

TEST_F(Requests, MayOccurTwiceInAnArray) {
  ErrorsReturn const returned(world);
  MPI_Comm comm = world;
  MPIX_Rma_request object = MPIX_RMA_REQUEST_NULL;
  ASSERT_EQ(MPIX_Rma_request_set_attr(&object, MPIX_RMA_KEY_ORDERING, MPIX_RMA_ON), MPI_SUCCESS);
  for (bool const tests : {false, true}) {
    MPIX_Rma_request plain = MPIX_RMA_REQUEST_NULL;
    for (MPIX_Rma_request* const request : {&plain, &object})
      ASSERT_EQ(MPIX_RMA_xfer_rma(MPIX_RMA_PUT, &value_, 1, MPI_DOUBLE, next(), memory_.at(next(), 0), 1,
                                  MPI_DOUBLE, request, &comm),
                MPI_SUCCESS);
    MPIX_Rma_request requests[4] = {plain, object, plain, object};
    int flag = tests ? 0 : 1;
    while (tests && flag == 0) ASSERT_EQ(MPIX_Rma_request_testall(4, requests, &flag), MPI_SUCCESS);
    if (!tests) ASSERT_EQ(MPIX_Rma_request_waitall(4, requests), MPI_SUCCESS);
    for (int const i : {0, 2}) EXPECT_EQ(requests[i], MPIX_RMA_REQUEST_NULL) << i;
    for (int const i : {1, 3}) EXPECT_EQ(requests[i], object) << i;
    EXPECT_EQ(class_of(MPIX_Rma_request_waitall(1, &plain)), MPI_ERR_REQUEST) << "freed before";
  }
  EXPECT_EQ(MPIX_Rma_request_free(&object), MPI_SUCCESS);
}

TEST_F(Requests, CannotBeStartedAlone) {
  if (on_public_mpi()) GTEST_SKIP() << "the request is one of MPI's own, which MPI_Start starts";
  ErrorsReturn const returned(world);
  MPI_Request request = MPI_REQUEST_NULL;
  ASSERT_EQ(MPIX_Req_set_attr(&request, MPIX_RMA_KEY_ORDERING, MPIX_RMA_ON), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPI_Start(&request)), MPI_ERR_REQUEST);
  EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
}

}  // namespace
}  // namespace mpixrma::test
