/// Tables of ranks in windows with many ranks: empty if all ranks are alike.
#include "tests/windows/performance_variable.hpp"
#include "tests/windows/support.hpp"

namespace mpixrma::test {
namespace {

/// Returns the bytes of all processes' tables of ranks.
unsigned long long table_bytes() {
  unsigned long long bytes = PerformanceVariable("osc_mpix_rank_table_bytes", MPI_T_PVAR_CLASS_LEVEL).value();
  MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  return bytes;
}

/// Exchanges values with near and far ranks, in memory of `slots(rank)` longs, at least three.
template <typename Slots>
void exchange(Window& window, MPI_Comm comm, int unit, Slots slots) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Win_fence(0, window);
  long const number = rank;
  long const one = 1;
  int const next = (rank + 1) % size;
  int const far = (rank + size / 2) % size;
  MPI_Put(&number, 1, MPI_LONG, next, window.at(next, 8 * (slots(next) - 1)), 1, MPI_LONG, window);
  MPI_Put(&number, 1, MPI_LONG, far, window.at(far, 0), 1, MPI_LONG, window);
  MPI_Accumulate(&one, 1, MPI_LONG, 0, window.at(0, 8), 1, MPI_LONG, MPI_SUM, window);
  MPI_Win_fence(0, window);
  long got = -1;
  MPI_Get(&got, 1, MPI_LONG, far, window.at(far, 0), 1, MPI_LONG, window);
  MPI_Win_fence(0, window);
  EXPECT_EQ(got, rank);
  EXPECT_EQ(window.base<long>()[slots(rank) - 1], (rank + size - 1) % size) << "unit " << unit;
  EXPECT_EQ(window.base<long>()[0], (rank + size - size / 2) % size);
  if (rank == 0) {
    EXPECT_EQ(window.base<long>()[1], size);
  }
}

void expect_no_table(Flavour flavour, MPI_Comm comm = MPI_COMM_WORLD) {
  SCOPED_TRACE(name_of(flavour));
  constexpr int unit = 8;
  unsigned long long const before = table_bytes();  // tables of small windows remain
  Window window(flavour, 8 * 4, unit, MPI_INFO_NULL, comm);
  EXPECT_EQ(table_bytes(), before);
  exchange(window, comm, unit, [](int) { return 4; });
}

constexpr Flavour flavours[] = {Flavour::create, Flavour::allocate, Flavour::shared, Flavour::dynamic};

TEST(RankTable, HasNoEntriesIfRanksAreAlike) {
  for (Flavour const flavour : flavours) expect_no_table(flavour);
}

TEST(RankTable, HasNoEntriesForRegularPartsOfTheJob) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm part = MPI_COMM_NULL;
  // Groups of fewer than 16 ranks have tables.
  MPI_Comm_split(MPI_COMM_WORLD, size < 32 ? 0 : rank % 2, -rank, &part);
  expect_no_table(Flavour::allocate, part);
  MPI_Comm_free(&part);
}

/// Some ranks create windows and memory of their own, so that internal ids differ between processes.
TEST(RankTable, HasNoEntriesAfterRanksDidDifferentThings) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 5, 0, &part);
  {
    Window const shared(Flavour::shared, 64, 1, MPI_INFO_NULL, part);
    void* own = nullptr;
    if (rank % 3 == 0) MPI_Alloc_mem(1000, MPI_INFO_NULL, &own);
    expect_no_table(Flavour::create);
    expect_no_table(Flavour::shared);
    if (own != nullptr) MPI_Free_mem(own);
  }
  expect_no_table(Flavour::create);
  MPI_Comm_free(&part);
}

TEST(RankTable, IsKeptOnceIfRanksDiffer) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  EXPECT_EQ(table_bytes(), 0u) << "of windows that have gone";
  {
    auto const slots = [](int of) { return 3 + of % 7; };
    Window window(Flavour::allocate, 8 * slots(rank), 1);
    unsigned long long const kept = table_bytes();
    EXPECT_GT(kept, 0u);
    if (on_one_host()) {
      EXPECT_EQ(kept, 64ull * static_cast<unsigned>(size));
    }
    exchange(window, MPI_COMM_WORLD, 1, slots);
    int const unit = rank % 2 == 0 ? 4 : 8;
    Window units(Flavour::create, 32, unit);
    exchange(units, MPI_COMM_WORLD, unit, [](int) { return 4; });
  }
  {
    MPI_Comm mixed = MPI_COMM_NULL;  // process numbers cannot be computed from ranks
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank * 11 % size, &mixed);
    {
      Window window(Flavour::allocate, 32, 8, MPI_INFO_NULL, mixed);
      EXPECT_GT(table_bytes(), 0u);
      exchange(window, mixed, 8, [](int) { return 4; });
    }
    MPI_Comm_free(&mixed);
  }
  EXPECT_EQ(table_bytes(), 0u) << "after the windows";
}

}  // namespace
}  // namespace mpixrma::test
