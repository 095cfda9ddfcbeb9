/**
 * ARMCI: aggregate remote memory copy, over MPIX_RMA.
 *
 * The interface that Global Arrays and NWChem are compiled against; names, prototypes, enumerators and
 * struct layouts are those of ARMCI-MPI. A remote address is a pair of a process (a rank in the
 * communicator that ARMCI was initialised with, MPI_COMM_WORLD by default) and an address there.
 *
 * Completion. A blocking put or accumulate returns when the local buffer may be reused, a blocking get
 * when the data is there. Operations of one process to the same process take effect in the order of issue.
 * ARMCI_Fence and ARMCI_AllFence wait until they are complete at the target.
 *
 * Errors. Functions that return int return 0. A wrong argument, a failed transfer, or a call outside of
 * ARMCI_Init and ARMCI_Finalize makes them return nonzero after one line on stderr that names the caller's
 * rank, the call, the process and the address there, the argument and its value; the program goes on. Functions without an error code (void, and those that
 * return a value) end the program through ARMCI_Error with that line. A transfer that the target refuses
 * after a blocking put or accumulate has returned is reported by the next ARMCI_Fence, ARMCI_AllFence,
 * ARMCI_Barrier, ARMCI_Free or ARMCI_Finalize, with the process. A wait names the operation that failed.
 *
 * Threads. One thread calls ARMCI at a time; it need not be always the same one if MPI's thread level
 * permits that.
 *
 * Counts, strides and sizes are in bytes unless it says elements.
 */
#ifndef _ARMCI_H_
#define _ARMCI_H_

#include <mpix_rma/no_cxx_bindings.h>

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define ARMCI_MPI 3

/** Element types of accumulate: target += scale * source. */
enum ARMCI_Acc_e {
    ARMCI_ACC_INT, /**< int */
    ARMCI_ACC_LNG, /**< long */
    ARMCI_ACC_FLT, /**< float */
    ARMCI_ACC_DBL, /**< double */
    ARMCI_ACC_CPL, /**< float complex */
    ARMCI_ACC_DCP  /**< double complex */
};

typedef long armci_size_t;
#define ARMCII_MPI_SIZE_T MPI_LONG

/** A set of equally long segments: segment i is copied from src_ptr_array[i] to dst_ptr_array[i]. */
typedef struct {
    void **src_ptr_array;
    void **dst_ptr_array;
    int bytes;         /**< length of each segment */
    int ptr_array_len; /**< number of segments */
} armci_giov_t;

/** Names one or, as an aggregate, several non-blocking operations. Opaque. */
typedef struct armci_hdl_s {
    int target;
    int aggregate;
} armci_hdl_t;

/** A group of processes. Opaque; comm may be used for MPI calls. */
typedef struct {
    MPI_Comm comm;
    MPI_Comm noncoll_pgroup_comm;
    int *grp_to_abs;
    int *abs_to_grp;
    int rank;
    int size;
} ARMCI_Group;

/** Operations of ARMCI_Rmw: what `ploc` receives is the previous value of `*prem`. */
enum ARMCI_Rmw_e {
    ARMCI_FETCH_AND_ADD,      /**< int:  *prem += value */
    ARMCI_FETCH_AND_ADD_LONG, /**< long: *prem += value */
    ARMCI_SWAP,               /**< int:  *prem and *ploc change places */
    ARMCI_SWAP_LONG           /**< long: likewise */
};

/** Kinds of domains: processes that reach each other's memory by load and store with the addresses that
 *  ARMCI_Malloc gives. Here, a process alone. */
enum armci_domain_e {
    ARMCI_DOMAIN_SMP
};
typedef int armci_domain_t;

