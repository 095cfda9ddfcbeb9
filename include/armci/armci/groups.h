/** Mutexes, groups and domains of ARMCI. Included by armci.h. */
#ifndef ARMCI_GROUPS_H
#define ARMCI_GROUPS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** Mutexes: each lives with a process and is locked from anywhere. Both calls are collective over all
 *  processes, and fail together. Mutexes are not recursive. (ARMCI 1.1, operations 9.)
 * @param count  number of mutexes that live with the caller, from 0 on
 * @return 0; nonzero when a count is negative, when the mutexes exist already or, to destroy, do not
 *  exist, and without memory. */
int ARMCI_Create_mutexes(int count);
int ARMCI_Destroy_mutexes(void);

/** Takes and gives back a mutex, in the order in which it is asked for. What was done under it to the
 *  process that it lives with takes effect before its next holder has it; for other processes a fence has
 *  to come first. Local. A wrong argument, a mutex that the caller holds already, and giving back one that
 *  it does not hold end the program through ARMCI_Error. (ARMCI 1.1, operations 9.)
 * @param mutex  number of the mutex at its process, from 0 on
 * @param proc   process that it lives with, a rank in the communicator of initialisation */
void ARMCI_Lock(int mutex, int proc);
void ARMCI_Unlock(int mutex, int proc);

/** Makes a group of processes. Collective over the members only; a process that calls it without being
 *  one gets an empty group. A wrong argument ends the program through ARMCI_Error. (Not in ARMCI 1.1.)
 * @param grp_size      number of members
 * @param pid_list      their ids in the default group, or in `group_parent`: ascending, none twice
 * @param group_out     receives the group
 * @param group_parent  group that the caller belongs to */
void ARMCI_Group_create(int grp_size, int *pid_list, ARMCI_Group *group_out);
void ARMCI_Group_create_child(int grp_size, int *pid_list, ARMCI_Group *group_out, ARMCI_Group *group_parent);

/** Frees a group. Collective over its members. Nothing is done for the world group and an empty one. When
 *  the default group is freed, the world is the default group again. Null or zeroed groups end the
 *  program through ARMCI_Error. (Not in ARMCI 1.1.)
 * @param group  the group; empty afterwards */
void ARMCI_Group_free(ARMCI_Group *group);

/** What a group consists of. Local. Wrong arguments of ARMCI_Group_size and ARMCI_Absolute_id end the
 *  program through ARMCI_Error. (Not in ARMCI 1.1.)
 * @param group       the group
 * @param rank        receives the caller's id in it, -1 when it is no member
 * @param size        receives the number of members
 * @param group_rank  id of a member in `group`
 * @return ARMCI_Group_rank: 0; nonzero when the caller is no member, and for wrong arguments.
 *  ARMCI_Absolute_id: the member's id in the world group. */
int ARMCI_Group_rank(ARMCI_Group *group, int *rank);
void ARMCI_Group_size(ARMCI_Group *group, int *size);
int ARMCI_Absolute_id(ARMCI_Group *group, int group_rank);

/** The default group, of whose ids ARMCI_Group_create takes its members, and the world group, of all
 *  processes. Local. A null argument, or a default group without the caller, ends the program through
 *  ARMCI_Error. (Not in ARMCI 1.1.)
 * @param group      becomes the default group; stays valid as long as it is
 * @param group_out  receives the group; not to be freed */
void ARMCI_Group_set_default(ARMCI_Group *group);
void ARMCI_Group_get_default(ARMCI_Group *group_out);
void ARMCI_Group_get_world(ARMCI_Group *group_out);

/** Domains: every process is one of its own, whose id is its rank. So armci_domain_nprocs is 1,
 *  armci_domain_count the number of processes, armci_domain_my_id the caller's rank, armci_domain_id of a
 *  process and armci_domain_glob_proc_id of a domain that same number. Local. No argument is checked.
 *  (Not in ARMCI 1.1.)
 * @param domain              ARMCI_DOMAIN_SMP
 * @param id                  id of a domain
 * @param glob_proc_id, proc  process, a rank in the communicator of initialisation
 * @param loc_proc_id         number of the process in its domain
 * @return the number; armci_domain_same_id and ARMCI_Same_node: 1 for the caller itself, 0 for others. */
int armci_domain_nprocs(armci_domain_t domain, int id);
int armci_domain_id(armci_domain_t domain, int glob_proc_id);
int armci_domain_glob_proc_id(armci_domain_t domain, int id, int loc_proc_id);
int armci_domain_my_id(armci_domain_t domain);
int armci_domain_count(armci_domain_t domain);
int armci_domain_same_id(armci_domain_t domain, int proc);
int ARMCI_Same_node(int proc);

/** Whether addresses of other processes may be dereferenced: no. A limit of shared memory is accepted and
 *  not needed: memory is not taken from a limited pool. Local. (Not in ARMCI 1.1.)
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
