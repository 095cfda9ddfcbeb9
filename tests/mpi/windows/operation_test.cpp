/// Effects of operations, on windows of every flavour.
#include <array>
#include <numeric>

#include "tests/mpi/windows/window_fixture.hpp"

namespace mpixrma::test {
namespace {

class WindowOperations : public EveryFlavor {};
INSTANTIATE_TEST_SUITE_P(Flavors, WindowOperations, flavors);

TEST_P(WindowOperations, PutAndGetBetweenFences) {
  TestWindow const window(GetParam(), 4096);
  int const next = (world_rank() + 1) % world_size();
  std::vector<int> values(512);
  std::iota(values.begin(), values.end(), 1000 * world_rank());
  ASSERT_EQ(MPI_Win_fence(0, window.window), MPI_SUCCESS);
  ASSERT_EQ(MPI_Put(values.data(), 512, MPI_INT, next, window.at(next), 512, MPI_INT, window.window),
            MPI_SUCCESS);
  ASSERT_EQ(MPI_Win_fence(0, window.window), MPI_SUCCESS);
  int const before = (world_rank() + world_size() - 1) % world_size();
  for (int i = 0; i < 512; ++i) ASSERT_EQ(window.as<int>()[i], 1000 * before + i);
  std::vector<int> read(512, -1);
  ASSERT_EQ(MPI_Get(read.data(), 512, MPI_INT, next, window.at(next), 512, MPI_INT, window.window),
            MPI_SUCCESS);
  ASSERT_EQ(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.window), MPI_SUCCESS);
  EXPECT_EQ(read, values);
}

TEST_P(WindowOperations, CountersAreExact) {
  TestWindow const window(GetParam(), 64);
  constexpr int rounds = 200;
  long const one = 1;
  double const half = 0.5;
  ASSERT_EQ(MPI_Win_lock_all(0, window.window), MPI_SUCCESS);
  long before = -1;
  for (int i = 0; i < rounds; ++i) {
    long fetched = -1;
    MPI_Fetch_and_op(&one, &fetched, MPI_LONG, 0, window.at(0), MPI_SUM, window.window);
    MPI_Accumulate(&half, 1, MPI_DOUBLE, 0, window.at(0, 8), 1, MPI_DOUBLE, MPI_SUM, window.window);
    double seen = -1;
    MPI_Fetch_and_op(&half, &seen, MPI_DOUBLE, 0, window.at(0, 16), MPI_SUM, window.window);
    ASSERT_EQ(MPI_Win_flush(0, window.window), MPI_SUCCESS);
    ASSERT_GT(fetched, before);
    before = fetched;
  }
  ASSERT_EQ(MPI_Win_unlock_all(window.window), MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank() == 0) {
    EXPECT_EQ(window.as<long>()[0], long{rounds} * world_size());
    EXPECT_EQ(window.as<double>()[1], 0.5 * rounds * world_size());
    EXPECT_EQ(window.as<double>()[2], 0.5 * rounds * world_size());
  }
}

TEST_P(WindowOperations, ReplaceIsSeenByAFetchThatFollows) {
  TestWindow const window(GetParam(), 1024);
  int const next = (world_rank() + 1) % world_size();
  std::array<double, 100> values{};
  std::array<double, 100> fetched{};
  std::array<double, 100> ones{};
  values.fill(3.5);
  ones.fill(1);
  ASSERT_EQ(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, window.window), MPI_SUCCESS);
  MPI_Accumulate(values.data(), 100, MPI_DOUBLE, next, window.at(next), 100, MPI_DOUBLE, MPI_REPLACE,
                 window.window);
  MPI_Get_accumulate(ones.data(), 100, MPI_DOUBLE, fetched.data(), 100, MPI_DOUBLE, next, window.at(next),
                     100, MPI_DOUBLE, MPI_SUM, window.window);
  std::array<double, 100> last{};
  MPI_Get_accumulate(nullptr, 0, MPI_DOUBLE, last.data(), 100, MPI_DOUBLE, next, window.at(next), 100,
                     MPI_DOUBLE, MPI_NO_OP, window.window);
  ASSERT_EQ(MPI_Win_unlock(next, window.window), MPI_SUCCESS);
  EXPECT_EQ(fetched, values);
  values.fill(4.5);
  EXPECT_EQ(last, values);
}