/** Initialisation. Collective over the communicator. MPI is initialised if it is not yet, with the thread
 *  level armci_requested, which is MPI_THREAD_SINGLE unless the call names one, and which is not used
 *  otherwise. Calls are counted: only the first one initialises. One that fails, at any process, fails at
 *  all; it is not counted, leaves MPI initialised, and may be repeated. ARMCI_Initialized returns 1
 *  between ARMCI_Init and ARMCI_Finalize, else 0; it may be called at any time.
 *
 *  ARMCI_Finalize is collective. The one that matches the first initialisation ends ARMCI, others only
 *  count: it completes all operations, frees mutexes and memory, and finalizes MPI if ARMCI has
 *  initialised it. When operations of the caller have failed it does all of that and returns nonzero.
 *  Without ARMCI_Init it does nothing and returns 0. */
int ARMCI_Init(void);
int ARMCI_Init_args(int *argc, char ***argv);
int ARMCI_Init_thread(int armci_requested);
int ARMCI_Init_thread_comm(int armci_requested, MPI_Comm comm);
int ARMCI_Initialized(void);
int ARMCI_Finalize(void);

/** Remote memory. Collective; base_ptrs receives every process's base address, NULL where size is 0. */
int ARMCI_Malloc(void **base_ptrs, armci_size_t size);
int ARMCI_Free(void *ptr);
/** The same functions: memory of special devices is not distinguished, `device` is ignored. */
int ARMCI_Malloc_memdev(void **ptr_arr, armci_size_t bytes, const char *device);
int ARMCI_Malloc_group_memdev(void **ptr_arr, armci_size_t bytes, ARMCI_Group *group, const char *device);
int ARMCI_Free_memdev(void *ptr);

/** Local memory that makes fast buffers. Local. NULL when size is 0 or there is no memory. ARMCI_Free_local
 *  refuses memory of ARMCI_Malloc, which all its processes free together. */
void *ARMCI_Malloc_local(armci_size_t size);
int ARMCI_Free_local(void *ptr);

/** Completion at the target: of one process, of all, of all with a barrier. */
void ARMCI_Fence(int proc);
void ARMCI_AllFence(void);
void ARMCI_Barrier(void);

/** Direct access to one's own remote memory. Memory is coherent here: nothing to be done. */
void ARMCI_Access_begin(void *ptr);
void ARMCI_Access_end(void *ptr);

/** Contiguous transfers. Of 0 bytes: nothing but the process is looked at. */
int ARMCI_Get(void *src, void *dst, int size, int target);
int ARMCI_Put(void *src, void *dst, int size, int target);
int ARMCI_Acc(int datatype, void *scale, void *src, void *dst, int bytes, int proc);

/** Strided transfers: count[0] contiguous bytes, repeated count[i] times at src_stride_ar[i-1] and
 *  dst_stride_ar[i-1]. */
int ARMCI_PutS(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
               int stride_levels, int proc);
int ARMCI_GetS(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
               int stride_levels, int proc);
int ARMCI_AccS(int datatype, void *scale, void *src_ptr, int src_stride_ar[], void *dst_ptr,
               int dst_stride_ar[], int count[], int stride_levels, int proc);

/** A put, then the int `value` to the int `flag` at the same process, visible after the data. When the
 *  data is refused, the flag is not written and the call returns nonzero. */
int ARMCI_Put_flag(void *src, void *dst, int size, int *flag, int value, int proc);
int ARMCI_PutS_flag(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
                    int stride_levels, int *flag, int value, int proc);

/** Vector transfers. Segments of 0 bytes are left out; of others no address may be null. */
int ARMCI_PutV(armci_giov_t *iov, int iov_len, int proc);
int ARMCI_GetV(armci_giov_t *iov, int iov_len, int proc);
int ARMCI_AccV(int datatype, void *scale, armci_giov_t *iov, int iov_len, int proc);

/** Non-blocking transfers. hdl may be NULL: then Wait is ARMCI_WaitProc or ARMCI_WaitAll. */
int ARMCI_NbPut(void *src, void *dst, int bytes, int proc, armci_hdl_t *hdl);
int ARMCI_NbGet(void *src, void *dst, int bytes, int proc, armci_hdl_t *hdl);
int ARMCI_NbAcc(int datatype, void *scale, void *src, void *dst, int bytes, int proc, armci_hdl_t *hdl);
int ARMCI_NbPutS(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
                 int stride_levels, int proc, armci_hdl_t *hdl);
