/// Jobs that are spawned, exchange data with their parents, and end.
#include "tests/fault/spawn.hpp"
#include "tests/fault/meeting.hpp"
#include "tests/fault/own_process.hpp"
#include "tests/support/full_length.hpp"
#include "tests/support/mpix_fixture.hpp"

namespace mpixrma::test {
namespace {

void exchange_and_disconnect(char const* part) {
  MPI_Comm children = spawn(part, 2);
  Meeting meeting(children);
  meeting.exchange();
  meeting.fill();
  int const failures = meeting.failures();
  int theirs = 0;
  MPI_Allreduce(&failures, &theirs, 1, MPI_INT, MPI_SUM, children);
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(theirs, 0);
  EXPECT_TRUE(exchange_in_window(children, false));
  EXPECT_EQ(MPI_Comm_disconnect(&children), MPI_SUCCESS);
  meeting.end();
  EXPECT_EQ(meeting.failures(), 0);
}

TEST(Spawn, ReleasesResourcesOfEndedJobs) {
  constexpr std::int64_t memory_kib = Meeting::large_words * sizeof(std::int64_t) / 1024;
  exchange_and_disconnect("frees");
  exchange_and_disconnect("leaves");
  auto const descriptors = open_descriptors();
  auto const resident = resident_kib();
  for (int round = 0; round < 2; ++round) exchange_and_disconnect("leaves");
  // The end of the last two processes may not be detected yet.
  EXPECT_LE(open_descriptors(), descriptors + 4);
  EXPECT_LT(resident_kib() - resident, 3 * memory_kib);
}

// On the host on public MPI the parents wait for a timeout, because MPI's two kinds of barriers do not match.
TEST(Spawn, WorksWithChildrenWithoutTheLibrary) {
  MPI_Comm children = spawn("", 2, MPIX_SPAWNED_PLAIN);
  int rank = 0;
  MPI_Comm_rank(children, &rank);
  for (int child = 0; rank == 0 && child < 2; ++child) {
    int sent = -1;
    MPI_Recv(&sent, 1, MPI_INT, child, MPI_ANY_TAG, children, MPI_STATUS_IGNORE);
    EXPECT_EQ(sent, child);
  }
  MPI_Barrier(children);
  EXPECT_EQ(MPI_Comm_disconnect(&children), MPI_SUCCESS);
  exchange_and_disconnect("frees");
}

/// On the host on public MPI, children that start the library when the parents have given up waiting for it
/// are no targets, and no process waits for ever.
TEST(Spawn, ChildrenThatStartTheLibraryLateAreNoTargets) {
  if (shortened(2) != 1) GTEST_SKIP() << "waits for half a minute";
  MPI_Comm children = spawn("late", 2);
  MPI_Barrier(children);
  EXPECT_EQ(MPI_Comm_disconnect(&children), MPI_SUCCESS);
  exchange_and_disconnect("frees");
}

}  // namespace
}  // namespace mpixrma::test
