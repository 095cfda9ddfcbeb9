/// Communicatable memory: the calls that allocate, register and list it.
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/support/host.hpp"
#include "tests/support/mpix_fixture.hpp"

namespace mpixrma::test {
namespace {

class CommunicatableMemoryCalls : public ::testing::Test {
 protected:
  ErrorsReturn returned_{MPI_COMM_WORLD};
  Memory memory_{256};
};

TEST_F(CommunicatableMemoryCalls, FreeByTheCounterpartOfTheAllocation) {
  void* local = nullptr;
  ASSERT_EQ(rma_allocate_local(64, MPI_INFO_NULL, &local), MPI_SUCCESS);
  // One rank's wrong base fails the call at all ranks, and nothing is freed.
  void* const base = memory_.own(Memory::allocated);
  EXPECT_EQ(class_of(rma_free(memory_.rank() == 0 ? local : base, world)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(rma_free_local(base)), MPI_ERR_ARG);
  EXPECT_TRUE(is_communicatable(world, memory_.rank(), base));
  EXPECT_TRUE(is_communicatable(world, memory_.rank(), local));
  EXPECT_EQ(rma_free_local(local), MPI_SUCCESS);
}

TEST_F(CommunicatableMemoryCalls, AreNotUndoneByFreeMem) {
  void* local = nullptr;
  ASSERT_EQ(rma_allocate_local(64, MPI_INFO_NULL, &local), MPI_SUCCESS);
  MPI_Win window = MPI_WIN_NULL;
  void* shown = nullptr;
  MPI_Win_allocate(4096, 1, MPI_INFO_NULL, world, &shown, &window);
  void* const allocated[] = {local, memory_.own(Memory::allocated)};
  for (void* const base : allocated) {
    EXPECT_EQ(class_of(MPI_Free_mem(base)), MPI_ERR_BASE);
    EXPECT_TRUE(is_communicatable(world, memory_.rank(), base));
  }
  if (is_communicatable(world, memory_.rank(), shown)) {  // else of another component
    EXPECT_EQ(class_of(MPI_Free_mem(shown)), MPI_ERR_BASE);
  }
  void* from_mpi = nullptr;
  ASSERT_EQ(MPI_Alloc_mem(8192, MPI_INFO_NULL, &from_mpi), MPI_SUCCESS);
  EXPECT_EQ(class_of(rma_free_local(from_mpi)), MPI_ERR_ARG);
  EXPECT_EQ(MPI_Free_mem(from_mpi), MPI_SUCCESS);
  EXPECT_EQ(rma_free_local(local), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

TEST_F(CommunicatableMemoryCalls, FreeThroughAnotherCommunicatorOfTheSameProcesses) {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(world, &copy);
  void* base = nullptr;
  ASSERT_EQ(rma_allocate(64, MPI_INFO_NULL, copy, &base, nullptr), MPI_SUCCESS);
  MPI_Comm_free(&copy);
  EXPECT_TRUE(is_communicatable(world, memory_.rank(), base));
  EXPECT_EQ(rma_free(base, world), MPI_SUCCESS);
  EXPECT_FALSE(is_communicatable(world, memory_.rank(), base));
}

TEST_F(CommunicatableMemoryCalls, RefuseIntercommunicators) {
  if (memory_.size() == 1) GTEST_SKIP() << "needs two ranks";
  MPI_Comm side = MPI_COMM_NULL;
  MPI_Comm inter = MPI_COMM_NULL;
  bool const first = memory_.rank() == 0;
  MPI_Comm_split(world, first ? 0 : 1, memory_.rank(), &side);
  MPI_Intercomm_create(side, 0, world, first ? 1 : 0, 3, &inter);
  void* base = nullptr;
  EXPECT_EQ(class_of(rma_allocate(64, MPI_INFO_NULL, inter, &base, nullptr)), MPI_ERR_COMM);
  EXPECT_EQ(class_of(rma_free(nullptr, inter)), MPI_ERR_COMM);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&side);
}

TEST_F(CommunicatableMemoryCalls, RegisterForWritingOnlyWritableMemory) {
  constexpr MPI_Aint bytes = 8192;
  void* const constant = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto const register_for = [&](char const* access) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpix_access", access);
    int const code = rma_register(constant, bytes, info);
    MPI_Info_free(&info);
    return class_of(code);
  };
  int address_class = 0;
  MPIX_RMA_Error_class(MPIX_RMA_ERR_ADDRESS, &address_class);
  EXPECT_EQ(register_for("readwrite"), address_class);
  EXPECT_FALSE(is_communicatable(world, memory_.rank(), constant));
  EXPECT_EQ(register_for("write"), MPI_ERR_INFO_VALUE);
  EXPECT_EQ(register_for("read"), MPI_SUCCESS);
  EXPECT_TRUE(is_communicatable(world, memory_.rank(), constant));
  EXPECT_EQ(rma_deregister(constant, bytes), MPI_SUCCESS);
  munmap(constant, bytes);
}

/// The windows register their memory themselves.
TEST_F(CommunicatableMemoryCalls, PreserveRegistrationsOfWindows) {
  if (on_public_mpi()) GTEST_SKIP() << "windows are those of the MPI library";
  alignas(64) static char memory[192];
  constexpr MPI_Aint bytes = sizeof memory;
  for (bool const dynamic : {false, true}) {
    MPI_Win win = MPI_WIN_NULL;
    if (dynamic) {
      MPI_Win_create_dynamic(MPI_INFO_NULL, world, &win);
      MPI_Win_attach(win, memory, bytes);
    } else {
      MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, world, &win);
    }
    EXPECT_EQ(class_of(rma_deregister(memory, bytes)), MPI_ERR_ARG);
    ASSERT_EQ(rma_register(memory, bytes), MPI_SUCCESS);
    EXPECT_EQ(rma_deregister(memory, bytes), MPI_SUCCESS);
    EXPECT_EQ(class_of(rma_deregister(memory, bytes)), MPI_ERR_ARG);
    EXPECT_TRUE(is_communicatable(world, memory_.rank(), memory));
    if (dynamic) MPI_Win_detach(win, memory);
    MPI_Win_free(&win);
    EXPECT_FALSE(is_communicatable(world, memory_.rank(), memory));
  }
}

/// Every rank ends its registration while the rank before it puts.
TEST_F(CommunicatableMemoryCalls, DeregisterWhileOperationsAreInProgress) {
  constexpr int parts = 8;
  constexpr int part_bytes = 1 << 14;
  constexpr MPI_Aint bytes = parts * part_bytes;
  std::vector<char> own(bytes);
  std::vector<char> values(bytes);
  auto const here = reinterpret_cast<std::intptr_t>(own.data());
  std::vector<std::intptr_t> all(static_cast<std::size_t>(memory_.size()));
  MPI_Allgather(&here, sizeof here, MPI_BYTE, all.data(), sizeof here, MPI_BYTE, world);
  int const next = (memory_.rank() + 1) % memory_.size();
  auto* const there = reinterpret_cast<char*>(all[static_cast<std::size_t>(next)]);
  for (char round = 1; round <= 20; ++round) {
    ASSERT_EQ(rma_register(own.data(), bytes), MPI_SUCCESS);
    MPI_Barrier(world);
    std::ranges::fill(values, round);
    for (int part = 0; part < bytes; part += part_bytes)
      ASSERT_EQ(transfer(MPIX_RMA_PUT, &values[static_cast<std::size_t>(part)], part_bytes, MPI_CHAR, next,
                         there + part),
                MPI_SUCCESS);
    ASSERT_EQ(rma_deregister(own.data(), bytes), MPI_SUCCESS);
    ASSERT_EQ(MPIX_RMA_Complete(&world, next), MPI_SUCCESS);
    MPI_Barrier(world);
    ASSERT_EQ(std::ranges::count(own, round), bytes) << "round " << static_cast<int>(round);
    MPI_Barrier(world);
  }
}

TEST_F(CommunicatableMemoryCalls, KeepRegistrationsThatTouchApart) {
  std::vector<char> heap(300);
  for (std::size_t const begin : {0, 100, 150}) ASSERT_EQ(rma_register(&heap[begin], 100), MPI_SUCCESS);
  // The last two overlap.
  struct {
    std::size_t address, base;
    MPI_Aint size;
  } const expected[] = {{99, 0, 100}, {100, 100, 150}, {249, 100, 150}};
  for (auto const& [address, begin, length] : expected) {
    int flag = 0;
    void* base = nullptr;
    MPI_Aint size = 0;
    EXPECT_EQ(rma_query(world, memory_.rank(), &heap[address], &flag, &base, &size), MPI_SUCCESS);
    EXPECT_TRUE(flag == 1 && base == &heap[begin] && size == length) << address << ": " << size;
  }
  for (std::size_t const begin : {0, 100, 150}) ASSERT_EQ(rma_deregister(&heap[begin], 100), MPI_SUCCESS);
}

TEST_F(CommunicatableMemoryCalls, ReturnOwnBaseOrAllBases) {
  void* base = nullptr;
  ASSERT_EQ(rma_allocate(64, MPI_INFO_NULL, world, &base, nullptr), MPI_SUCCESS);
  EXPECT_TRUE(is_communicatable(world, memory_.rank(), base));
  EXPECT_EQ(rma_free(base, world), MPI_SUCCESS);
  std::vector<void*> bases(static_cast<std::size_t>(memory_.size()));
  ASSERT_EQ(rma_allocate(64, MPI_INFO_NULL, world, &base, bases.data()), MPI_SUCCESS);
  EXPECT_EQ(base, bases[static_cast<std::size_t>(memory_.rank())]);
  EXPECT_EQ(rma_free(base, world), MPI_SUCCESS);
  EXPECT_EQ(class_of(rma_allocate(64, MPI_INFO_NULL, world, nullptr, nullptr)), MPI_ERR_ARG);
}

TEST_F(CommunicatableMemoryCalls, QueryWithoutSegmentKeepsBaseAndSize) {
  static char variable = 0;
  int const next = (memory_.rank() + 1) % memory_.size();
  auto const own = reinterpret_cast<std::intptr_t>(&variable);
  std::vector<std::intptr_t> all(static_cast<std::size_t>(memory_.size()));
  MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, world);
  int flag = 7;
  void* base = &flag;
  MPI_Aint size = 77;
  auto* const there = reinterpret_cast<void*>(all[static_cast<std::size_t>(next)]);
  EXPECT_EQ(rma_query(world, next, there, &flag, &base, &size), MPI_SUCCESS);
  EXPECT_EQ(flag, 0);
  EXPECT_TRUE(base == &flag && size == 77);
}

/// The segments of a rank; checks that a shorter array receives the first ones.
std::vector<MPIX_RMA_Segment> segments_of(int rank) {
  int count = -1;
  EXPECT_EQ(MPIX_RMA_Segments(world, rank, 0, nullptr, &count), MPI_SUCCESS);
  std::vector<MPIX_RMA_Segment> all(static_cast<std::size_t>(count));
  int again = -1;
  EXPECT_EQ(MPIX_RMA_Segments(world, rank, count, all.data(), &again), MPI_SUCCESS);
  EXPECT_EQ(again, count);
  MPIX_RMA_Segment first{};
  EXPECT_EQ(MPIX_RMA_Segments(world, rank, 1, &first, &again), MPI_SUCCESS);
  EXPECT_EQ(again, count);
  EXPECT_EQ(first.base, all.front().base);
  EXPECT_EQ(first.size, all.front().size);
  return all;
}

TEST_F(CommunicatableMemoryCalls, DoNotListMemoryOfTheLibrary) {
  int const next = (memory_.rank() + 1) % memory_.size();
  std::size_t const before = segments_of(next).size();
  MPI_Barrier(world);
  ASSERT_EQ(rma_set_num_notify(world, 5), MPI_SUCCESS);
  EXPECT_EQ(segments_of(next).size(), before);
  MPI_Barrier(world);
  void* base = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  ASSERT_EQ(MPI_Win_allocate(4096, 1, MPI_INFO_NULL, world, &base, &window), MPI_SUCCESS);
  // None if the window belongs to another component.
  EXPECT_LE(segments_of(next).size(), before + 1);
  MPI_Barrier(world);
  MPI_Win_free(&window);
  ASSERT_EQ(rma_set_num_notify(world, 0), MPI_SUCCESS);
}

TEST_F(CommunicatableMemoryCalls, ListTheSegmentsOfARank) {
  constexpr std::size_t pieces = 1000;
  constexpr std::size_t distance = 64;
  std::vector<char> heap(pieces * distance);
  for (std::size_t i = 0; i < pieces; ++i)
    ASSERT_EQ(rma_register(&heap[i * distance], static_cast<MPI_Aint>(8 + i % 32)), MPI_SUCCESS);
  auto const own = reinterpret_cast<std::intptr_t>(heap.data());
  std::vector<std::intptr_t> all(static_cast<std::size_t>(memory_.size()));
  MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, world);
  int const next = (memory_.rank() + 1) % memory_.size();
  auto const segments = segments_of(next);
  auto const address = [](MPIX_RMA_Segment const& segment) {
    return reinterpret_cast<std::intptr_t>(segment.base);
  };
  for (std::size_t i = 1; i < segments.size(); ++i)
    ASSERT_LE(address(segments[i - 1]) + segments[i - 1].size, address(segments[i]));
  auto const find = [&](std::intptr_t base) { return std::ranges::lower_bound(segments, base, {}, address); };
  auto const base = all[static_cast<std::size_t>(next)];
  auto found = find(base);
  for (std::size_t i = 0; i < pieces; ++i, ++found) {
    ASSERT_NE(found, segments.end());
    ASSERT_EQ(address(*found), base + static_cast<std::intptr_t>(i * distance));
    ASSERT_EQ(found->size, static_cast<MPI_Aint>(8 + i % 32));
  }
  auto const allocated = find(reinterpret_cast<std::intptr_t>(memory_.at(next, Memory::allocated)));
  ASSERT_NE(allocated, segments.end());
  EXPECT_EQ(allocated->base, memory_.at(next, Memory::allocated));
  EXPECT_GE(allocated->size, 256);
  MPI_Barrier(world);
  for (std::size_t i = 0; i < pieces; ++i)
    ASSERT_EQ(rma_deregister(&heap[i * distance], static_cast<MPI_Aint>(8 + i % 32)), MPI_SUCCESS);
  MPI_Barrier(world);
  EXPECT_LE(segments_of(next).size() + pieces, segments.size());
}

