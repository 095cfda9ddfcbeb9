/// Windows to which memory is attached, and windows whose memory is shared.
#include <vector>

#include "tests/windows/support.hpp"

namespace mpixrma::test {
namespace {

class Dynamic : public WindowTest {
 protected:
  Dynamic() {
    MPI_Win_create_dynamic(MPI_INFO_NULL, world, &window_);
    MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN);
  }
  ~Dynamic() override { MPI_Win_free(&window_); }

  /// Sends `mine` to the previous rank, returns the value of the next.
  MPI_Aint from_next(MPI_Aint mine) const {
    MPI_Aint theirs = 0;
    MPI_Sendrecv(&mine, 1, MPI_AINT, previous_, 0, &theirs, 1, MPI_AINT, next_, 0, world, MPI_STATUS_IGNORE);
    return theirs;
  }
  static MPI_Aint address_of(void const* memory) {
    MPI_Aint address = 0;
    MPI_Get_address(memory, &address);
    return address;
  }
  MPI_Win window_ = MPI_WIN_NULL;
};

TEST_F(Dynamic, W1124_01_has_as_many_regions_as_are_attached) {
  constexpr int regions = 100;
  std::vector<std::vector<long>> memory(regions, std::vector<long>(513));
  std::vector<MPI_Aint> there;
  for (auto& region : memory) {
    EXPECT_EQ(MPI_Win_attach(window_, region.data(), 513 * 8), MPI_SUCCESS);
    there.push_back(from_next(address_of(region.data())));
  }
  MPI_Win_lock_all(0, window_);
  for (int i = 0; i < regions; ++i) {
    long const number = 1000 * rank_ + i;
    MPI_Put(&number, 1, MPI_LONG, next_, MPI_Aint_add(there[static_cast<std::size_t>(i)], 512 * 8), 1,
            MPI_LONG, window_);
    MPI_Win_flush(next_, window_);
  }
  MPI_Win_unlock_all(window_);
  MPI_Barrier(world);
  for (int i = 0; i < regions; ++i) {
    EXPECT_EQ(memory[static_cast<std::size_t>(i)][512], 1000 * previous_ + i);
    EXPECT_EQ(MPI_Win_detach(window_, memory[static_cast<std::size_t>(i)].data()), MPI_SUCCESS);
  }
}

TEST_F(Dynamic, W1124_02_regions_are_attached_and_detached) {
  std::vector<long> memory(4096);
  for (int round = 0; round < 20; ++round) {
    long* const mine = memory.data() + round * 8;
    EXPECT_EQ(MPI_Win_attach(window_, mine, 8192), MPI_SUCCESS);
    MPI_Aint const there = from_next(address_of(mine));
    long const number = round * 100 + rank_;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next_, 0, window_);
    MPI_Put(&number, 1, MPI_LONG, next_, there, 1, MPI_LONG, window_);
    MPI_Win_unlock(next_, window_);
    MPI_Barrier(world);
    EXPECT_EQ(*mine, round * 100 + previous_);
    EXPECT_EQ(MPI_Win_detach(window_, mine), MPI_SUCCESS);
    MPI_Barrier(world);
  }
}

TEST_F(Dynamic, W1124_03_attaching_is_local) {
  if (rank_ == 0) {
    long here[4] = {};
    EXPECT_EQ(MPI_Win_attach(window_, here, sizeof here), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_detach(window_, here), MPI_SUCCESS);
  }
}

TEST_F(Dynamic, W1124_04_regions_must_not_overlap) {
  std::vector<long> memory(64);
  MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN);
  ASSERT_EQ(MPI_Win_attach(window_, &memory[16], 32 * sizeof(long)), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPI_Win_attach(window_, &memory[0], 17 * sizeof(long))), MPI_ERR_RMA_ATTACH);
  EXPECT_EQ(class_of(MPI_Win_attach(window_, &memory[47], 8 * sizeof(long))), MPI_ERR_RMA_ATTACH);
  EXPECT_EQ(class_of(MPI_Win_attach(window_, &memory[20], 8)), MPI_ERR_RMA_ATTACH);
  EXPECT_EQ(MPI_Win_attach(window_, &memory[0], 16 * sizeof(long)), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_detach(window_, &memory[0]), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_detach(window_, &memory[16]), MPI_SUCCESS);
}

