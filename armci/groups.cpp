#include "armci/groups.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <vector>

#include "include/armci/armcix.h"

namespace armci {

namespace {

ARMCI_Group const nobody{MPI_COMM_NULL, MPI_COMM_NULL, nullptr, nullptr, -1, 0};

ARMCI_Group world_group = nobody;
ARMCI_Group default_group = nobody;

/// The barriers by communicator. Each barrier is created at its first use, which is collective over the
/// group. They are not in the struct of a group, because the application owns and copies that struct.
class GroupBarriers {
 public:
  void wait(char const* call, MPI_Comm comm) {
    Barrier& barrier = of(comm);
    if (!barrier.is_open()) barrier.open(call, comm);
    barrier.wait();
  }
  /// Collective over `comm`.
  void close(MPI_Comm comm) {
    of(comm).close();
    std::lock_guard const held(lock_);
    by_comm_.erase(comm);
  }

 private:
  Barrier& of(MPI_Comm comm) {
    std::lock_guard const held(lock_);
    return by_comm_[comm];
  }

  std::mutex lock_;  ///< threads may be in barriers of several groups
  std::map<MPI_Comm, Barrier> by_comm_;
};
GroupBarriers barriers;

/// Sets the fields of `group` that derive from the communicator.
void describe(MPI_Comm comm, ARMCI_Group* group) {
  group->comm = comm;
  group->noncoll_pgroup_comm = MPI_COMM_NULL;
  MPI_Comm_rank(comm, &group->rank);
  MPI_Comm_size(comm, &group->size);
  group->grp_to_abs = new int[static_cast<std::size_t>(group->size)];
  group->abs_to_grp = new int[static_cast<std::size_t>(world.size)];
  for (int i = 0; i < world.size; ++i) group->abs_to_grp[i] = -1;
  std::vector<int> const ranks = world_ranks(comm);
  std::copy(ranks.begin(), ranks.end(), group->grp_to_abs);
  for (int i = 0; i < group->size; ++i) group->abs_to_grp[group->grp_to_abs[i]] = i;
}

// A zeroed struct is not a group.
void check_group(char const* call, ARMCI_Group const* group) {
  if (group == nullptr || group->comm == MPI_Comm{}) fail(call, "the group is null");
}

void check_output(char const* call, void const* output) {
  if (output == nullptr) fail(call, "the address of the result is null");
}

/// Returns whether the caller is one of the `count` processes in `list`. Throws a Failure for an invalid
/// list.
bool check_members(char const* call, int count, int const* list, ARMCI_Group const& parent) {
  if (count < 0 || count > parent.size) fail(call, "size %d is not in 0..%d", count, parent.size);
  if (list == nullptr && count > 0) fail(call, "the list of processes is null");
  std::vector<bool> named(static_cast<std::size_t>(parent.size));
  for (int i = 0; i < count; ++i) {
    int const process = list[i];
    if (process < 0 || process >= parent.size)
      fail(call, "process %d is not in 0..%d", process, parent.size - 1);
    if (named[static_cast<std::size_t>(process)]) fail(call, "process %d is in the list twice", process);
    named[static_cast<std::size_t>(process)] = true;
  }
  return named[static_cast<std::size_t>(parent.rank)];
}

/// Collective over the members only.
void create(char const* call, int count, int const* list, ARMCI_Group* group, ARMCI_Group const& parent) {
  MPI_Comm const comm = comm_of(call, &parent);
  check_output(call, group);
  bool const member = check_members(call, count, list, parent);
  // A process outside of the group gets an empty group.
  *group = nobody;
  if (!member) return;
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  MPI_Comm created = MPI_COMM_NULL;
  MPI_Comm_group(comm, &all);
  MPI_Group_incl(all, count, list, &some);
  // Groups with a common member are not created concurrently, so one tag serves all.
  int const code = MPI_Comm_create_group(comm, some, 0, &created);
  MPI_Group_free(&some);
  MPI_Group_free(&all);
  check_mpi(call, code);
  describe(created, group);
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
  check_group(call, group);
  if (group->comm == MPI_COMM_NULL) fail(call, "the calling process is not in the group");
  return group->comm;
}

std::vector<int> world_ranks(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  if (comm == world.comm) return ranks;
  MPI_Group members = MPI_GROUP_NULL;
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Comm_group(comm, &members);
  MPI_Comm_group(world.comm, &all);
  std::vector<int> found(ranks.size());
  MPI_Group_translate_ranks(members, size, ranks.data(), all, found.data());
  MPI_Group_free(&members);
  MPI_Group_free(&all);
  return found;
}

std::vector<int> members_of(MPI_Comm comm) {
  std::vector<int> ranks = world_ranks(comm);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

void wait_for_group(char const* call, ARMCI_Group const* group) {
  MPI_Comm const comm = comm_of(call, group);
  comm == world.comm ? world.barrier.wait() : barriers.wait(call, comm);
}

void duplicate(char const* call, ARMCI_Group const* group, ARMCI_Group* copy) {
  MPI_Comm comm = MPI_COMM_NULL;
  check_mpi(call, MPI_Comm_dup(comm_of(call, group), &comm));
  describe(comm, copy);
}

}  // namespace armci

using namespace armci;

void ARMCI_Group_create_child(int grp_size, int* pid_list, ARMCI_Group* group_out,
                              ARMCI_Group* group_parent) {
  abort_on_failure([&] {
    check_group("ARMCI_Group_create_child", group_parent);
    create("ARMCI_Group_create_child", grp_size, pid_list, group_out, *group_parent);
  });
}

void ARMCI_Group_create(int grp_size, int* pid_list, ARMCI_Group* group_out) {
  abort_on_failure([&] { create("ARMCI_Group_create", grp_size, pid_list, group_out, default_group); });
}

void ARMCI_Group_free(ARMCI_Group* group) {
  abort_on_failure([&] {
    check_group("ARMCI_Group_free", group);
    // ARMCI_Finalize frees the world group.
    if (group->comm == MPI_COMM_NULL || group->comm == running_world("ARMCI_Group_free").comm) return;
    if (group->comm == default_group.comm) default_group = world_group;
    barriers.close(group->comm);
    MPI_Comm_free(&group->comm);
    forget(group);
  });
}

int ARMCI_Group_rank(ARMCI_Group* group, int* rank) {
  return return_code_of([&] {
    check_group("ARMCI_Group_rank", group);
    check_output("ARMCI_Group_rank", rank);
    *rank = group->rank;
    return group->rank < 0 ? 1 : 0;
  });
}
void ARMCI_Group_size(ARMCI_Group* group, int* size) {
  abort_on_failure([&] {
    check_group("ARMCI_Group_size", group);
    check_output("ARMCI_Group_size", size);
    *size = group->size;
  });
}
void ARMCI_Group_set_default(ARMCI_Group* group) {
  abort_on_failure([&] {
    (void)comm_of("ARMCI_Group_set_default", group);
    default_group = *group;
  });
}
void ARMCI_Group_get_default(ARMCI_Group* group_out) {
  abort_on_failure([&] {
    check_output("ARMCI_Group_get_default", group_out);
    *group_out = default_group;
  });
}
void ARMCI_Group_get_world(ARMCI_Group* group_out) {
  abort_on_failure([&] {
    check_output("ARMCI_Group_get_world", group_out);
    *group_out = world_group;
  });
}

int ARMCI_Absolute_id(ARMCI_Group* group, int group_rank) {
  return abort_on_failure([&] {
    check_group("ARMCI_Absolute_id", group);
    if (group_rank < 0 || group_rank >= group->size)
      fail("ARMCI_Absolute_id", "rank %d is not in 0..%d", group_rank, group->size - 1);
    return group->grp_to_abs[group_rank];
  });
}

int ARMCIX_Group_split(ARMCI_Group* parent, int color, int key, ARMCI_Group* new_group) {
  return return_code_of([&] {
    char const* const call = "ARMCIX_Group_split";
    MPI_Comm const all = comm_of(call, parent);
    Steps arguments;
    arguments.run([&] {
      check_output(call, new_group);
      if (color < 0 && color != MPI_UNDEFINED) fail(call, "color %d is negative", color);
    });
    check_collectively(call, all, arguments);
    MPI_Comm comm = MPI_COMM_NULL;
    check_mpi(call, MPI_Comm_split(all, color, key, &comm));
    *new_group = nobody;
    if (comm != MPI_COMM_NULL) describe(comm, new_group);
    return 0;
  });
}
int ARMCIX_Group_dup(ARMCI_Group* parent, ARMCI_Group* new_group) {
  return return_code_of([&] {
    char const* const call = "ARMCIX_Group_dup";
    Steps arguments;
    arguments.run([&] { check_output(call, new_group); });
    check_collectively(call, comm_of(call, parent), arguments);
    duplicate(call, parent, new_group);
    return 0;
  });
}
