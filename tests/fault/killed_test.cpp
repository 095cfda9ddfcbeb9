/// Processes of another job that are killed: operations to them fail, everything else continues.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>

#include "tests/fault/meeting.hpp"
#include "tests/fault/spawn.hpp"
#include "tests/support/mpix_fixture.hpp"
#include "tests/support/stopped.hpp"

namespace mpixrma::test {
namespace {

using Clock = std::chrono::steady_clock;

int transport_class() {
  int address = 0;
  int transport = 0;
  EXPECT_EQ(MPIX_RMA_Error_class(MPIX_RMA_ERR_ADDRESS, &address), MPI_SUCCESS);
  EXPECT_EQ(MPIX_RMA_Error_class(MPIX_RMA_ERR_TRANSPORT, &transport), MPI_SUCCESS);
  return transport;
}

/// meet() exchanges data with the children; afterwards the children run `part`.
class Killed : public ::testing::Test {
 protected:
  void meet(char const* part) {
    children_ = spawn(part, 2);
    meeting_ = std::make_unique<Meeting>(children_);
    meeting_->exchange();
    int const failures = meeting_->failures();
    int theirs = 0;
    MPI_Allreduce(&failures, &theirs, 1, MPI_INT, MPI_SUM, children_);
    ASSERT_EQ(failures + theirs, 0);
    pid_t const mine = ::getpid();
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, pids_, sizeof mine, MPI_BYTE, children_);
    MPI_Comm_set_errhandler(children_, MPI_ERRORS_RETURN);
    // The address of rank 0's memory, which the children have accessed.
    for (int kind = 0; kind < Meeting::kinds; ++kind) first_[kind] = meeting_->own(kind);
    MPI_Bcast(first_, sizeof first_, MPI_BYTE, 0, world);
  }

  /// A parent kills the children: by then MPI's messages from the children to others have arrived.
  void kill_children() {
    int rank = 0;
    MPI_Comm_rank(world, &rank);
    MPI_Barrier(world);
    if (rank != 0) return;
    for (pid_t const child : pids_) ::kill(child, SIGKILL);
  }

  int put_to_child(int child, int kind, std::uint64_t set) {
    MPIX_RMA_Attributes chosen = attributes(set);
    return MPIX_RMA_xfer(MPIX_RMA_PUT, &value_, 1, MPI_INT64_T, child, meeting_->at(child, kind), 1,
                         MPI_INT64_T, nullptr, &children_, &chosen);
  }

  /// Repeats a put to the child until a put fails, for 20 s at most. Returns the last result.
  int last_result(int child, int kind) {
    auto const end = Clock::now() + std::chrono::seconds(20);
    int result = MPI_SUCCESS;
    while (result == MPI_SUCCESS && Clock::now() < end)
      result = put_to_child(child, kind, MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_REMOTE_COMPLETION);
    return result;
  }

  /// Both ranks add at rank 0 in memory that the children have used, and rank 0 checks the sums.
  void sum_at_first() {
    MPI_Barrier(world);
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    constexpr std::size_t count = Meeting::words - Meeting::sum_at;
    for (int kind = 0; kind < Meeting::kinds; ++kind) {
      std::vector<std::int64_t> const before(meeting_->own(kind), meeting_->own(kind) + Meeting::words);
      MPI_Barrier(world);
      std::vector<std::int64_t> ones(count, 1);
      for (int turn = 0; turn < 5; ++turn) {
        EXPECT_EQ(transfer(MPIX_RMA_ACCUMULATE, ones.data(), count, MPI_INT64_T, 0,
                           first_[kind] + Meeting::sum_at, MPIX_RMA_ATTR_ATOMICITY | MPIX_RMA_ATTR_BLOCKING),
                  MPI_SUCCESS);
      }
      MPI_Barrier(world);
      if (rank != 0) continue;
      std::size_t wrong = 0;
      for (std::size_t i = Meeting::sum_at; i < Meeting::words; ++i)
        wrong += meeting_->own(kind)[i] == before[i] + 5 * size ? 0 : 1;
      EXPECT_EQ(wrong, 0u) << "kind " << kind;
    }
    MPI_Barrier(world);
  }

  void expect_gone(int child) {
    int const transport = transport_class();
    for (int kind = 0; kind < Meeting::kinds; ++kind)
      EXPECT_EQ(class_of(last_result(child, kind)), transport) << "kind " << kind;
    // Later calls report the failure themselves, and leave none to be reported afterwards.
    EXPECT_EQ(class_of(put_to_child(child, Meeting::allocated, 0)), transport);
  }