TEST_F(Dynamic, DisplacementsCountFromMpiBottomAndAcceptAbsoluteTypes) {
  long memory[4] = {};
  MPI_Win_attach(window_, memory, sizeof memory);
  MPI_Aint there = from_next(address_of(&memory[2]));
  MPI_Datatype absolute = MPI_DATATYPE_NULL;
  int const one = 1;
  MPI_Datatype const base = MPI_LONG;
  MPI_Type_create_struct(1, &one, &there, &base, &absolute);
  MPI_Type_commit(&absolute);
  long const number = 77 + rank_;
  MPI_Win_fence(0, window_);
  EXPECT_EQ(MPI_Put(&number, 1, MPI_LONG, next_, 0, 1, absolute, window_), MPI_SUCCESS);
  MPI_Win_fence(0, window_);
  EXPECT_EQ(memory[2], 77 + previous_);
  MPI_Type_free(&absolute);
  MPI_Win_detach(window_, memory);
}

TEST_F(Dynamic, OneOperationReachesSeveralRegions) {
  constexpr int region = 16;
  std::vector<long> memory(4 * region);
  // Two adjacent regions, and one behind memory that is not attached.
  for (int const first : {0, 1, 3})
    EXPECT_EQ(MPI_Win_attach(window_, &memory[static_cast<std::size_t>(first * region)], region * 8),
              MPI_SUCCESS);
  MPI_Aint const there = from_next(address_of(memory.data()));
  MPI_Datatype apart = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, region, 2 * region, MPI_LONG, &apart);
  MPI_Type_commit(&apart);
  std::vector<long> const numbers(2 * region, 100 + rank_);
  MPI_Win_fence(0, window_);
  EXPECT_EQ(MPI_Put(numbers.data(), 2 * region, MPI_LONG, next_, there, 2 * region, MPI_LONG, window_),
            MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_fence(0, window_), MPI_SUCCESS);
  EXPECT_EQ(MPI_Accumulate(numbers.data(), 2 * region, MPI_LONG, next_, MPI_Aint_add(there, region * 8), 1,
                           apart, MPI_SUM, window_),
            MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_fence(0, window_), MPI_SUCCESS);
  long const sums[] = {1, 2, 0, 1};  // how often `numbers` was added to each quarter
  for (std::size_t i = 0; i < memory.size(); ++i)
    EXPECT_EQ(memory[i], sums[i / region] * (100 + previous_)) << i;
  MPI_Type_free(&apart);
  for (int const first : {0, 1, 3})
    MPI_Win_detach(window_, &memory[static_cast<std::size_t>(first * region)]);
}

TEST_F(Dynamic, AttachesAndDetachesEmptyMemory) {
  long memory[4] = {};
  EXPECT_EQ(MPI_Win_attach(window_, memory, 0), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_attach(window_, memory, 0), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_attach(window_, memory, sizeof memory), MPI_SUCCESS);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(MPI_Win_detach(window_, memory), MPI_SUCCESS);
  MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN);
  EXPECT_NE(MPI_Win_detach(window_, memory), MPI_SUCCESS);
}

class Shared : public WindowTest {
 protected:
  void SetUp() override {
    if (!can_share()) GTEST_SKIP() << "no shared memory";
  }
};

TEST_F(Shared, W1123_01_memory_of_all_ranks_is_loaded_and_stored) {
  Window const window(Flavour::shared, 64, 8);
  MPI_Aint size = 0;
  int unit = 0;
  long* theirs = nullptr;
  EXPECT_EQ(MPI_Win_shared_query(window, next_, &size, &unit, &theirs), MPI_SUCCESS);
  EXPECT_EQ(size, 64);
  EXPECT_EQ(unit, 8);
  MPI_Win_lock_all(0, window);
  MPI_Barrier(world);
  theirs[5] = 50 + rank_;
  MPI_Win_sync(window);
  MPI_Barrier(world);
  MPI_Win_sync(window);
  EXPECT_EQ(window.base<long>()[5], 50 + previous_);
  MPI_Win_unlock_all(window);
}

