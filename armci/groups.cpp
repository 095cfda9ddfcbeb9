#include "armci/groups.hpp"

#include <vector>

#include "include/armci/armcix.h"

namespace armci {

namespace {

constexpr ARMCI_Group nobody{MPI_COMM_NULL, MPI_COMM_NULL, nullptr, nullptr, -1, 0};

ARMCI_Group world_group = nobody;
ARMCI_Group default_group = nobody;

/// Fills in what the struct tells about a communicator.
void describe(MPI_Comm comm, ARMCI_Group* group) {
  group->comm = comm;
  group->noncoll_pgroup_comm = MPI_COMM_NULL;
  MPI_Comm_rank(comm, &group->rank);
  MPI_Comm_size(comm, &group->size);
  group->grp_to_abs = new int[static_cast<std::size_t>(group->size)];
  group->abs_to_grp = new int[static_cast<std::size_t>(world.size)];
  for (int i = 0; i < world.size; ++i) group->abs_to_grp[i] = -1;
  MPI_Group members = MPI_GROUP_NULL;
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Comm_group(comm, &members);
  MPI_Comm_group(world.comm, &all);
  std::vector<int> ranks(static_cast<std::size_t>(group->size));
  for (int i = 0; i < group->size; ++i) ranks[static_cast<std::size_t>(i)] = i;
  MPI_Group_translate_ranks(members, group->size, ranks.data(), all, group->grp_to_abs);
  for (int i = 0; i < group->size; ++i) group->abs_to_grp[group->grp_to_abs[i]] = i;
  MPI_Group_free(&members);
  MPI_Group_free(&all);
}

void forget(ARMCI_Group* group) {
  delete[] group->grp_to_abs;
  delete[] group->abs_to_grp;
  *group = nobody;
}

}  // namespace

void open_world_group() {
  describe(world.comm, &world_group);
  default_group = world_group;
}

void close_world_group() {
  forget(&world_group);
  default_group = nobody;
}

MPI_Comm comm_of(char const* call, ARMCI_Group const* group) {
  (void)running_world(call);
  // A zeroed struct is no group either.
  if (group == nullptr || group->comm == MPI_Comm{}) fail(call, "the group is null");
  if (group->comm == MPI_COMM_NULL) fail(call, "the calling process is not in the group");
  return group->comm;
}

void duplicate(char const* call, ARMCI_Group const* group, ARMCI_Group* copy) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(comm_of(call, group), &comm);
  describe(comm, copy);
}

}  // namespace armci

using namespace armci;

void ARMCI_Group_create_child(int grp_size, int* pid_list, ARMCI_Group* group_out,
                              ARMCI_Group* group_parent) {
  ending([&] {
    char const* const call = "ARMCI_Group_create_child";
    MPI_Comm const parent = comm_of(call, group_parent);
    if (group_out == nullptr || (pid_list == nullptr && grp_size > 0)) fail(call, "an argument is null");
    if (grp_size < 0 || grp_size > group_parent->size)
      fail(call, "size %d is not in 0..%d", grp_size, group_parent->size);
    bool member = false;
    for (int i = 0; i < grp_size; ++i) {
      if (pid_list[i] < 0 || pid_list[i] >= group_parent->size)
        fail(call, "process %d is not in 0..%d", pid_list[i], group_parent->size - 1);
      member = member || pid_list[i] == group_parent->rank;
    }
    // A process outside of the group gets an empty one.
    *group_out = nobody;
    if (!member) return;
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group some = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_group(parent, &all);
    MPI_Group_incl(all, grp_size, pid_list, &some);
    // Groups that are created at once do not overlap in a member, so one tag serves all.
    MPI_Comm_create_group(parent, some, 0, &comm);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    describe(comm, group_out);
  });
}

void ARMCI_Group_create(int grp_size, int* pid_list, ARMCI_Group* group_out) {
  ending([&] { ARMCI_Group_create_child(grp_size, pid_list, group_out, &default_group); });
}

void ARMCI_Group_free(ARMCI_Group* group) {
  // The world is there until ARMCI_Finalize.
  bool const none = group == nullptr || group->comm == MPI_COMM_NULL || group->comm == world.comm;
  if (none) return;
  MPI_Comm_free(&group->comm);
  forget(group);
}

int ARMCI_Group_rank(ARMCI_Group* group, int* rank) {
  *rank = group->rank;
  return group->rank < 0 ? 1 : 0;
}
void ARMCI_Group_size(ARMCI_Group* group, int* size) { *size = group->size; }
void ARMCI_Group_set_default(ARMCI_Group* group) { default_group = *group; }
void ARMCI_Group_get_default(ARMCI_Group* group_out) { *group_out = default_group; }
void ARMCI_Group_get_world(ARMCI_Group* group_out) { *group_out = world_group; }

int ARMCI_Absolute_id(ARMCI_Group* group, int group_rank) {
  return ending([&] {
    if (group_rank < 0 || group_rank >= group->size)
      fail("ARMCI_Absolute_id", "rank %d is not in 0..%d", group_rank, group->size - 1);
    return group->grp_to_abs[group_rank];
  });
}

int ARMCIX_Group_split(ARMCI_Group* parent, int color, int key, ARMCI_Group* new_group) {
  return returning([&] {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(comm_of("ARMCIX_Group_split", parent), color, key, &comm);
    *new_group = nobody;
    if (comm != MPI_COMM_NULL) describe(comm, new_group);
    return 0;
  });
}
int ARMCIX_Group_dup(ARMCI_Group* parent, ARMCI_Group* new_group) {
  return returning([&] {
    duplicate("ARMCIX_Group_dup", parent, new_group);
    return 0;
  });
}
