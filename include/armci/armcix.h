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

/** Collective over the group; `count` mutexes live with the caller. */
armcix_mutex_hdl_t ARMCIX_Create_mutexes_hdl(int count, ARMCI_Group *pgroup);
int ARMCIX_Destroy_mutexes_hdl(armcix_mutex_hdl_t hdl);
/** proc is a rank in the group. */
void ARMCIX_Lock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc);
/** Returns 0 when the mutex was acquired, 1 when somebody else holds it. */
int ARMCIX_Trylock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc);
void ARMCIX_Unlock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc);

/** Gives communication a chance to progress. Never needed. */
void ARMCIX_Progress(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