/// Since MPI 4.1, MPI_Win_shared_query accepts every flavour. It returns size 0 if the memory cannot be
/// accessed by load and store.
TEST_F(Shared, W12_04_windows_of_other_flavours_may_be_shared) {
  Window const window(Flavour::allocate, 64, 8);
  MPI_Aint size = -1;
  int unit = 0;
  long* own = nullptr;
  int const code = MPI_Win_shared_query(window, rank_, &size, &unit, &own);
  if (class_of(code) == MPI_ERR_RMA_FLAVOR) GTEST_SKIP() << "an MPI or a component before 4.1";
  ASSERT_EQ(code, MPI_SUCCESS);
  EXPECT_EQ(size, 64);
  EXPECT_EQ(own, window.base<long>());
  long* theirs = nullptr;
  ASSERT_EQ(MPI_Win_shared_query(window, next_, &size, &unit, &theirs), MPI_SUCCESS);
  EXPECT_EQ(unit, 8);
  EXPECT_EQ(size, theirs != nullptr ? 64 : 0);
  MPI_Win_lock_all(0, window);
  MPI_Barrier(world);
  long const value = 50 + rank_;
  theirs != nullptr ? void(theirs[5] = value)
                    : void(MPI_Put(&value, 1, MPI_LONG, next_, 5, 1, MPI_LONG, window));
  MPI_Win_flush(next_, window);
  MPI_Win_sync(window);
  MPI_Barrier(world);
  MPI_Win_sync(window);
  EXPECT_EQ(window.base<long>()[5], 50 + previous_);
  MPI_Win_unlock_all(window);
}

TEST_F(Shared, W1123_02_is_contiguous_by_default) {
  Window const window(Flavour::shared, 64);
  MPI_Aint size = 0;
  int unit = 0;
  char* first = nullptr;
  MPI_Win_shared_query(window, 0, &size, &unit, &first);
  for (int rank = 0; rank < size_; ++rank) {
    char* theirs = nullptr;
    MPI_Win_shared_query(window, rank, &size, &unit, &theirs);
    EXPECT_EQ(theirs - first, 64 * rank);
  }
}

TEST_F(Shared, W1123_03_proc_null_queries_the_lowest_rank_with_memory) {
  Window const window(Flavour::shared, rank_ == 0 && size_ > 1 ? 0 : 64 + rank_ * 8, 4);
  MPI_Aint size = 0;
  int unit = 0;
  char* found = nullptr;
  char* expected = nullptr;
  int const lowest = size_ > 1 ? 1 : 0;
  MPI_Win_shared_query(window, lowest, &size, &unit, &expected);
  EXPECT_EQ(MPI_Win_shared_query(window, MPI_PROC_NULL, &size, &unit, &found), MPI_SUCCESS);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(size, 64 + lowest * 8);
  EXPECT_EQ(unit, 4);
}

TEST_F(Shared, W1123_04_need_not_be_contiguous) {
  Info const info{{"alloc_shared_noncontig", "true"}};
  Window const window(Flavour::shared, 64, 8, info.get());
  MPI_Aint size = 0;
  int unit = 0;
  long* theirs = nullptr;
  MPI_Win_shared_query(window, next_, &size, &unit, &theirs);
  EXPECT_EQ(size, 64);
  MPI_Win_fence(0, window);
  theirs[1] = rank_;
  MPI_Win_fence(0, window);
  EXPECT_EQ(window.base<long>()[1], previous_);
}

TEST_F(Shared, LoadsObserveOperations) {
  Window const window(Flavour::shared, 64, 8);
  MPI_Aint size = 0;
  int unit = 0;
  long* counter = nullptr;
  MPI_Win_shared_query(window, 0, &size, &unit, &counter);
  long const one = 1;
  MPI_Win_lock_all(0, window);
  MPI_Barrier(world);
  for (int i = 0; i < 1000; ++i) MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, window);
  MPI_Win_flush(0, window);
  MPI_Barrier(world);
  MPI_Win_sync(window);
  EXPECT_EQ(*counter, 1000 * size_);
  MPI_Win_unlock_all(window);
}

}  // namespace
}  // namespace mpixrma::test
