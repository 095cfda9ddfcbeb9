/// MPI's own calls in which a process waits, on a host that moves the engine there: what they return is MPI's,
/// and operations on the memory of who waits get on.
#include "tests/support/mpix_fixture.hpp"

namespace mpix::test {
namespace {

constexpr int tag = 7;

class Waits : public ::testing::Test {
 protected:
  Waits() {
    MPI_Comm_rank(world, &rank_);
    MPI_Comm_size(world, &size_);
  }

  /// Rank 0 waits by `wait` for one message with `sent` of rank 1, which comes after operations on its memory.
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

  int const sent = 42;
  int received = 0;
  MPI_Status status{};
  int rank_ = 0;
  int size_ = 0;
};

TEST_F(Waits, receive_serves) {
  expect_served([&] {
    ASSERT_EQ(MPI_Recv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status), MPI_SUCCESS);
    expect(status);
  });
}

TEST_F(Waits, wait_serves) {
  expect_served([&] {
    MPI_Request request = receive();
    ASSERT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    expect(status);
  });
}

TEST_F(Waits, waitall_serves) {
  expect_served([&] {
    MPI_Request requests[] = {MPI_REQUEST_NULL, receive()};
    MPI_Status statuses[2];
    ASSERT_EQ(MPI_Waitall(2, requests, statuses), MPI_SUCCESS);
    expect(statuses[1]);
  });
}

TEST_F(Waits, waitany_serves) {
  expect_served([&] {
    MPI_Request requests[] = {MPI_REQUEST_NULL, receive(), MPI_REQUEST_NULL};
    int index = -1;
    ASSERT_EQ(MPI_Waitany(3, requests, &index, &status), MPI_SUCCESS);
    EXPECT_EQ(index, 1);
    expect(status);
  });
}

TEST_F(Waits, waitsome_serves) {
  expect_served([&] {
    MPI_Request requests[] = {MPI_REQUEST_NULL, receive()};
    int indices[2] = {-1, -1};
    MPI_Status statuses[2];
    int completed = 0;
    ASSERT_EQ(MPI_Waitsome(2, requests, &completed, indices, statuses), MPI_SUCCESS);
    ASSERT_EQ(completed, 1);
    EXPECT_EQ(indices[0], 1);
    expect(statuses[0]);
  });
}

TEST_F(Waits, probe_serves) {
  expect_served([&] {
    ASSERT_EQ(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status), MPI_SUCCESS);
    MPI_Recv(&received, 1, MPI_INT, 1, tag, world, MPI_STATUS_IGNORE);
    expect(status);
  });
}

TEST_F(Waits, mprobe_serves) {
  expect_served([&] {
    MPI_Message message = MPI_MESSAGE_NULL;
    ASSERT_EQ(MPI_Mprobe(1, tag, world, &message, &status), MPI_SUCCESS);
    ASSERT_EQ(MPI_Mrecv(&received, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
    expect(status);
  });
}

TEST_F(Waits, a_persistent_request_is_inactive_afterwards) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Recv_init(&received, 1, MPI_INT, rank_, tag, world, &request);
  for (int i = 1; i < 4; ++i) {
    MPI_Start(&request);
    MPI_Send(&i, 1, MPI_INT, rank_, tag, world);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(received, i);
    ASSERT_NE(request, MPI_REQUEST_NULL);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);  // inactive: there is nothing to wait for
  }
  MPI_Request_free(&request);
}

TEST_F(Waits, nothing_is_waited_for_where_there_is_nothing) {
  MPI_Request nothing[] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int number = 0;
  int indices[2];
  EXPECT_EQ(MPI_Wait(nothing, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_Waitall(2, nothing, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_Waitall(0, nullptr, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_Waitany(2, nothing, &number, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(number, MPI_UNDEFINED);
  EXPECT_EQ(MPI_Waitsome(2, nothing, &number, indices, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(number, MPI_UNDEFINED);
  EXPECT_EQ(MPI_Recv(&received, 1, MPI_INT, MPI_PROC_NULL, tag, world, &status), MPI_SUCCESS);
  EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
  EXPECT_EQ(MPI_Probe(MPI_PROC_NULL, tag, world, &status), MPI_SUCCESS);
  EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
}

TEST_F(Waits, errors_are_those_of_mpi) {
  ErrorsReturn const returned(world);
  int const two[2] = {1, 2};
  MPI_Request sending = MPI_REQUEST_NULL;
  MPI_Isend(two, 2, MPI_INT, rank_, tag, world, &sending);
  EXPECT_EQ(class_of(MPI_Recv(&received, 1, MPI_INT, rank_, tag, world, MPI_STATUS_IGNORE)), MPI_ERR_TRUNCATE);
  EXPECT_EQ(MPI_Wait(&sending, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPI_Recv(&received, 1, MPI_INT, size_, tag, world, MPI_STATUS_IGNORE)), MPI_ERR_RANK);
  EXPECT_EQ(class_of(MPI_Recv(&received, -1, MPI_INT, 0, tag, world, MPI_STATUS_IGNORE)), MPI_ERR_COUNT);
  EXPECT_EQ(class_of(MPI_Barrier(MPI_COMM_NULL)), MPI_ERR_COMM);
}

}  // namespace
}  // namespace mpix::test