TEST_F(CommunicatableMemoryCalls, RefuseWrongArgumentsOfSegments) {
  int count = 77;
  MPIX_RMA_Segment segment{};
  EXPECT_EQ(class_of(MPIX_RMA_Segments(world, memory_.size(), 1, &segment, &count)), MPI_ERR_RANK);
  EXPECT_EQ(class_of(MPIX_RMA_Segments(world, 0, -1, &segment, &count)), MPI_ERR_COUNT);
  EXPECT_EQ(class_of(MPIX_RMA_Segments(world, 0, 1, nullptr, &count)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPIX_RMA_Segments(world, 0, 1, &segment, nullptr)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPIX_RMA_Segments(MPI_COMM_NULL, 0, 1, &segment, &count)), MPI_ERR_COMM);
  EXPECT_EQ(count, 77);
}

/// An operation beyond the end of an allocation fails even if each of its messages lies inside an allocation.
TEST_F(CommunicatableMemoryCalls, EndWhereTheAllocationEnds) {
  constexpr std::size_t bytes = 512 << 10;
  constexpr int count = 4;
  int address_class = 0;
  ASSERT_EQ(MPIX_RMA_Error_class(MPIX_RMA_ERR_ADDRESS, &address_class), MPI_SUCCESS);
  int const next = (memory_.rank() + 1) % memory_.size();
  std::vector<void*> own(count);
  std::vector<std::vector<void*>> bases(count, std::vector<void*>(memory_.size()));
  for (int i = 0; i < count; ++i) {
    ASSERT_EQ(rma_allocate(bytes, MPI_INFO_NULL, world, &own[i], bases[i].data()), MPI_SUCCESS);
    std::fill_n(static_cast<char*>(own[i]), bytes, static_cast<char>(i + 1));
  }
  MPI_Barrier(world);
  auto const lowest =
      std::min_element(bases.begin(), bases.end(), [&](auto& a, auto& b) { return a[next] < b[next]; });
  auto* const begin = static_cast<char*>((*lowest)[next]);
  std::vector<char> data(2 * bytes, 9);
  MPI_Datatype blocks = MPI_DATATYPE_NULL;  // many short blocks before the long one
  std::vector<int> lengths(101, 1);
  std::vector<int> places(101);
  for (int i = 0; i < 100; ++i) places[i] = 2 * i;
  lengths[100] = static_cast<int>(2 * bytes) - 200;
  places[100] = 200;
  MPI_Type_indexed(101, lengths.data(), places.data(), MPI_CHAR, &blocks);
  MPI_Type_commit(&blocks);
  for (std::size_t const size : {bytes + 8, bytes + 4096, 2 * bytes}) {
    for (MPIX_RMA_Op const op : {MPIX_RMA_PUT, MPIX_RMA_GET}) {
      int error = transfer(op, data.data(), static_cast<int>(size), MPI_CHAR, next, begin);
      if (error == MPI_SUCCESS) error = MPIX_RMA_Complete(&world, next);
      EXPECT_EQ(class_of(error), address_class) << size << " bytes";
    }
  }
  int error = transfer(MPIX_RMA_PUT, data.data(), 1, blocks, next, begin);
  if (error == MPI_SUCCESS) error = MPIX_RMA_Complete(&world, next);
  EXPECT_EQ(class_of(error), address_class) << "blocks";
  MPI_Barrier(world);
  void* const first = *std::min_element(own.begin(), own.end());
  for (int i = 0; i < count; ++i) {
    char const* const memory = static_cast<char const*>(own[i]);
    if (own[i] == first) continue;
    EXPECT_EQ(std::count(memory, memory + bytes, static_cast<char>(i + 1)),
              static_cast<std::ptrdiff_t>(bytes));
  }
  MPI_Barrier(world);
  MPI_Type_free(&blocks);
  for (void* const base : own) EXPECT_EQ(rma_free(base, world), MPI_SUCCESS);
}

}  // namespace
}  // namespace mpixrma::test
