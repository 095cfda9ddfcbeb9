/// Creation of windows, their memory, and their attributes.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "tests/windows/support.hpp"

namespace mpixrma::test {
namespace {

class Creation : public FlavourTest {};
MPIX_ON_EACH_FLAVOUR(Creation);

TEST_P(Creation, W112_01_reaches_the_memory_of_every_rank) {
  Window const window(GetParam(), 4096);
  for (int const offset : {0, 8, 4088}) {
    long const number = 100 * rank_ + offset;
    long back = -1;
    MPI_Win_fence(0, window);
    EXPECT_EQ(MPI_Put(&number, 1, MPI_LONG, next_, window.at(next_, offset), 1, MPI_LONG, window),
              MPI_SUCCESS);
    MPI_Win_fence(0, window);
    EXPECT_EQ(MPI_Get(&back, 1, MPI_LONG, next_, window.at(next_, offset), 1, MPI_LONG, window), MPI_SUCCESS);
    MPI_Win_fence(0, window);
    EXPECT_EQ(back, number);
    EXPECT_EQ(window.base<long>()[offset / 8], 100 * previous_ + offset);
  }
}

TEST_P(Creation, W1126_01_attributes_describe_the_window) {
  int const unit = GetParam() == Flavour::dynamic ? 1 : 8;
  Window const window(GetParam(), 128 + 64 * rank_, unit);
  void* value = nullptr;
  int found = 0;
  MPI_Win_get_attr(window, MPI_WIN_CREATE_FLAVOR, &value, &found);
  ASSERT_TRUE(found);
  int const flavours[] = {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_SHARED,
                          MPI_WIN_FLAVOR_DYNAMIC};
  EXPECT_EQ(*static_cast<int*>(value), flavours[static_cast<int>(GetParam())]);
  MPI_Win_get_attr(window, MPI_WIN_MODEL, &value, &found);
  ASSERT_TRUE(found);
  EXPECT_EQ(*static_cast<int*>(value), MPI_WIN_UNIFIED);
  MPI_Win_get_attr(window, MPI_WIN_BASE, &value, &found);
  ASSERT_TRUE(found);
  EXPECT_EQ(value, GetParam() == Flavour::dynamic ? MPI_BOTTOM : window.base<void>());
  MPI_Win_get_attr(window, MPI_WIN_SIZE, &value, &found);
  ASSERT_TRUE(found);
  EXPECT_EQ(*static_cast<MPI_Aint*>(value), GetParam() == Flavour::dynamic ? 0 : 128 + 64 * rank_);
  MPI_Win_get_attr(window, MPI_WIN_DISP_UNIT, &value, &found);
  ASSERT_TRUE(found);
  EXPECT_EQ(*static_cast<int*>(value), unit);
}

TEST_P(Creation, W1126_02_gives_its_group) {
  Window const window(GetParam(), 64);
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group all = MPI_GROUP_NULL;
  EXPECT_EQ(MPI_Win_get_group(window, &group), MPI_SUCCESS);
  MPI_Comm_group(world, &all);
  int same = MPI_UNEQUAL;
  MPI_Group_compare(group, all, &same);
  EXPECT_EQ(same, MPI_IDENT);
  MPI_Group_free(&group);
  MPI_Group_free(&all);
}

TEST_P(Creation, W112_02_on_part_of_the_processes) {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(world, rank_ % 2, -rank_, &part);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(part, &rank);
  MPI_Comm_size(part, &size);
  {
    Window const window(GetParam(), 64, 1, MPI_INFO_NULL, part);
    long const number = 1000 + rank_;
    int const next = (rank + 1) % size;
    MPI_Win_fence(0, window);
    MPI_Put(&number, 1, MPI_LONG, next, window.at(next, 8), 1, MPI_LONG, window);
    MPI_Win_fence(0, window);
    int const from = (rank + size - 1) % size;  // ranks count backwards
    int world_rank = 0;
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group some = MPI_GROUP_NULL;
    MPI_Comm_group(world, &all);
    MPI_Comm_group(part, &some);
    MPI_Group_translate_ranks(some, 1, &from, all, &world_rank);
    MPI_Group_free(&all);
    MPI_Group_free(&some);
    EXPECT_EQ(window.base<long>()[1], 1000 + world_rank);
  }
  MPI_Comm_free(&part);
}

TEST_P(Creation, W112_03_some_ranks_bring_no_memory) {
  bool const brings = rank_ % 2 == 0;
  Window const window(GetParam(), brings ? 64 : 0);
  long const number = 7;
  MPI_Win_fence(0, window);
  if (rank_ == size_ - 1)
    EXPECT_EQ(MPI_Accumulate(&number, 1, MPI_LONG, 0, window.at(0, 0), 1, MPI_LONG, MPI_SUM, window),
              MPI_SUCCESS);
  MPI_Win_fence(0, window);
  if (rank_ == 0) EXPECT_EQ(window.base<long>()[0], 7);
  Window const nothing(GetParam(), 0);
  MPI_Win_fence(0, nothing);
  MPI_Win_fence(0, nothing);
}

TEST_P(Creation, W112_04_displacement_units_differ_by_rank) {
  if (GetParam() == Flavour::dynamic) GTEST_SKIP() << "has none";
  int const units[] = {1, 4, 8, 16, 24, 2, 12, 3};
  int const unit = units[rank_ % 8];
  int const unit_of_next = units[next_ % 8];
  Window const window(GetParam(), 480, unit);
  int const number = 31 + rank_;
  MPI_Win_fence(0, window);
  MPI_Put(&number, 1, MPI_INT, next_, 240 / unit_of_next, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  EXPECT_EQ(window.base<int>()[60], 31 + previous_);
}

TEST_P(Creation, CanBeRepeated) {
  for (int i = 1; i <= 30; ++i) {
    Window const window(GetParam(), 64 * i);
    long const number = i;
    MPI_Win_lock_all(0, window);
    MPI_Put(&number, 1, MPI_LONG, next_, window.at(next_, 64 * i - 8), 1, MPI_LONG, window);
    MPI_Win_unlock_all(window);
    MPI_Barrier(world);
    EXPECT_EQ(window.base<long>()[8 * i - 1], i);
  }
}

TEST_F(WindowTest, W1121_01_windows_overlap_on_one_buffer) {
  std::vector<long> buffer(64);
  MPI_Win whole = MPI_WIN_NULL;
  MPI_Win half = MPI_WIN_NULL;
  ASSERT_EQ(MPI_Win_create(buffer.data(), 512, 8, MPI_INFO_NULL, world, &whole), MPI_SUCCESS);
  ASSERT_EQ(MPI_Win_create(buffer.data() + 32, 256, 1, MPI_INFO_NULL, world, &half), MPI_SUCCESS);
  long number = 5 + rank_;
  MPI_Win_fence(0, whole);
  MPI_Put(&number, 1, MPI_LONG, next_, 40, 1, MPI_LONG, whole);
  MPI_Win_fence(0, whole);
  MPI_Win_fence(0, half);
  number = -1;
  MPI_Get(&number, 1, MPI_LONG, next_, 64, 1, MPI_LONG, half);
  MPI_Win_fence(0, half);
  EXPECT_EQ(number, 5 + rank_);
  MPI_Win_free(&half);
  // The other window continues to work.
  number = 9;
  MPI_Win_fence(0, whole);
  MPI_Accumulate(&number, 1, MPI_LONG, next_, 40, 1, MPI_LONG, MPI_SUM, whole);
  MPI_Win_fence(0, whole);
  EXPECT_EQ(buffer[40], 14 + previous_);
  MPI_Win_free(&whole);
}

/// Expects a window on this memory to receive what all ranks add to it.
void expect_window_on(void* memory, int rank, int size) {
  MPI_Win window = MPI_WIN_NULL;
  ASSERT_EQ(MPI_Win_create(memory, 64, 8, MPI_INFO_NULL, world, &window), MPI_SUCCESS);
  static_cast<long*>(memory)[3] = rank;
  long const one = 1;
  MPI_Win_fence(0, window);
  for (int target = 0; target < size; ++target)
    MPI_Accumulate(&one, 1, MPI_LONG, target, 3, 1, MPI_LONG, MPI_SUM, window);
  MPI_Win_fence(0, window);
  EXPECT_EQ(static_cast<long*>(memory)[3], rank + size);
  MPI_Win_free(&window);
}

TEST_F(WindowTest, W1121_02_stands_on_memory_of_every_kind) {
  alignas(64) long stack[8] = {};
  expect_window_on(stack, rank_, size_);
  static long global[8];
  expect_window_on(global, rank_, size_);
  void* allocated = nullptr;
  MPI_Alloc_mem(64, MPI_INFO_NULL, &allocated);
  expect_window_on(allocated, rank_, size_);
  MPI_Free_mem(allocated);
  std::FILE* const file = std::tmpfile();
  ASSERT_EQ(::ftruncate(::fileno(file), 4096), 0);
  void* const mapped = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ::fileno(file), 0);
  expect_window_on(mapped, rank_, size_);
  ::munmap(mapped, 4096);
  std::fclose(file);
  Window const other(Flavour::allocate, 128);
  expect_window_on(other.base() + 64, rank_, size_);
}

TEST_F(WindowTest, ReadOnlyMemoryIsRefusedToItsOwnProcessToo) {
  void* const place = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MPI_Win window = MPI_WIN_NULL;
  ASSERT_EQ(MPI_Win_create(place, 4096, 1, MPI_INFO_NULL, world, &window), MPI_SUCCESS);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  MPI_Win_lock_all(0, window);
  for (int const target : {rank_, next_}) {
    long value = 7;
    int code = MPI_Put(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, window);
    if (code == MPI_SUCCESS) code = MPI_Win_flush(target, window);
    EXPECT_EQ(class_of(code), MPI_ERR_RMA_RANGE) << "rank " << target;
    EXPECT_EQ(MPI_Get(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, window), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_flush(target, window), MPI_SUCCESS);
    EXPECT_EQ(value, 0);
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  ::munmap(place, 4096);
}

TEST_F(WindowTest, MemoryAtReusedAddressIsNew) {
  void* const place = ::mmap(nullptr, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int round = 0; round < 5; ++round) {
    ::mmap(place, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    MPI_Win window = MPI_WIN_NULL;
    MPI_Win_create(place, 1 << 20, 1, MPI_INFO_NULL, world, &window);
    std::vector<long> const data(4096, round + 10);
    MPI_Win_fence(0, window);
    MPI_Put(data.data(), 4096, MPI_LONG, next_, 8192, 4096, MPI_LONG, window);
    MPI_Win_fence(0, window);
    EXPECT_EQ(static_cast<long*>(place)[1024], round + 10);
    EXPECT_EQ(static_cast<long*>(place)[1024 + 4095], round + 10);
    MPI_Win_free(&window);
    ::munmap(place, 1 << 20);
    ::mmap(place, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  }
  ::munmap(place, 1 << 20);
}

/// The number of windows is MPIX_TEST_WINDOWS, 200 by default.
TEST_F(WindowTest, ManyWindowsCoexist) {
  char const* const wanted = std::getenv("MPIX_TEST_WINDOWS");
  int const count = wanted != nullptr ? std::atoi(wanted) : 200;
  std::vector<MPI_Win> windows(static_cast<std::size_t>(count));
  std::vector<long*> memory(windows.size());
  for (std::size_t i = 0; i < windows.size(); ++i) {
    ASSERT_EQ(MPI_Win_allocate(64, 8, MPI_INFO_NULL, world, &memory[i], &windows[i]), MPI_SUCCESS) << i;
    memory[i][0] = 0;
  }
  MPI_Barrier(world);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    auto const number = static_cast<long>(i) + rank_;
    MPI_Win_lock(MPI_LOCK_SHARED, next_, 0, windows[i]);
    MPI_Put(&number, 1, MPI_LONG, next_, 0, 1, MPI_LONG, windows[i]);
    MPI_Win_unlock(next_, windows[i]);
  }
  MPI_Barrier(world);
  for (std::size_t i = 0; i < windows.size(); ++i) EXPECT_EQ(memory[i][0], static_cast<long>(i) + previous_);
  for (MPI_Win& window : windows) EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

}  // namespace
}  // namespace mpixrma::test
