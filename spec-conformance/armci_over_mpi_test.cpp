/// ARMCI over MPI (P): completion, groups, allocations, buffers, vectors and access modes.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <vector>

#include "spec-conformance/armci_support.hpp"

namespace conformance {
namespace {

TEST_F(Armci, P_01_local_and_remote_completion_are_distinct) {
  std::vector<long> values(3000, 4);
  armci_hdl_t handle;
  ARMCI_INIT_HANDLE(&handle);
  EXPECT_EQ(ARMCI_NbPut(values.data(), at(next_), 24000, next_, &handle), 0);
  EXPECT_EQ(ARMCI_Wait(&handle), 0);
  std::fill(values.begin(), values.end(), 0);
  ARMCI_Fence(next_);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(own<long>(8 * 2999), 4);
}

TEST_F(Armci, P_02_process_observes_its_own_operations_in_order) {
  // The long version is tests/mpi/armci/location_consistency.cpp.
  std::ptrdiff_t const part = 4096L * me_ % (bytes - 8192);
  for (int round = 0; round < 200; ++round) {
    std::vector<long> values(100, round);
    std::vector<long> got(100, -1);
    long patch = -round;
    ARMCI_Put(values.data(), at(next_, part), 800, next_);
    ARMCI_Put(&patch, at(next_, part + 8 * (round % 100)), 8, next_);
    ARMCI_Get(at(next_, part), got.data(), 800, next_);
    values[static_cast<std::size_t>(round % 100)] = patch;
    ASSERT_EQ(got, values);
  }
}

TEST_F(Armci, P_04_groups_translate_to_absolute_ids) {
  std::vector<int> members;
  for (int process = 0; process < size_; process += 2) members.push_back(process);
  ARMCI_Group group;
  bool const inside = me_ % 2 == 0;
  // Only the members call ARMCI_Group_create.
  if (inside) {
    ARMCI_Group_create(static_cast<int>(members.size()), members.data(), &group);
    int rank = -1;
    int size = 0;
    EXPECT_EQ(ARMCI_Group_rank(&group, &rank), 0);
    ARMCI_Group_size(&group, &size);
    EXPECT_EQ(rank, me_ / 2);
    EXPECT_EQ(size, static_cast<int>(members.size()));
    for (int r = 0; r < size; ++r) EXPECT_EQ(ARMCI_Absolute_id(&group, r), 2 * r);
    std::vector<void*> bases(static_cast<std::size_t>(size));
    EXPECT_EQ(ARMCI_Malloc_group(bases.data(), 64, &group), 0);
    int const neighbour = (rank + 1) % size;
    long value = 70 + rank;
    EXPECT_EQ(ARMCI_Put(&value, bases[static_cast<std::size_t>(neighbour)], sizeof value,
                        ARMCI_Absolute_id(&group, neighbour)),
              0);
    ARMCI_AllFence();
    MPI_Barrier(group.comm);
    EXPECT_EQ(*static_cast<long*>(bases[static_cast<std::size_t>(rank)]), 70 + (rank + size - 1) % size);
    EXPECT_EQ(ARMCI_Free_group(bases[static_cast<std::size_t>(rank)], &group), 0);
    ARMCI_Group_free(&group);
  }
  ARMCI_Barrier();
}

TEST_F(Armci, P_05_empty_parts_have_a_null_base_and_are_freed_with_it) {
  auto const index = [](int process) { return static_cast<std::size_t>(process); };
  // Every process in turn is the only one that has memory.
  for (int owner = 0; owner < size_; ++owner) {
    std::vector<void*> bases(index(size_), &owner);
    std::vector<void*> more(index(size_), &owner);
    ASSERT_EQ(ARMCI_Malloc(bases.data(), me_ == owner ? 64 : 0), 0);
    ASSERT_EQ(ARMCI_Malloc(more.data(), me_ == owner ? 0 : 64), 0);
    for (int process = 0; process < size_; ++process) {
      EXPECT_EQ(bases[index(process)] == nullptr, process != owner);
      EXPECT_EQ(more[index(process)] == nullptr, process == owner);
    }
    long const value = 5 + owner;
    EXPECT_EQ(ARMCI_Put(const_cast<long*>(&value), static_cast<char*>(bases[index(owner)]) + 8, 8, owner), 0);
    ARMCI_Barrier();
    if (me_ == owner) {
      EXPECT_EQ(static_cast<long*>(bases[index(owner)])[1], value);
    }
    void* const base = bases[index(owner)];
    EXPECT_EQ(ARMCI_Free(bases[index(me_)]), 0);  // null at all processes but one
    long got = 0;
    if (me_ != owner) {
      EXPECT_NE(ARMCI_Get(base, &got, 8, owner), 0);  // freed, unlike the other allocation
    }
    if (size_ > 1) {
      int const other = (owner + 1) % size_;
      EXPECT_EQ(ARMCI_Put(const_cast<long*>(&value), more[index(other)], 8, other), 0);
    }
    EXPECT_EQ(ARMCI_Free(more[index(me_)]), 0);
  }
  std::vector<void*> none(index(size_), &none);
  EXPECT_EQ(ARMCI_Malloc(none.data(), 0), 0);
  for (void* const base : none) EXPECT_EQ(base, nullptr);
  EXPECT_EQ(ARMCI_Free(nullptr), 0);
}

TEST_F(Armci, P_07_local_access_sees_completed_operations) {
  long value = 31 + me_;
  ARMCI_Put(&value, at(next_), sizeof value, next_);
  ARMCI_Barrier();
  ARMCI_Access_begin(mine());
  auto* const local = reinterpret_cast<long*>(mine());
  EXPECT_EQ(*local, 31 + before_);
  *local = 90 + me_;
  ARMCI_Access_end(mine());
  ARMCI_Barrier();
  ARMCI_Get(at(next_), &value, sizeof value, next_);
  EXPECT_EQ(value, 90 + next_);
}

TEST_F(Armci, P_08_global_memory_may_be_the_local_buffer) {
  auto* const half = reinterpret_cast<long*>(mine(bytes / 2));
  for (int i = 0; i < 1000; ++i) half[i] = 1000L * me_ + i;
  EXPECT_EQ(ARMCI_Put(half, at(next_), 8000, next_), 0);
  ARMCI_Barrier();
  EXPECT_EQ(own<long>(8 * 999), 1000L * before_ + 999);
  EXPECT_EQ(ARMCI_Get(at(next_), mine(bytes / 4), 8000, next_), 0);
  EXPECT_EQ(own<long>(bytes / 4 + 8 * 5), 1000L * me_ + 5);
  // The process itself as target.
  EXPECT_EQ(ARMCI_Put(half, mine(bytes / 4), 8000, me_), 0);
  ARMCI_Fence(me_);
  EXPECT_EQ(own<long>(bytes / 4), 1000L * me_);
}

/// Allocations of the world and of two groups: every address is found in its own allocation.
TEST_F(Armci, P_13_addresses_find_their_allocation) {
  auto const index = [](int process) { return static_cast<std::size_t>(process); };
  constexpr int allocations = 6;
  ARMCI_Group world;
  ARMCI_Group part;
  ARMCI_Group_get_world(&world);
  ASSERT_EQ(ARMCIX_Group_split(&world, me_ % 2, me_, &part), 0);
  std::vector<void*> bases[allocations];
  for (int i = 0; i < allocations; ++i) {
    ARMCI_Group* const group = i % 2 == 0 ? &world : &part;
    std::vector<void*> of_group(index(size_));
    ASSERT_EQ(ARMCI_Malloc_group(of_group.data(), 800 + 8 * i, group), 0);
    bases[i].resize(index(size_));
    int members = 0;
    ARMCI_Group_size(group, &members);
    for (int r = 0; r < members; ++r) bases[i][index(ARMCI_Absolute_id(group, r))] = of_group[index(r)];
  }
  int const neighbour = (me_ + 2) % size_ % 2 == me_ % 2 ? (me_ + 2) % size_ : me_;
  for (int i = 0; i < allocations; ++i) {
    int const process = i % 2 == 0 ? next_ : neighbour;
    for (int word : {0, 41, 99 + i}) {
      long const value = 1000 * i + 100000L * process + word;
      EXPECT_EQ(ARMCI_Put(const_cast<long*>(&value), static_cast<long*>(bases[i][index(process)]) + word, 8,
                          process),
                0);
    }
  }
  ARMCI_Barrier();
  int writers = 0;
  for (int process = 0; process < size_; ++process) {
    int const ahead = (process + 2) % size_;
    writers += (ahead % 2 == process % 2 ? ahead : process) == me_ ? 1 : 0;
  }
  for (int i = 0; i < allocations; ++i) {
    if (i % 2 == 1 && writers == 0) continue;
    for (int word : {0, 41, 99 + i})
      EXPECT_EQ(static_cast<long*>(bases[i][index(me_)])[word], 1000 * i + 100000L * me_ + word) << i;
  }
  ARMCI_Barrier();
  for (int i = 0; i < allocations; ++i)
    EXPECT_EQ(ARMCI_Free_group(bases[i][index(me_)], i % 2 == 0 ? &world : &part), 0);
  ARMCI_Group_free(&part);
}

TEST_F(Armci, P_09_segments_of_a_vector_may_overlap) {
  long values[] = {1, 2, 3};
  void* sources[] = {&values[0], &values[1], &values[2]};
  void* same[] = {at(next_), at(next_), at(next_)};
  armci_giov_t set = {sources, same, 8, 3};
  EXPECT_EQ(ARMCI_PutV(&set, 1, next_), 0);
  ARMCI_Barrier();
  EXPECT_EQ(own<long>(), 3);  // the last one wins
  ARMCI_Barrier();
  long one = 1;
  EXPECT_EQ(ARMCI_AccV(ARMCI_ACC_LNG, &one, &set, 1, next_), 0);
  ARMCI_Barrier();
  EXPECT_EQ(own<long>(), 3 + 1 + 2 + 3);
}

TEST_F(Armci, P_11_access_modes_are_hints) {
  ARMCI_Group all;
  ARMCI_Group_get_world(&all);
  EXPECT_EQ(ARMCIX_Mode_get(mine()), ARMCIX_MODE_ALL);
  int const exclusive = ARMCIX_MODE_CONFLICT_FREE | ARMCIX_MODE_NO_LOAD_STORE;
  ASSERT_EQ(ARMCIX_Mode_set(exclusive, mine(), &all), 0);
  EXPECT_EQ(ARMCIX_Mode_get(mine() + 40), exclusive);
  // One origin per target: no conflicts.
  long const value = 5 + me_;
  long scale = 2;
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(ARMCI_Acc(ARMCI_ACC_LNG, &scale, const_cast<long*>(&value), at(next_), sizeof value, next_), 0);
  ASSERT_EQ(ARMCIX_Mode_set(ARMCIX_MODE_ALL, mine(), &all), 0);  // completes the operations
  armci_msg_barrier();
  EXPECT_EQ(ARMCIX_Mode_get(mine()), ARMCIX_MODE_ALL);
  EXPECT_EQ(own<long>(), 20 * (5 + before_));
  // A wrong argument at one process is an error at all, and changes nothing.
  EXPECT_NE(ARMCIX_Mode_set(me_ == 0 ? 1 << 20 : exclusive, mine(), &all), 0);
  EXPECT_EQ(ARMCIX_Mode_get(mine()), ARMCIX_MODE_ALL);
  // A mode ends with its allocation, even if that is empty at some processes.
  std::vector<void*> bases(static_cast<std::size_t>(size_));
  ASSERT_EQ(ARMCI_Malloc(bases.data(), me_ == 0 ? 0 : 64), 0);
  void* const base = bases[static_cast<std::size_t>(me_)];
  ASSERT_EQ(ARMCIX_Mode_set(exclusive, base, &all), 0);
  if (me_ != 0) EXPECT_EQ(ARMCIX_Mode_get(base), exclusive);
  ASSERT_EQ(ARMCI_Free(base), 0);
  EXPECT_EQ(ARMCIX_Mode_get(base), ARMCIX_MODE_ALL);
}

}  // namespace
}  // namespace conformance