int ARMCI_NbGetS(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
                 int stride_levels, int proc, armci_hdl_t *hdl);
int ARMCI_NbAccS(int datatype, void *scale, void *src_ptr, int src_stride_ar[], void *dst_ptr,
                 int dst_stride_ar[], int count[], int stride_levels, int proc, armci_hdl_t *hdl);
int ARMCI_NbPutV(armci_giov_t *iov, int iov_len, int proc, armci_hdl_t *handle);
int ARMCI_NbGetV(armci_giov_t *iov, int iov_len, int proc, armci_hdl_t *handle);
int ARMCI_NbAccV(int datatype, void *scale, armci_giov_t *iov, int iov_len, int proc, armci_hdl_t *handle);

/** Local completion: of the operations of a handle, of the implicit ones to a process, of all. They wait
 *  for every one of the operations, and then return nonzero when one of them has failed, also if the
 *  non-blocking call has said so. No later wait reports it again. ARMCI_Wait(NULL) is ARMCI_WaitAll, which
 *  covers the handles too. ARMCI_Test, which does not wait, returns 0 when the operations are complete, 1
 *  when they are not yet, and 2 when they are complete and one has failed; of NULL, it tests all implicit
 *  operations. A handle without operations is complete. */
int ARMCI_Wait(armci_hdl_t *hdl);
int ARMCI_Test(armci_hdl_t *hdl);
int ARMCI_WaitProc(int proc);
int ARMCI_WaitAll(void);

/** Transfers of one value. The putting functions return nonzero on failure; the value may be gone when a
 *  non-blocking one returns, which needs no waiting for. The getting functions return the value, and have
 *  no way to report a failure: it ends the program through ARMCI_Error. */
int ARMCI_PutValueInt(int src, void *dst, int proc);
int ARMCI_PutValueLong(long src, void *dst, int proc);
int ARMCI_PutValueFloat(float src, void *dst, int proc);
int ARMCI_PutValueDouble(double src, void *dst, int proc);
int ARMCI_NbPutValueInt(int src, void *dst, int proc, armci_hdl_t *hdl);
int ARMCI_NbPutValueLong(long src, void *dst, int proc, armci_hdl_t *hdl);
int ARMCI_NbPutValueFloat(float src, void *dst, int proc, armci_hdl_t *hdl);
int ARMCI_NbPutValueDouble(double src, void *dst, int proc, armci_hdl_t *hdl);
int ARMCI_GetValueInt(void *src, int proc);
long ARMCI_GetValueLong(void *src, int proc);
float ARMCI_GetValueFloat(void *src, int proc);
double ARMCI_GetValueDouble(void *src, int proc);

/** Mutexes. Creation and destruction are collective; every process gives the number that live with it. */
int ARMCI_Create_mutexes(int count);
int ARMCI_Destroy_mutexes(void);
void ARMCI_Lock(int mutex, int proc);
void ARMCI_Unlock(int mutex, int proc);

/** Atomic update of one int or long; see ARMCI_Rmw_e. prem is a multiple of its size. */
int ARMCI_Rmw(int op, void *ploc, void *prem, int value, int proc);

/** Ends the program: "rank: msg code" on stdout and stderr, then MPI_Abort. */
void ARMCI_Error(const char *msg, int code);
/** Releases what would outlive the program. Before an abnormal end. */
void ARMCI_Cleanup(void);
/** Local copy. */
void ARMCI_Copy(void *src, void *dst, int size);

/** Makes a handle that names no operation; one that is all zeros does so too. Not on a handle with
 *  operations that have not been waited for: nothing but ARMCI_WaitAll waits for them then. Waiting, or a
 *  test that does not return 1, leaves the handle as this does, ready for further operations. */