TEST_P(WindowOperations, CompareAndSwapSucceedsAtOneRank) {
  TestWindow const window(GetParam(), 64);
  int const mine = world_rank() + 1;
  int const nobody = 0;
  int found = -1;
  ASSERT_EQ(MPI_Win_lock_all(0, window.window), MPI_SUCCESS);
  ASSERT_EQ(MPI_Compare_and_swap(&mine, &nobody, &found, MPI_INT, 0, window.at(0, 4), window.window),
            MPI_SUCCESS);
  ASSERT_EQ(MPI_Win_unlock_all(window.window), MPI_SUCCESS);
  int const won = found == 0 ? 1 : 0;
  int winners = 0;
  MPI_Allreduce(&won, &winners, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(winners, 1);
  if (won == 0) {
    EXPECT_GE(found, 1);
  }
}

TEST_P(WindowOperations, RequestsComplete) {
  TestWindow const window(GetParam(), 4096);
  int const next = (world_rank() + 1) % world_size();
  std::vector<long> values(256, world_rank() + 1);
  std::vector<long> read(256, -1);
  std::vector<long> fetched(256, -1);
  MPI_Request request = MPI_REQUEST_NULL;
  ASSERT_EQ(MPI_Win_lock_all(0, window.window), MPI_SUCCESS);
  MPI_Rput(values.data(), 256, MPI_LONG, next, window.at(next), 256, MPI_LONG, window.window, &request);
  ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  MPI_Win_flush(next, window.window);
  MPI_Rget(read.data(), 256, MPI_LONG, next, window.at(next), 256, MPI_LONG, window.window, &request);
  ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(read, values);
  MPI_Raccumulate(values.data(), 256, MPI_LONG, next, window.at(next), 256, MPI_LONG, MPI_SUM, window.window,
                  &request);
  ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  MPI_Rget_accumulate(nullptr, 0, MPI_LONG, fetched.data(), 256, MPI_LONG, next, window.at(next), 256,
                      MPI_LONG, MPI_NO_OP, window.window, &request);
  ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(fetched, std::vector<long>(256, 2 * (world_rank() + 1)));
  ASSERT_EQ(MPI_Win_unlock_all(window.window), MPI_SUCCESS);
}

/// A column of a matrix, from its last row upwards: a negative lower bound.
TEST_P(WindowOperations, TypesWithANegativeLowerBound) {
  TestWindow const window(GetParam(), 64 * sizeof(int));
  int const next = (world_rank() + 1) % world_size();
  MPI_Datatype backwards = MPI_DATATYPE_NULL;
  MPI_Type_vector(8, 1, -8, MPI_INT, &backwards);
  MPI_Type_commit(&backwards);
  std::array<int, 8> values{};
  std::iota(values.begin(), values.end(), 10 * world_rank());
  ASSERT_EQ(MPI_Win_fence(0, window.window), MPI_SUCCESS);
  ASSERT_EQ(MPI_Put(values.data(), 8, MPI_INT, next, window.at(next, (56 + 3) * sizeof(int)), 1, backwards,
                    window.window),
            MPI_SUCCESS);
  ASSERT_EQ(MPI_Win_fence(0, window.window), MPI_SUCCESS);
  int const before = (world_rank() + world_size() - 1) % world_size();
  for (int row = 0; row < 8; ++row) EXPECT_EQ(window.as<int>()[8 * row + 3], 10 * before + 7 - row);
  MPI_Type_free(&backwards);
}

TEST_P(WindowOperations, ProcNullAndZeroCountsMoveNoData) {
  TestWindow const window(GetParam(), 64);
  int value = 1;
  MPI_Request request = MPI_REQUEST_NULL;
  ASSERT_EQ(MPI_Win_lock_all(0, window.window), MPI_SUCCESS);
  EXPECT_EQ(MPI_Put(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, window.window), MPI_SUCCESS);
  EXPECT_EQ(MPI_Rput(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, window.window, &request), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_Put(&value, 0, MPI_INT, 0, window.at(0), 0, MPI_INT, window.window), MPI_SUCCESS);
  ASSERT_EQ(MPI_Win_unlock_all(window.window), MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(window.as<int>()[0], 0);
}

TEST(DynamicWindow, SupportsManyRegions) {
  TestWindow const window(MPI_WIN_FLAVOR_DYNAMIC, 64);
  constexpr int regions = 100;
  std::vector<std::vector<long>> memory(regions, std::vector<long>(8, -1));
  std::vector<MPI_Aint> addresses(regions);
  for (std::size_t i = 0; i < regions; ++i) {
    ASSERT_EQ(MPI_Win_attach(window.window, memory[i].data(), 64), MPI_SUCCESS);
    MPI_Get_address(memory[i].data(), &addresses[i]);
  }
  std::vector<MPI_Aint> all(regions * static_cast<std::size_t>(world_size()));
  MPI_Allgather(addresses.data(), regions, MPI_AINT, all.data(), regions, MPI_AINT, MPI_COMM_WORLD);
  int const next = (world_rank() + 1) % world_size();
  std::vector<long> values(regions);
  std::iota(values.begin(), values.end(), 1000 * world_rank());
  ASSERT_EQ(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, window.window), MPI_SUCCESS);
  for (std::size_t i = 0; i < regions; ++i)
    ASSERT_EQ(MPI_Put(&values[i], 1, MPI_LONG, next,
                      all[static_cast<std::size_t>(next) * regions + i] + 8 * static_cast<MPI_Aint>(i % 8), 1,
                      MPI_LONG, window.window),
              MPI_SUCCESS);
  ASSERT_EQ(MPI_Win_unlock(next, window.window), MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  int const before = (world_rank() + world_size() - 1) % world_size();
  for (std::size_t i = 0; i < regions; ++i) EXPECT_EQ(memory[i][i % 8], 1000 * before + static_cast<long>(i));
  EXPECT_EQ(class_of(MPI_Win_attach(window.window, memory[0].data(), 8)), MPI_ERR_RMA_ATTACH);
  for (auto& region : memory) ASSERT_EQ(MPI_Win_detach(window.window, region.data()), MPI_SUCCESS);
}

TEST(SharedWindow, PartsFollowEachOther) {
  if (!can_share()) GTEST_SKIP() << "no memory to share";
  MPI_Win window = MPI_WIN_NULL;
  int* base = nullptr;
  MPI_Aint const bytes = static_cast<MPI_Aint>(sizeof(int)) * (world_rank() + 1);
  ASSERT_EQ(MPI_Win_allocate_shared(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window),
            MPI_SUCCESS);
  base[world_rank()] = world_rank() + 100;
  MPI_Win_fence(0, window);
  int* first = nullptr;
  MPI_Aint size = 0;
  int unit = 0;
  ASSERT_EQ(MPI_Win_shared_query(window, MPI_PROC_NULL, &size, &unit, &first), MPI_SUCCESS);
  EXPECT_EQ(size, static_cast<MPI_Aint>(sizeof(int)));
  EXPECT_EQ(unit, static_cast<int>(sizeof(int)));
  int place = 0;
  for (int rank = 0; rank < world_size(); place += rank + 1, ++rank) {
    int* part = nullptr;
    ASSERT_EQ(MPI_Win_shared_query(window, rank, &size, &unit, &part), MPI_SUCCESS);
    EXPECT_EQ(part, first + place);
    EXPECT_EQ(part[rank], rank + 100);
  }
  MPI_Win_free(&window);
}

}  // namespace
}  // namespace mpixrma::test
