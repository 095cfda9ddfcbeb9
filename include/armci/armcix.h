/** Extensions of ARMCI: splitting groups, and sets of mutexes of their own. */
#ifndef _ARMCIX_H_
#define _ARMCIX_H_

#include <armci.h>
#include <armciconf.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** Splits and duplicates a group, as MPI_Comm_split and MPI_Comm_dup. Collective over the parent, and a
 *  failure of all its members. (Not in ARMCI 1.1.)
 * @param parent     group that the caller belongs to
 * @param color      processes with the same number come into one group; MPI_UNDEFINED: into none
 * @param key        order of the processes in the new group
 * @param new_group  receives the group, an empty one for MPI_UNDEFINED
 * @return 0; nonzero at every process for a negative color or a null argument at one. */
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

/** A set of mutexes of one's own. Collective over the group, which may be freed before the mutexes. Wrong
 *  arguments end the program through ARMCI_Error. (Not in ARMCI 1.1.)
 * @param count   number of mutexes that live with the caller, from 0 on
 * @param pgroup  group that the caller belongs to
 * @return the set. */
armcix_mutex_hdl_t ARMCIX_Create_mutexes_hdl(int count, ARMCI_Group *pgroup);

/** Frees a set of mutexes. Collective over its group. (Not in ARMCI 1.1.)
 * @param hdl  the set; not to be used afterwards
 * @return 0; nonzero for a null set. */
int ARMCIX_Destroy_mutexes_hdl(armcix_mutex_hdl_t hdl);

/** Takes and gives back a mutex of a set, as ARMCI_Lock and ARMCI_Unlock do, whose errors they share.
 *  Local. (Not in ARMCI 1.1.)
 * @param hdl    the set
 * @param mutex  number of the mutex at its process, from 0 on
 * @param proc   process that it lives with, a rank in the group
 * @return ARMCIX_Trylock_hdl: 0 when the mutex was acquired, 1 when it is held, also by the caller, or
 *  waited for, 2 on a wrong argument or a failure. */
void ARMCIX_Lock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc);
int ARMCIX_Trylock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc);
void ARMCIX_Unlock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc);

/** Access modes of an allocation, as hints; alone or combined. */
enum armcix_mode_e {
    ARMCIX_MODE_ALL = 1,           /**< any access; the mode of a new allocation */
    ARMCIX_MODE_CONFLICT_FREE = 2, /**< nobody accumulates to memory that another process accesses at the same time */
    ARMCIX_MODE_NO_LOAD_STORE = 4  /**< its owner does not access it by load and store */
};

/** Gives an allocation an access mode until the next call or until it is freed. Collective over the group
 *  that it was allocated with; completes the caller's operations at their targets. The result of
 *  operations that break a mode is undefined. Under ARMCIX_MODE_CONFLICT_FREE accumulates take no locks;
 *  the other modes change nothing here. (Not in ARMCI 1.1.)
 * @param mode   ARMCIX_MODE_ constants, alone or combined
 * @param ptr    first byte of the caller's part, NULL where it is empty
 * @param group  group of the allocation
 * @return 0; nonzero at every process when the arguments of one are wrong. */
int ARMCIX_Mode_set(int mode, void *ptr, ARMCI_Group *group);

/** Mode of the caller's memory. Local. (Not in ARMCI 1.1.)
 * @param ptr  address in an allocation of the caller
 * @return the mode; ARMCIX_MODE_ALL of all other memory. */
int ARMCIX_Mode_get(void *ptr);

/** Gives communication a chance to progress. Never needed. Local; between ARMCI_Init and ARMCI_Finalize. (Not in ARMCI
 *  1.1.) */
void ARMCIX_Progress(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