  MPI_Comm children_ = MPI_COMM_NULL;
  std::unique_ptr<Meeting> meeting_;
  pid_t pids_[2] = {};
  std::int64_t* first_[Meeting::kinds] = {};
  std::int64_t value_ = 7;
};

TEST_F(Killed, AtomicOperationsContinueAfterKillOfOrigins) {
  meet("killed");
  ::usleep(100000);  // they add meanwhile
  kill_children();
  for (int child = 0; child < 2; ++child) expect_gone(child);
  sum_at_first();
  meeting_->end();
  EXPECT_EQ(meeting_->failures(), 0);
}

TEST_F(Killed, KilledTargetFailsOperationsInFlight) {
  meet("waits");
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  if (rank == 0) {
    mpixrma::test::stop(pids_[0]);
    mpixrma::test::stop(pids_[1]);
  }
  MPI_Barrier(world);
  for (int child = 0; child < 2; ++child) EXPECT_EQ(put_to_child(child, Meeting::allocated, 0), MPI_SUCCESS);
  // More data than the connection buffers, from memory in use until the requests complete.
  std::vector<std::vector<std::int64_t>> many(10, std::vector<std::int64_t>(Meeting::words, 1));
  std::vector<MPI_Request> requests;
  for (auto& values : many) {
    MPIX_RMA_Attributes chosen = attributes(MPIX_RMA_ATTR_REMOTE_COMPLETION);
    constexpr int count = Meeting::words;
    EXPECT_EQ(
        MPIX_RMA_xfer(MPIX_RMA_PUT, values.data(), count, MPI_INT64_T, 0, meeting_->at(0, Meeting::allocated),
                      count, MPI_INT64_T, &requests.emplace_back(MPI_REQUEST_NULL), &children_, &chosen),
        MPI_SUCCESS);
  }
  kill_children();
  // A store is done when the call returns; a message never completes.
  int const result = std::getenv("MPIX_TEST_MESSAGES") != nullptr ? transport_class() : MPI_SUCCESS;
  for (MPI_Request& request : requests) EXPECT_EQ(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)), result);
  many.clear();
  for (int child = 0; child < 2; ++child) {
    EXPECT_EQ(class_of(MPIX_RMA_Complete(&children_, child)), result);
    EXPECT_EQ(MPIX_RMA_Complete(&children_, child), MPI_SUCCESS);
  }
  for (int child = 0; child < 2; ++child) expect_gone(child);
  EXPECT_EQ(MPIX_RMA_Complete(&children_, MPIX_ALL_RANKS), MPI_SUCCESS);
  sum_at_first();
  meeting_->end();
  EXPECT_EQ(meeting_->failures(), 0);
}

/// Operations to one child wait for earlier ones to the other child, but no longer than that child lives.
TEST_F(Killed, KilledTargetDoesNotBlockFenceOfAllRanks) {
  meet("waits");
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  if (rank == 0) mpixrma::test::stop(pids_[0]);
  MPI_Barrier(world);
  std::vector<std::int64_t> const values(Meeting::words, 1);
  constexpr int count = Meeting::words;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(
        MPIX_RMA_xfer(MPIX_RMA_PUT, const_cast<std::int64_t*>(values.data()), count, MPI_INT64_T, 0,
                      meeting_->at(0, Meeting::allocated), count, MPI_INT64_T, nullptr, &children_, nullptr),
        MPI_SUCCESS);
  }
  EXPECT_EQ(MPIX_RMA_Fence(&children_, MPIX_ALL_RANKS), MPI_SUCCESS);
  MPI_Barrier(world);
  std::jthread const kills([&] {
    ::usleep(200000);  // both ranks wait by then
    if (rank == 0) ::kill(pids_[0], SIGKILL);
  });
  EXPECT_EQ(put_to_child(1, Meeting::allocated, MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_REMOTE_COMPLETION),
            MPI_SUCCESS);
  int const result = std::getenv("MPIX_TEST_MESSAGES") != nullptr ? transport_class() : MPI_SUCCESS;
  EXPECT_EQ(class_of(MPIX_RMA_Complete(&children_, 0)), result);
  EXPECT_EQ(MPIX_RMA_Complete(&children_, MPIX_ALL_RANKS), MPI_SUCCESS);
  expect_gone(0);
  kill_children();
  expect_gone(1);
  meeting_->end();
  EXPECT_EQ(meeting_->failures(), 0);
}

}  // namespace
}  // namespace mpixrma::test
