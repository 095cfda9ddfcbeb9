/**
 * ARMCI: aggregate remote memory copy, over MPIX_RMA.
 *
 * The interface that Global Arrays and NWChem are compiled against; names, prototypes, enumerators and
 * struct layouts are those of ARMCI-MPI. A remote address is a pair of a process (a rank in the
 * communicator that ARMCI was initialised with, MPI_COMM_WORLD by default) and an address there.
 *
 * Completion. A blocking put or accumulate returns when the local buffer may be reused, a blocking get when
 * the data has arrived. Operations of one process to the same process take effect in issue order, except that
 * a get may be performed before an earlier put or accumulate that it does not overlap. ARMCI_Fence and
 * ARMCI_AllFence wait until the caller's operations are complete at the target.
 *
 * Errors. Functions that return int return 0. A wrong argument, a failed transfer, or a call before
 * ARMCI_Init or after ARMCI_Finalize makes them return nonzero after one line on stderr that names the call,
 * the process and the address there, the argument and its value, and the caller's rank while ARMCI is
 * initialised; the program continues. Without ARMCI_Init, ARMCI_Finalize does nothing; calls that may be made
 * at any time say so, and queries of groups, domains and modes need no ARMCI_Init.
 * Functions without an error code (void, and those that return a value) end the program through ARMCI_Error
 * with that line. A transfer that the target rejects after a blocking put or accumulate has returned, or
 * after a wait for a small one, is reported by the next ARMCI_Fence, ARMCI_AllFence, ARMCI_Barrier,
 * ARMCI_Free or ARMCI_Finalize, with the process. A wait names the operation that failed. A non-blocking
 * transfer may fail in its call or later: the wait for it fails in either case.
 *
 * Threads. With MPI_THREAD_MULTIPLE, which ARMCI_Init_thread requests, threads may call ARMCI at the same
 * time, except ARMCI_Init, ARMCI_Finalize, ARMCI_Create_mutexes, ARMCI_Destroy_mutexes,
 * ARMCI_Group_set_default and, as in MPI, collective calls of the same group. Groups with a common member
 * are not created at the same time: all their members create them in the same order. Below that level only
 * one thread may call ARMCI at a time; threads may take turns if MPI's level permits. Operations of several
 * threads are in order if the program synchronises the threads. Fences and waits complete the operations that
 * all threads have issued before. Several threads may wait for one handle. Threads exclude each other by
 * mutexes.
 *
 * Counts, strides and sizes are in bytes unless stated to be in elements.
 */
#ifndef _ARMCI_H_
#define _ARMCI_H_

#include "armci/groups.h"
#include "armci/transfer.h"
#include "armci/types.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** Initialisation. Collective over the communicator. MPI is initialised if necessary. Calls are counted: only
 *  the first one initialises. A call that fails at one process fails at all; it is not counted, leaves MPI
 *  initialised, and may be repeated. ARMCI_Initialized is local and may be called at any time. (ARMCI 1.1,
 *  operations 1.)
 * @param argc             ignored
 * @param argv             ignored
 * @param armci_requested  thread level that the program needs; MPI is initialised with it, unless it is
 *  initialised already. MPI_THREAD_SINGLE in calls without it
 * @param comm             communicator of the processes that take part, MPI_COMM_WORLD in calls without it;
 *  may be freed afterwards
 * @return 0; nonzero if the library (in Open MPI its component) has not started, for a null
 *  communicator, if MPI runs below the requested thread level, for an invalid value of an environment
 *  variable, if memory is exhausted, and after MPI_Finalize. ARMCI_Initialized: 1 between ARMCI_Init and
 *  ARMCI_Finalize, else 0. */
int ARMCI_Init(void);
int ARMCI_Init_args(int *argc, char ***argv);
int ARMCI_Init_mpi_comm(MPI_Comm comm);
int ARMCI_Init_thread(int armci_requested);
int ARMCI_Init_thread_comm(int armci_requested, MPI_Comm comm);
int ARMCI_Initialized(void);

/** Ends ARMCI. Collective. The call that matches the first initialisation completes all operations, frees
 *  the mutexes of ARMCI_Create_mutexes and all remote memory, and finalizes MPI if ARMCI has initialised it;
 *  the other calls only decrement the count. Without ARMCI_Init it does nothing. (ARMCI 1.1, operations 1.)
 * @return 0; nonzero if operations of the caller have failed and no call that waits has reported them. The
 *  library is finalized nevertheless. */
int ARMCI_Finalize(void);

