/** Extensions of ARMCI: splitting of groups, sets of mutexes, and access modes. */
#ifndef _ARMCIX_H_
#define _ARMCIX_H_

#include <armci.h>
#include <armciconf.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** Splits and duplicates a group, as MPI_Comm_split and MPI_Comm_dup. Collective over the parent; all its
 *  members fail if one fails. (Not in ARMCI 1.1.)
 * @param parent     group that the caller belongs to
 * @param color      processes with the same number form one group; MPI_UNDEFINED: no group
 * @param key        order of the processes in the new group
 * @param new_group  receives the group, empty for MPI_UNDEFINED
 * @return 0; nonzero at every process if one passes another negative color or a null `new_group`; nonzero at
 *  the caller for a null parent. */
int ARMCIX_Group_split(ARMCI_Group *parent, int color, int key, ARMCI_Group *new_group);
int ARMCIX_Group_dup(ARMCI_Group *parent, ARMCI_Group *new_group);

/** A set of mutexes. The members are private. */
struct armcix_mutex_hdl_s {
    int my_count;
    int max_count;
    ARMCI_Group grp;
    MPI_Win *windows;
    uint8_t **bases;
};
typedef struct armcix_mutex_hdl_s *armcix_mutex_hdl_t;

/** Creates a private set of mutexes. Collective over the group, which may be freed before the mutexes. Wrong
 *  arguments end the program through ARMCI_Error. (Not in ARMCI 1.1.)
 * @param count   number of mutexes at the caller, not negative
 * @param pgroup  group that the caller belongs to
 * @return the set. */
armcix_mutex_hdl_t ARMCIX_Create_mutexes_hdl(int count, ARMCI_Group *pgroup);

/** Frees a set of mutexes. Collective over its group. (Not in ARMCI 1.1.)
 * @param hdl  the set; invalid afterwards
 * @return 0; nonzero for a null set, and after ARMCI_Finalize. */
int ARMCIX_Destroy_mutexes_hdl(armcix_mutex_hdl_t hdl);

/** Acquires and releases a mutex of a set, with the semantics and errors of ARMCI_Lock and ARMCI_Unlock.
 *  Local. (Not in ARMCI 1.1.)
 * @param hdl    the set
 * @param mutex  index of the mutex at its process, from 0 on
 * @param proc   process of the mutex, a rank in the group
 * @return ARMCIX_Trylock_hdl: 0 if the mutex was acquired, 1 if it is held (also by the caller) or other
 *  requests wait for it, 2 on a wrong argument or a failure. */
void ARMCIX_Lock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc);
int ARMCIX_Trylock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc);
void ARMCIX_Unlock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc);

/** Access modes of an allocation, as hints; alone or combined. */
enum armcix_mode_e {
    ARMCIX_MODE_ALL = 1,           /**< any access; the mode of a new allocation */
    ARMCIX_MODE_CONFLICT_FREE = 2, /**< no accumulate to memory that another process accesses meanwhile */
    ARMCIX_MODE_NO_LOAD_STORE = 4  /**< its owner does not access it by load and store */
};

/** Sets the access mode of an allocation until the next call or until it is freed. Collective over the group
 *  of the allocation; completes the caller's operations at their targets. The result of operations that break
 *  a mode is undefined. Under ARMCIX_MODE_CONFLICT_FREE accumulates take no locks; the other modes have no
 *  effect here. (Not in ARMCI 1.1.)
 * @param mode   ARMCIX_MODE_ constants, alone or combined; with ARMCIX_MODE_ALL the others have no effect
 * @param ptr    first byte of the caller's part, NULL if it is empty
 * @param group  group of the allocation, or another one of the same processes
 * @return 0; nonzero at every process when the mode or address of one is wrong; nonzero at the caller for a
 *  null group, and if an earlier operation of the caller has failed. */
int ARMCIX_Mode_set(int mode, void *ptr, ARMCI_Group *group);

/** Returns the mode of the caller's memory. Local. (Not in ARMCI 1.1.)
 * @param ptr  address in an allocation of the caller
 * @return the mode; ARMCIX_MODE_ALL for a mode that contains it, and of all other memory. */
int ARMCIX_Mode_get(void *ptr);

/** Drives progress. Never required. Local; between ARMCI_Init and ARMCI_Finalize. (Not in ARMCI 1.1.) */
void ARMCIX_Progress(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
