/// ARMCI: access modes, also of memory of groups that are freed.
#include <vector>

#include "include/armci/armcix.h"
#include "tests/support/armci_memory.hpp"

namespace {

using mpixrma::test::me;
using mpixrma::test::nowhere;
using mpixrma::test::Remote;
using mpixrma::test::size;

/// Allocates memory of a group, calls `use` with its base, and frees both.
template <typename Use>
void with_group(std::vector<int> members, Use use) {
  ARMCI_Group group;
  ARMCI_Group_create(static_cast<int>(members.size()), members.data(), &group);
  std::vector<void*> bases(members.size());
  int rank = 0;
  ARMCI_Group_rank(&group, &rank);
  ASSERT_EQ(ARMCI_Malloc_group(bases.data(), 64, &group), 0);
  void* const mine = bases[static_cast<std::size_t>(rank)];
  use(mine, group);
  EXPECT_EQ(ARMCI_Free_group(mine, &group), 0);
  ARMCI_Group_free(&group);
}

/// The handle of the second group is often that of the first at the process which is in both.
TEST(GroupModes, EndWithTheirGroup) {
  if (size() < 3) GTEST_SKIP() << "needs three processes";
  for (int round = 0; round < 20; ++round) {
    if (me() < 2) {
      with_group({0, 1}, [](void* base, ARMCI_Group& group) {
        EXPECT_EQ(ARMCIX_Mode_set(ARMCIX_MODE_CONFLICT_FREE, base, &group), 0);
      });
    }
    if (me() == 1 || me() == 2)
      with_group({1, 2}, [](void* base, ARMCI_Group&) { EXPECT_EQ(ARMCIX_Mode_get(base), ARMCIX_MODE_ALL); });
    ARMCI_Barrier();
  }
}

TEST(GroupModes, EndWithTheirAllocationWhateverGroupHasSetThem) {
  ARMCI_Group world;
  ARMCI_Group copy;
  ARMCI_Group_get_world(&world);
  ASSERT_EQ(ARMCIX_Group_dup(&world, &copy), 0);
  void* base = nullptr;
  {
    Remote const remote(64);
    base = remote.mine();
    EXPECT_EQ(ARMCIX_Mode_set(ARMCIX_MODE_CONFLICT_FREE, base, &copy), 0);
    EXPECT_EQ(ARMCIX_Mode_get(base), ARMCIX_MODE_CONFLICT_FREE);
  }
  EXPECT_EQ(ARMCIX_Mode_get(base), ARMCIX_MODE_ALL);
  ARMCI_Group_free(&copy);
}

TEST(GroupModes, AreRefusedToAPartOfTheProcesses) {
  if (size() < 2) GTEST_SKIP() << "needs two processes";
  Remote const remote(64);
  std::vector<int> first = {0};
  ARMCI_Group alone;
  ARMCI_Group_create(1, first.data(), &alone);
  if (me() == 0) {
    EXPECT_NE(ARMCIX_Mode_set(ARMCIX_MODE_CONFLICT_FREE, remote.mine(), &alone), 0);
    EXPECT_EQ(ARMCIX_Mode_get(remote.mine()), ARMCIX_MODE_ALL);
    ARMCI_Group_free(&alone);
  }
  ARMCI_Barrier();
}

/// Two groups of two processes that have one process in common.
TEST(GroupModes, AreRefusedToAnotherGroupOfThisSize) {
  if (size() < 3) GTEST_SKIP() << "needs three processes";
  auto const refused = [](void* base, ARMCI_Group& group) {
    EXPECT_NE(ARMCIX_Mode_set(ARMCIX_MODE_CONFLICT_FREE, base, &group), 0);
    EXPECT_EQ(ARMCIX_Mode_get(base), ARMCIX_MODE_ALL);
  };
  std::vector<int> first = {0, 1};
  ARMCI_Group two;
  ARMCI_Group_create(2, first.data(), &two);
  std::vector<int> last = {1, 2};
  ARMCI_Group others;
  ARMCI_Group_create(2, last.data(), &others);
  std::vector<void*> bases(2);
  std::vector<void*> other_bases(2);
  if (me() < 2) ASSERT_EQ(ARMCI_Malloc_group(bases.data(), 64, &two), 0);
  if (me() == 1 || me() == 2) ASSERT_EQ(ARMCI_Malloc_group(other_bases.data(), 64, &others), 0);
  // Process 1 names its allocation of the other group.
  if (me() < 2) refused(me() == 0 ? bases[0] : other_bases[0], two);
  if (me() < 2) EXPECT_EQ(ARMCI_Free_group(bases[static_cast<std::size_t>(me())], &two), 0);
  if (me() == 1 || me() == 2)
    EXPECT_EQ(ARMCI_Free_group(other_bases[static_cast<std::size_t>(me() - 1)], &others), 0);
  if (me() < 2) ARMCI_Group_free(&two);
  if (me() == 1 || me() == 2) ARMCI_Group_free(&others);
  ARMCI_Barrier();
}

TEST(GroupModes, AreSetDespiteAnEarlierFailure) {
  Remote const remote(64);
  ARMCI_Group world;
  ARMCI_Group_get_world(&world);
  long value = 0;
  bool late = false;
  if (me() == 0) late = ARMCI_Put(&value, nowhere, sizeof value, size() - 1) == 0;
  EXPECT_EQ(ARMCIX_Mode_set(ARMCIX_MODE_CONFLICT_FREE, remote.mine(), &world) != 0, late);
  EXPECT_EQ(ARMCIX_Mode_get(remote.mine()), ARMCIX_MODE_CONFLICT_FREE);
}  // freeing the memory must not hang

TEST(GroupModes, PermitAnyAccessIfTheyContainAll) {
  Remote const remote(64);
  ARMCI_Group world;
  ARMCI_Group_get_world(&world);
  int const both = ARMCIX_MODE_CONFLICT_FREE | ARMCIX_MODE_NO_LOAD_STORE;
  EXPECT_EQ(ARMCIX_Mode_set(both, remote.mine(), &world), 0);
  EXPECT_EQ(ARMCIX_Mode_get(remote.mine()), both);
  EXPECT_EQ(ARMCIX_Mode_set(both | ARMCIX_MODE_ALL, remote.mine(), &world), 0);
  EXPECT_EQ(ARMCIX_Mode_get(remote.mine()), ARMCIX_MODE_ALL);
}

/// Lists of segments in an allocation with a mode and in one without: updates of the latter are atomic.
TEST(AccessModes, HoldForTheSegmentsOfTheirAllocation) {
  if (size() < 3) GTEST_SKIP() << "needs three processes";
  constexpr long rounds = 30000;
  Remote const exclusive(64 * size());
  Remote const shared(64);
  ARMCI_Group world;
  ARMCI_Group_get_world(&world);
  ASSERT_EQ(ARMCIX_Mode_set(ARMCIX_MODE_CONFLICT_FREE, exclusive.mine(), &world), 0);
  ARMCI_Barrier();
  if (me() != 0) {
    long one = 1;
    long values[2] = {1, 1};
    void* sources[2] = {&values[0], &values[1]};
    void* places[2] = {exclusive.at(0, 64 * me()), shared.at(0)};
    armci_giov_t list = {sources, places, sizeof(long), 2};
    for (long i = 0; i < rounds; ++i) ASSERT_EQ(ARMCI_AccV(ARMCI_ACC_LNG, &one, &list, 1, 0), 0);
    ARMCI_AllFence();
  }
  ARMCI_Barrier();
  if (me() == 0) {
    EXPECT_EQ(*reinterpret_cast<long*>(shared.mine()), rounds * (size() - 1));
  }
  ARMCI_Barrier();
}

}  // namespace