/** Allocates remote memory, aligned for every type. Collective over all processes or the group; sizes may
 *  differ, and all processes fail if one fails. Memory of special devices is not distinguished. (ARMCI 1.1,
 *  operations 10.)
 * @param base_ptrs, ptr_arr  receive the address of every process's part, NULL where its size is 0; as
 *  many as there are processes in the world or the group
 * @param size, bytes         bytes of the caller's part, from 0 on
 * @param group               group that the caller belongs to
 * @param device              ignored
 * @return 0; nonzero at every process when the arguments of one are wrong or there is no memory. */
int ARMCI_Malloc(void **base_ptrs, armci_size_t size);
int ARMCI_Malloc_group(void **ptr_arr, armci_size_t bytes, ARMCI_Group *group);
int ARMCI_Malloc_memdev(void **ptr_arr, armci_size_t bytes, const char *device);
int ARMCI_Malloc_group_memdev(void **ptr_arr, armci_size_t bytes, ARMCI_Group *group, const char *device);

/** Frees remote memory once all operations of the callers are complete. Collective over the processes that
 *  allocated it. (ARMCI 1.1, operations 10.)
 * @param ptr    address of the caller's part, NULL where its size is 0
 * @param group  group that the memory was allocated with
 * @return 0; nonzero at every process if one passes an address that is not allocated; nonzero at the caller,
 *  with the memory freed, if an earlier operation has failed. */
int ARMCI_Free(void *ptr);
int ARMCI_Free_group(void *ptr, ARMCI_Group *group);
int ARMCI_Free_memdev(void *ptr);

/** Allocates and frees local memory for fast buffers. Local. (Not in ARMCI 1.1.)
 * @param size  bytes; a negative number ends the program through ARMCI_Error
 * @param ptr   address from ARMCI_Malloc_local, or NULL
 * @return ARMCI_Malloc_local: the address, NULL when size is 0 or there is no memory. ARMCI_Free_local: 0;
 *  nonzero for an address that ARMCI_Malloc_local did not allocate or that was freed before. */
void *ARMCI_Malloc_local(armci_size_t size);
int ARMCI_Free_local(void *ptr);

/** Completes the caller's operations at the target: to one process, to all, to all with a barrier. Afterwards
 *  all processes see their effects. ARMCI_Barrier is collective, the others are local. A wrong process, or an
 *  operation that its target rejected, ends the program through ARMCI_Error. (ARMCI 1.1, operations 8.)
 * @param proc  process, a rank in the communicator of initialisation */
void ARMCI_Fence(int proc);
void ARMCI_AllFence(void);
void ARMCI_Barrier(void);

/** Direct access to one's own remote memory. Memory is coherent here, so the calls do nothing. Local. (Not in
 *  ARMCI 1.1.)
 * @param ptr  first address of the memory */
void ARMCI_Access_begin(void *ptr);
void ARMCI_Access_end(void *ptr);

/** Ends the program: "rank: msg code" on stdout and stderr, without the rank while ARMCI is not initialised;
 *  then MPI_Abort, or an exit while MPI is not initialised. Local; ends all processes. (ARMCI 1.1,
 *  operations 11.)
 * @param msg   text
 * @param code  exit code; 0 is replaced by 1 */
void ARMCI_Error(const char *msg, int code);

/** Releases resources that would outlive the program, before an abnormal end. Does nothing here. Local.
 *  (ARMCI 1.1, operations 11.) */
void ARMCI_Cleanup(void);

/** Copies memory of the caller. Local. A negative size, or a null address with a size, ends the program
 *  through ARMCI_Error. (Not in ARMCI 1.1.)
 * @param src   first byte to read
 * @param dst   first byte to write; may overlap
 * @param size  bytes */
void ARMCI_Copy(void *src, void *dst, int size);

/** Packs a strided block of the caller into a buffer, and the inverse. Local. Wrong arguments end the
 *  program through ARMCI_Error. (Not in ARMCI 1.1.)
 * @param ptr            first byte of the block
 * @param stride_levels  number of strides, 0 to 8
 * @param stride_arr     distances in bytes
 * @param count          as for ARMCI_PutS
 * @param buf            count[0] bytes per repetition */
void armci_write_strided(void *ptr, int stride_levels, int stride_arr[], int count[], char *buf);
void armci_read_strided(void *ptr, int stride_levels, int stride_arr[], int count[], char *buf);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#include <message.h>
#include <parmci.h>

#endif /* _ARMCI_H_ */