void ARMCI_INIT_HANDLE(armci_hdl_t *hdl);
/** Operations with an aggregate handle are waited for together. */
void ARMCI_SET_AGGREGATE_HANDLE(armci_hdl_t *handle);
void ARMCI_UNSET_AGGREGATE_HANDLE(armci_hdl_t *handle);

/** Packs a strided block into buf, and the inverse. */
void armci_write_strided(void *ptr, int stride_levels, int stride_arr[], int count[], char *buf);
void armci_read_strided(void *ptr, int stride_levels, int stride_arr[], int count[], char *buf);

/** Groups. Creation is collective over the members only. pid_list: ascending ids in the default group, or
 *  in group_parent. When the default group is freed, the world is the default group again. */
void ARMCI_Group_create(int grp_size, int *pid_list, ARMCI_Group *group_out);
void ARMCI_Group_create_child(int grp_size, int *pid_list, ARMCI_Group *group_out, ARMCI_Group *group_parent);
void ARMCI_Group_free(ARMCI_Group *group);
int ARMCI_Group_rank(ARMCI_Group *group, int *rank);
void ARMCI_Group_size(ARMCI_Group *group, int *size);
void ARMCI_Group_set_default(ARMCI_Group *group);
void ARMCI_Group_get_default(ARMCI_Group *group_out);
void ARMCI_Group_get_world(ARMCI_Group *group_out);
/** Id in the world group of a member of `group`. */
int ARMCI_Absolute_id(ARMCI_Group *group, int group_rank);
/** As ARMCI_Malloc and ARMCI_Free, over a group. */
int ARMCI_Malloc_group(void **ptr_arr, armci_size_t bytes, ARMCI_Group *group);
int ARMCI_Free_group(void *ptr, ARMCI_Group *group);

/** Domains. Every process is a domain of its own, whose id is its rank: so armci_domain_nprocs is 1,
 *  armci_domain_count the number of processes, armci_domain_my_id the caller's rank, armci_domain_id of a
 *  process and armci_domain_glob_proc_id of a domain that same number. armci_domain_same_id and
 *  ARMCI_Same_node return 1 for the caller itself and 0 for others. No argument is checked. */
int armci_domain_nprocs(armci_domain_t domain, int id);
int armci_domain_id(armci_domain_t domain, int glob_proc_id);
int armci_domain_glob_proc_id(armci_domain_t domain, int id, int loc_proc_id);
int armci_domain_my_id(armci_domain_t domain);
int armci_domain_count(armci_domain_t domain);
int armci_domain_same_id(armci_domain_t domain, int proc);
int ARMCI_Same_node(int proc);

/** Whether addresses of other processes may be dereferenced: no. */
int ARMCI_Uses_shm(void);
int ARMCI_Uses_shm_grp(ARMCI_Group *group);
/** Accepted and not needed: memory is not taken from a limited pool. */
void ARMCI_Set_shm_limit(unsigned long shmemlimit);

#ifdef __cplusplus
}
#endif

#include <message.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The same functions by the names that profiling tools call from their own ARMCI_ functions. */
int PARMCI_Init(void);
int PARMCI_Init_args(int *argc, char ***argv);
int PARMCI_Init_thread(int armci_requested);
int PARMCI_Init_thread_comm(int armci_requested, MPI_Comm comm);
int PARMCI_Initialized(void);
int PARMCI_Finalize(void);
int PARMCI_Malloc(void **base_ptrs, armci_size_t size);
int PARMCI_Free(void *ptr);
int PARMCI_Malloc_memdev(void **ptr_arr, armci_size_t bytes, const char *device);
int PARMCI_Malloc_group_memdev(void **ptr_arr, armci_size_t bytes, ARMCI_Group *group, const char *device);
int PARMCI_Free_memdev(void *ptr);
void *PARMCI_Malloc_local(armci_size_t size);
int PARMCI_Free_local(void *ptr);
void PARMCI_Fence(int proc);
void PARMCI_AllFence(void);
void PARMCI_Barrier(void);
void PARMCI_Access_begin(void *ptr);
void PARMCI_Access_end(void *ptr);
int PARMCI_Get(void *src, void *dst, int size, int target);
int PARMCI_Put(void *src, void *dst, int size, int target);
int PARMCI_Acc(int datatype, void *scale, void *src, void *dst, int bytes, int proc);
int PARMCI_PutS(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
                int stride_levels, int proc);
