/// MPI's own blocking calls, on a host that drives the engine in them: their results are those of MPI, and
/// operations on the memory of the waiting process progress. Tested by the MPI_ and the PMPI_ name of each.
#include <string>

#include "tests/support/mpix_fixture.hpp"

namespace mpixrma::test {
namespace {

constexpr int tag = 7;

struct Calls {
  char const* name;
  decltype(&MPI_Barrier) barrier;
  decltype(&MPI_Recv) recv;
  decltype(&MPI_Probe) probe;
  decltype(&MPI_Mprobe) mprobe;
  decltype(&MPI_Wait) wait;
  decltype(&MPI_Waitall) waitall;
  decltype(&MPI_Waitany) waitany;
  decltype(&MPI_Waitsome) waitsome;
};

Calls const in_c{"MPI",     &MPI_Barrier, &MPI_Recv,    &MPI_Probe,   &MPI_Mprobe,
                 &MPI_Wait, &MPI_Waitall, &MPI_Waitany, &MPI_Waitsome};
/// The names that the Fortran bindings of Open MPI call.
Calls const profiled{"PMPI",     &PMPI_Barrier, &PMPI_Recv,    &PMPI_Probe,   &PMPI_Mprobe,
                     &PMPI_Wait, &PMPI_Waitall, &PMPI_Waitany, &PMPI_Waitsome};

class Waits : public ::testing::TestWithParam<Calls> {
 protected:
  Waits() {
    MPI_Comm_rank(world, &rank_);
    MPI_Comm_size(world, &size_);
  }

  /// Rank 0 waits by `wait` for one message with `sent` from rank 1, which sends it after operations on the
  /// memory of rank 0.
  template <typename Wait>
  void expect_served(Wait wait) {
    if (size_ < 2) GTEST_SKIP() << "one process does not wait for another";
    Memory memory(64);
    constexpr long updates = 100;
    if (rank_ == 0) wait();
    for (int kind = 0; kind < Memory::kinds && rank_ == 1; ++kind) {
      long one = 1;
      for (int i = 0; i < updates; ++i)
        ASSERT_EQ(transfer(MPIX_RMA_ACCUMULATE, &one, 1, MPI_LONG, 0, memory.at(0, kind)), MPI_SUCCESS);
      long found = 0;
      ASSERT_EQ(MPIX_RMA_Complete(&world, 0), MPI_SUCCESS);
      ASSERT_EQ(transfer(MPIX_RMA_GET, &found, 1, MPI_LONG, 0, memory.at(0, kind)), MPI_SUCCESS);
      ASSERT_EQ(MPIX_RMA_Complete(&world, 0), MPI_SUCCESS);
      EXPECT_EQ(found, updates) << "memory of kind " << kind;
    }
    if (rank_ == 1) MPI_Send(&sent, 1, MPI_INT, 0, tag, world);
  }
  void expect(MPI_Status const& status) const {
    EXPECT_EQ(received, sent);
    EXPECT_EQ(status.MPI_SOURCE, 1);
    EXPECT_EQ(status.MPI_TAG, tag);
    int count = 0;
    MPI_Get_count(&status, MPI_INT, &count);
    EXPECT_EQ(count, 1);
  }
  MPI_Request receive() {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&received, 1, MPI_INT, 1, tag, world, &request);
    return request;
  }

  Calls const mpi = GetParam();
  int const sent = 42;
  int received = 0;
  MPI_Status status{};
  int rank_ = 0;
  int size_ = 0;
};

TEST_P(Waits, ReceiveServes) {
  expect_served([&] {
    ASSERT_EQ(mpi.recv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status), MPI_SUCCESS);
    expect(status);
  });
}

