/** Mutexes, groups and domains of ARMCI. Included by armci.h. */
#ifndef ARMCI_GROUPS_H
#define ARMCI_GROUPS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** Creates and destroys mutexes. Each belongs to a process and can be locked by any process. Both calls are
 *  collective over all processes; a failure at one fails the call at all. Mutexes are not recursive. (ARMCI
 *  1.1, operations 9.)
 * @param count  number of mutexes at the caller, not negative
 * @return 0; nonzero if a count is negative, if the mutexes exist already (create) or do not exist (destroy),
 *  or if memory is exhausted. */
int ARMCI_Create_mutexes(int count);
int ARMCI_Destroy_mutexes(void);

/** Acquires and releases a mutex, in the order in which requests arrive (docs/semantics.md, Locks).
 *  Operations that the holder issued to the process of the mutex take effect before the next holder acquires
 *  it; operations to other processes need a fence first. Not collective; ARMCI_Lock waits until the holder
 *  unlocks. A wrong argument, a mutex that the calling thread has locked (lock) or that the process does not
 *  hold (unlock) ends the program through ARMCI_Error. With MPI_THREAD_MULTIPLE the threads of one process
 *  exclude each other, and any thread of the holder's process may unlock. (ARMCI 1.1, operations 9.)
 * @param mutex  index of the mutex at its process, from 0 on
 * @param proc   process of the mutex, a rank in the communicator of initialisation */
void ARMCI_Lock(int mutex, int proc);
void ARMCI_Unlock(int mutex, int proc);

/** Makes a group of processes. Collective over the members only; a caller that is not a member gets an empty
 *  group. Threads do not create groups with a common member at the same time. A wrong argument ends the
 *  program through ARMCI_Error. (Not in ARMCI 1.1.)
 * @param grp_size      number of members
 * @param pid_list      their ids in the default group, or in `group_parent`: without duplicates; their order
 *  is that of the ranks in the group
 * @param group_out     receives the group
 * @param group_parent  group that the caller belongs to */
void ARMCI_Group_create(int grp_size, int *pid_list, ARMCI_Group *group_out);
void ARMCI_Group_create_child(int grp_size, int *pid_list, ARMCI_Group *group_out, ARMCI_Group *group_parent);

/** Frees a group. Collective over its members. Does nothing for the world group and an empty group. If the
 *  default group is freed, the world is the default group again. Null or zeroed groups end the program
 *  through ARMCI_Error. (Not in ARMCI 1.1.)
 * @param group  the group; empty afterwards */
void ARMCI_Group_free(ARMCI_Group *group);

/** Queries a group. Local. Wrong arguments of ARMCI_Group_size and ARMCI_Absolute_id end the program through
 *  ARMCI_Error. (Not in ARMCI 1.1.)
 * @param group       the group
 * @param rank        receives the caller's id in it, -1 if the caller is not a member
 * @param size        receives the number of members
 * @param group_rank  id of a member in `group`
 * @return ARMCI_Group_rank: 0; nonzero if the caller is not a member, and for wrong arguments.
 *  ARMCI_Absolute_id: the member's id in the world group. */
int ARMCI_Group_rank(ARMCI_Group *group, int *rank);
void ARMCI_Group_size(ARMCI_Group *group, int *size);
int ARMCI_Absolute_id(ARMCI_Group *group, int group_rank);

/** Sets or returns the default group, whose ids ARMCI_Group_create uses, and returns the world group of all
 *  processes. Local. A null argument, or a default group without the caller, ends the program through
 *  ARMCI_Error. (Not in ARMCI 1.1.)
 * @param group      new default group; must stay valid as long as it is the default
 * @param group_out  receives the group; must not be freed */
void ARMCI_Group_set_default(ARMCI_Group *group);
void ARMCI_Group_get_default(ARMCI_Group *group_out);
void ARMCI_Group_get_world(ARMCI_Group *group_out);

/** Domains: by default every process is a domain of its own, whose id is its rank. With the environment
 *  variable ARMCI_DOMAINS=HOST the processes of a host are a domain; ids are in the order of the domains'
 *  first processes. An address is valid in its own process only, whatever a domain is. Local. (Not in
 *  ARMCI 1.1.)
 * @param domain              ARMCI_DOMAIN_SMP
 * @param id                  id of a domain; armci_domain_nprocs: negative for the caller's
 * @param glob_proc_id, proc  process, a rank in the communicator of initialisation
 * @param loc_proc_id         number of the process in its domain
 * @return the number of processes in a domain, the domain of a process, a process of a domain, the caller's
 *  domain, the number of domains; for arguments out of range -1, or 0 processes or domains.
 *  armci_domain_same_id and ARMCI_Same_node: 1 for processes of the caller's domain, 0 for others. */
int armci_domain_nprocs(armci_domain_t domain, int id);
int armci_domain_id(armci_domain_t domain, int glob_proc_id);
int armci_domain_glob_proc_id(armci_domain_t domain, int id, int loc_proc_id);
int armci_domain_my_id(armci_domain_t domain);
int armci_domain_count(armci_domain_t domain);
int armci_domain_same_id(armci_domain_t domain, int proc);
int ARMCI_Same_node(int proc);

/** Shared memory: addresses of other processes must not be dereferenced, so the queries return 0. A limit is
 *  ignored, because memory does not come from a limited pool. Local. (Not in ARMCI 1.1.)
 * @param group        ignored
 * @param shmemlimit   ignored
 * @return 0. */
int ARMCI_Uses_shm(void);
int ARMCI_Uses_shm_grp(ARMCI_Group *group);
void ARMCI_Set_shm_limit(unsigned long shmemlimit);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
