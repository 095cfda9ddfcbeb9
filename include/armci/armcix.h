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

/** As MPI_Comm_split and MPI_Comm_dup. Collective over the parent. */
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

/** Collective over the group; `count` mutexes live with the caller. The group may be freed before the
 *  mutexes. */
armcix_mutex_hdl_t ARMCIX_Create_mutexes_hdl(int count, ARMCI_Group *pgroup);
int ARMCIX_Destroy_mutexes_hdl(armcix_mutex_hdl_t hdl);
/** proc is a rank in the group. */
void ARMCIX_Lock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc);
/** Returns 0 when the mutex was acquired, 1 when it is held, also by the caller, or waited for, 2 on a
 *  wrong argument or a failure. */
int ARMCIX_Trylock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc);
void ARMCIX_Unlock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc);

/** Access modes of an allocation, as hints; alone or combined. */
enum armcix_mode_e {
    ARMCIX_MODE_ALL = 1,           /**< any access; the mode of a new allocation */
    ARMCIX_MODE_CONFLICT_FREE = 2, /**< nobody accumulates to memory that another process accesses at the same time */
    ARMCIX_MODE_NO_LOAD_STORE = 4  /**< its owner does not access it by load and store */
};

/** Gives the allocation whose first byte here is `ptr` (NULL where it is empty) a mode until the next call or until it is
 * freed. Collective over the group that it was allocated with; completes the caller's operations at their targets. The
 * result of operations that break a mode is undefined. Under ARMCIX_MODE_CONFLICT_FREE accumulates take no locks; the
 * other modes change nothing here. Returns 0, or nonzero at every process when the arguments of one are wrong. */
int ARMCIX_Mode_set(int mode, void *ptr, ARMCI_Group *group);
/** Mode of the caller's memory at `ptr`. Local. */
int ARMCIX_Mode_get(void *ptr);

/** Gives communication a chance to progress. Never needed. Between ARMCI_Init and ARMCI_Finalize. */
void ARMCIX_Progress(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
