/// ARMCI: domains, by default and with ARMCI_DOMAINS=HOST, and the message passing in their scopes.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "include/armci/armci.h"
#include "tests/support/armci_memory.hpp"

namespace {

using mpixrma::test::me;
using mpixrma::test::size;

/// Returns the first process of each process's domain, according to MPI and ARMCI_DOMAINS.
std::vector<int> expected_masters() {
  char const* const setting = std::getenv("ARMCI_DOMAINS");
  int mine = me();
  if (setting != nullptr && std::string(setting) == "HOST") {
    MPI_Comm host = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT, MPI_MIN, host);
    MPI_Comm_free(&host);
  }
  std::vector<int> all(static_cast<std::size_t>(size()));
  MPI_Allgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
  return all;
}

struct Domains : testing::Test {
  int master_of(int process) const { return masters[static_cast<std::size_t>(process)]; }
  bool is_master() const { return master_of(me()) == me(); }
  std::vector<int> members_of(int master) const {
    std::vector<int> members;
    for (int process = 0; process < size(); ++process)
      if (master_of(process) == master) members.push_back(process);
    return members;
  }

  std::vector<int> masters = expected_masters();
  std::set<int> distinct{masters.begin(), masters.end()};
};

TEST_F(Domains, AreNumberedByTheirFirstProcesses) {
  ASSERT_EQ(armci_domain_count(ARMCI_DOMAIN_SMP), static_cast<int>(distinct.size()));
  int id = 0;
  for (int const master : distinct) {
    std::vector<int> const members = members_of(master);
    EXPECT_EQ(armci_domain_nprocs(ARMCI_DOMAIN_SMP, id), static_cast<int>(members.size()));
    for (std::size_t i = 0; i < members.size(); ++i) {
      EXPECT_EQ(armci_domain_glob_proc_id(ARMCI_DOMAIN_SMP, id, static_cast<int>(i)), members[i]);
      EXPECT_EQ(armci_domain_id(ARMCI_DOMAIN_SMP, members[i]), id);
    }
    ++id;
  }
  EXPECT_EQ(armci_domain_my_id(ARMCI_DOMAIN_SMP), armci_domain_id(ARMCI_DOMAIN_SMP, me()));
  for (int process = 0; process < size(); ++process) {
    int const same = master_of(process) == master_of(me()) ? 1 : 0;
    EXPECT_EQ(ARMCI_Same_node(process), same) << process;
    EXPECT_EQ(armci_domain_same_id(ARMCI_DOMAIN_SMP, process), same) << process;
  }
  // Addresses of other processes must not be dereferenced, even within a domain.
  EXPECT_EQ(ARMCI_Uses_shm(), 0);
}

TEST_F(Domains, AreOfOneKind) {
  for (armci_domain_t const kind : {ARMCI_DOMAIN_SMP + 1, ARMCI_DOMAIN_SMP - 1, 77}) {
    EXPECT_EQ(armci_domain_count(kind), 0);
    EXPECT_EQ(armci_domain_nprocs(kind, 0), 0);
    EXPECT_EQ(armci_domain_nprocs(kind, -1), 0);
    EXPECT_EQ(armci_domain_id(kind, 0), -1);
    EXPECT_EQ(armci_domain_my_id(kind), -1);
    EXPECT_EQ(armci_domain_glob_proc_id(kind, 0, 0), -1);
    EXPECT_EQ(armci_domain_same_id(kind, me()), 0);
  }
}

TEST_F(Domains, AreScopesOfReductionsAndBroadcasts) {
  std::vector<int> const members = members_of(master_of(me()));
  char plus[] = "+";
  long of_node = me() + 1;
  long of_masters = me() + 1;
  armci_msg_gop_scope(SCOPE_NODE, &of_node, 1, plus, ARMCI_LONG);
  armci_msg_gop_scope(SCOPE_MASTERS, &of_masters, 1, plus, ARMCI_LONG);
  long node = 0;
  long all = 0;
  for (int const member : members) node += member + 1;
  for (int const master : distinct) all += master + 1;
  EXPECT_EQ(of_node, node);
  EXPECT_EQ(of_masters, is_master() ? all : me() + 1);
  int from_neighbour = me();
  int from_master = me();
  armci_msg_bcast_scope(SCOPE_NODE, &from_neighbour, sizeof from_neighbour, members.back());
  armci_msg_bcast_scope(SCOPE_MASTERS, &from_master, sizeof from_master, *distinct.rbegin());
  EXPECT_EQ(from_neighbour, members.back());
  EXPECT_EQ(from_master, is_master() ? *distinct.rbegin() : me());
  char max[] = "max";
  int selected = me();
  armci_msg_sel_scope(SCOPE_NODE, &selected, sizeof selected, max, ARMCI_INT, 1);
  EXPECT_EQ(selected, members.back());
}

TEST_F(Domains, HaveTrees) {
  for (int const scope : {SCOPE_ALL, SCOPE_NODE, SCOPE_MASTERS}) {
    struct {
      int root = -9;
      int up = -9;
      int left = -9;
      int right = -9;
    } mine;
    armci_msg_bintree(scope, &mine.root, &mine.up, &mine.left, &mine.right);
    std::vector<decltype(mine)> all(static_cast<std::size_t>(size()));
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
    std::vector<int> scoped;
    for (int process = 0; process < size(); ++process) {
      bool const in_node = scope == SCOPE_NODE && master_of(process) == master_of(me());
      bool const in_masters = scope == SCOPE_MASTERS && master_of(process) == process;
      if (scope == SCOPE_ALL || in_node || in_masters) scoped.push_back(process);
    }
    if (std::find(scoped.begin(), scoped.end(), me()) == scoped.end()) continue;
    EXPECT_EQ(mine.root, scoped.front());
    int children = 0;
    for (int const process : scoped) {
      auto const& one = all[static_cast<std::size_t>(process)];
      children += (one.left >= 0 ? 1 : 0) + (one.right >= 0 ? 1 : 0);
      EXPECT_EQ(one.up == -1, process == mine.root);
      if (one.up < 0) continue;
      auto const& parent = all[static_cast<std::size_t>(one.up)];
      EXPECT_TRUE(parent.left == process || parent.right == process) << process;
    }
    EXPECT_EQ(children, static_cast<int>(scoped.size()) - 1);
  }
}

}  // namespace