int PARMCI_GetS(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
                int stride_levels, int proc);
int PARMCI_AccS(int datatype, void *scale, void *src_ptr, int src_stride_ar[], void *dst_ptr,
                int dst_stride_ar[], int count[], int stride_levels, int proc);
int PARMCI_Put_flag(void *src, void *dst, int size, int *flag, int value, int proc);
int PARMCI_PutS_flag(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
                     int stride_levels, int *flag, int value, int proc);
int PARMCI_PutV(armci_giov_t *iov, int iov_len, int proc);
int PARMCI_GetV(armci_giov_t *iov, int iov_len, int proc);
int PARMCI_AccV(int datatype, void *scale, armci_giov_t *iov, int iov_len, int proc);
int PARMCI_NbPut(void *src, void *dst, int bytes, int proc, armci_hdl_t *hdl);
int PARMCI_NbGet(void *src, void *dst, int bytes, int proc, armci_hdl_t *hdl);
int PARMCI_NbAcc(int datatype, void *scale, void *src, void *dst, int bytes, int proc, armci_hdl_t *hdl);
int PARMCI_NbPutS(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
                  int stride_levels, int proc, armci_hdl_t *hdl);
int PARMCI_NbGetS(void *src_ptr, int src_stride_ar[], void *dst_ptr, int dst_stride_ar[], int count[],
                  int stride_levels, int proc, armci_hdl_t *hdl);
int PARMCI_NbAccS(int datatype, void *scale, void *src_ptr, int src_stride_ar[], void *dst_ptr,
                  int dst_stride_ar[], int count[], int stride_levels, int proc, armci_hdl_t *hdl);
int PARMCI_NbPutV(armci_giov_t *iov, int iov_len, int proc, armci_hdl_t *handle);
int PARMCI_NbGetV(armci_giov_t *iov, int iov_len, int proc, armci_hdl_t *handle);
int PARMCI_NbAccV(int datatype, void *scale, armci_giov_t *iov, int iov_len, int proc, armci_hdl_t *handle);
int PARMCI_Wait(armci_hdl_t *hdl);
int PARMCI_Test(armci_hdl_t *hdl);
int PARMCI_WaitProc(int proc);
int PARMCI_WaitAll(void);
int PARMCI_PutValueInt(int src, void *dst, int proc);
int PARMCI_PutValueLong(long src, void *dst, int proc);
int PARMCI_PutValueFloat(float src, void *dst, int proc);
int PARMCI_PutValueDouble(double src, void *dst, int proc);
int PARMCI_NbPutValueInt(int src, void *dst, int proc, armci_hdl_t *hdl);
int PARMCI_NbPutValueLong(long src, void *dst, int proc, armci_hdl_t *hdl);
int PARMCI_NbPutValueFloat(float src, void *dst, int proc, armci_hdl_t *hdl);
int PARMCI_NbPutValueDouble(double src, void *dst, int proc, armci_hdl_t *hdl);
int PARMCI_GetValueInt(void *src, int proc);
long PARMCI_GetValueLong(void *src, int proc);
float PARMCI_GetValueFloat(void *src, int proc);
double PARMCI_GetValueDouble(void *src, int proc);
int PARMCI_Create_mutexes(int count);
int PARMCI_Destroy_mutexes(void);
void PARMCI_Lock(int mutex, int proc);
void PARMCI_Unlock(int mutex, int proc);
int PARMCI_Rmw(int op, void *ploc, void *prem, int value, int proc);
void parmci_msg_barrier(void);
void parmci_msg_group_barrier(ARMCI_Group *group);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif /* _ARMCI_H_ */