TEST_P(Waits, WaitServes) {
  expect_served([&] {
    MPI_Request request = receive();
    ASSERT_EQ(mpi.wait(&request, &status), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    expect(status);
  });
}

TEST_P(Waits, WaitallServes) {
  expect_served([&] {
    MPI_Request requests[] = {MPI_REQUEST_NULL, receive()};
    MPI_Status statuses[2];
    ASSERT_EQ(mpi.waitall(2, requests, statuses), MPI_SUCCESS);
    expect(statuses[1]);
  });
}

TEST_P(Waits, WaitanyServes) {
  expect_served([&] {
    MPI_Request requests[] = {MPI_REQUEST_NULL, receive(), MPI_REQUEST_NULL};
    int index = -1;
    ASSERT_EQ(mpi.waitany(3, requests, &index, &status), MPI_SUCCESS);
    EXPECT_EQ(index, 1);
    expect(status);
  });
}

TEST_P(Waits, WaitsomeServes) {
  expect_served([&] {
    MPI_Request requests[] = {MPI_REQUEST_NULL, receive()};
    int indices[2] = {-1, -1};
    MPI_Status statuses[2];
    int completed = 0;
    ASSERT_EQ(mpi.waitsome(2, requests, &completed, indices, statuses), MPI_SUCCESS);
    ASSERT_EQ(completed, 1);
    EXPECT_EQ(indices[0], 1);
    expect(statuses[0]);
  });
}

TEST_P(Waits, ProbeServes) {
  expect_served([&] {
    ASSERT_EQ(mpi.probe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status), MPI_SUCCESS);
    mpi.recv(&received, 1, MPI_INT, 1, tag, world, MPI_STATUS_IGNORE);
    expect(status);
  });
}

TEST_P(Waits, MprobeServes) {
  expect_served([&] {
    MPI_Message message = MPI_MESSAGE_NULL;
    ASSERT_EQ(mpi.mprobe(1, tag, world, &message, &status), MPI_SUCCESS);
    ASSERT_EQ(MPI_Mrecv(&received, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
    expect(status);
  });
}

TEST_P(Waits, CompletedPersistentRequestIsInactive) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Recv_init(&received, 1, MPI_INT, rank_, tag, world, &request);
  for (int i = 1; i < 4; ++i) {
    MPI_Start(&request);
    MPI_Send(&i, 1, MPI_INT, rank_, tag, world);
    ASSERT_EQ(mpi.wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(received, i);
    ASSERT_NE(request, MPI_REQUEST_NULL);
    ASSERT_EQ(mpi.wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);  // inactive: there is nothing to wait for
  }
  MPI_Request_free(&request);
}

TEST_P(Waits, NullRequestsAndProcNullReturnAtOnce) {
  MPI_Request nothing[] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int number = 0;
  int indices[2];
  EXPECT_EQ(mpi.wait(nothing, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(mpi.waitall(2, nothing, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(mpi.waitall(0, nullptr, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(mpi.waitany(2, nothing, &number, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(number, MPI_UNDEFINED);
  EXPECT_EQ(mpi.waitsome(2, nothing, &number, indices, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(number, MPI_UNDEFINED);
  EXPECT_EQ(mpi.recv(&received, 1, MPI_INT, MPI_PROC_NULL, tag, world, &status), MPI_SUCCESS);
  EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
  EXPECT_EQ(mpi.probe(MPI_PROC_NULL, tag, world, &status), MPI_SUCCESS);
  EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
}

TEST_P(Waits, ErrorsMatchMpi) {
  ErrorsReturn const returned(world);
  int const two[2] = {1, 2};
  MPI_Request sending = MPI_REQUEST_NULL;
  MPI_Isend(two, 2, MPI_INT, rank_, tag, world, &sending);
  EXPECT_EQ(class_of(mpi.recv(&received, 1, MPI_INT, rank_, tag, world, MPI_STATUS_IGNORE)),
            MPI_ERR_TRUNCATE);
  EXPECT_EQ(mpi.wait(&sending, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(class_of(mpi.recv(&received, 1, MPI_INT, size_, tag, world, MPI_STATUS_IGNORE)), MPI_ERR_RANK);
  EXPECT_EQ(class_of(mpi.recv(&received, -1, MPI_INT, 0, tag, world, MPI_STATUS_IGNORE)), MPI_ERR_COUNT);
  EXPECT_EQ(class_of(mpi.barrier(MPI_COMM_NULL)), MPI_ERR_COMM);
}

TEST(Barrier, MatchesBothNames) {
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  for (int i = 0; i < 100; ++i) {
    Calls const& own = (rank + i) % 2 == 0 ? in_c : profiled;
    ASSERT_EQ(own.barrier(world), MPI_SUCCESS);
  }
}

INSTANTIATE_TEST_SUITE_P(Names, Waits, ::testing::Values(in_c, profiled),
                         [](auto const& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace mpixrma::test
