/**
 * MPI windows on the one-sided engine, for an MPI host: a component of Open MPI, or a library that
 * intercepts the calls of MPI. Plain C.
 *
 * Each function implements the MPI call of its name without the MPI host's part: handles are valid, counts
 * are not negative, and MPI_PROC_NULL is handled by the MPI host. Functions return MPI_SUCCESS, or an error
 * class or code, which the MPI host passes on to the window's error handler. A call that is rejected leaves
 * the window unchanged; a call that reports the failure of an earlier operation takes effect nevertheless.
 * Functions may be called from any thread that MPI's thread level allows, between mpix_host_offer() of an
 * engine and the end of that engine.
 */
#ifndef MPIX_WINDOWS_H
#define MPIX_WINDOWS_H

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mpix_window mpix_window_t;

/** Verbosity on stderr: 0 errors only, 1 also window creation, 2 also the protocol to each rank. */
void mpix_windows_set_verbose(int level);

/** Ends the use of MPI. The next window prepares it again, which may be in another session. */
void mpix_windows_end(void);

/** Issues queued calls whose lock or post has arrived. Called when the program makes progress in MPI; not to
 * be called while the engine waits. Returns the number of calls issued. */
int mpix_windows_progress(void);

/** Default order of operations of one origin to one target, for later windows whose info object lacks the key
 * mpix_order: "overlapping" (the default) orders operations whose target memory overlaps; "none" does not.
 * MPI_ERR_ARG: invalid value. Called before windows are created. */
int mpix_windows_set_order(const char* order);

/** A hint of the info object; `value` is NULL if it was not given. */
struct mpix_window_hint {
  const char* key;
  const char* value;
};

/** The keys that windows support, terminated by NULL. */
const char* const* mpix_window_keys(void);

/** Memory of a process, as passed to the call that creates the window. */
struct mpix_window_memory {
  int flavor; /**< MPI_WIN_FLAVOR_... */
  void* base; /**< given with MPI_WIN_FLAVOR_CREATE, else set by the call */
  MPI_Aint size;
  int disp_unit;
};

/** MPI_Win_create, _allocate, _allocate_shared, _create_dynamic: collective. If the call fails at one
 * process, it fails at all with one class and leaves no state. `hints` end with a NULL key. `handle` is the
 * host's handle, which is passed to mpix_host_ops::window_request_create. `window` NULL: the MPI host has no
 * memory for the window at this process, and the call fails. */
int mpix_window_create(MPI_Comm comm, struct mpix_window_memory* memory, const struct mpix_window_hint* hints,
                       void* handle, mpix_window_t** window);
/** Bytes that this process stores, for itself or for all processes of its host, in tables with an entry
 * for each rank of a window. */
uint64_t mpix_window_table_bytes(void);
/** The reason why this thread's last mpix_window_create, or call of a memory server, failed: the error class,
 * and a text that stays valid until the next such call. MPI_SUCCESS if it succeeded or there is no text. */
int mpix_window_refusal(const char** text);
/** Sets that reason, for an MPI host that cannot use the window which mpix_window_create has made. Returns
 * the error class. */
int mpix_window_refuse(int error_class, const char* text);
/** Configures allocation at memory servers: windows are spread over the grants with the locators
 * `allocation`, separated by commas; if empty, over those of MPIX_NAM_ALLOCATION, or else allocated in a
 * private server of `private_bytes` bytes that is started for the job. Processes of other hosts reach
 * that server on networks that `interfaces` permits, as in mpix_engine_config; `rdma`, as in mpix-namd,
 * selects UCX put and get. */
int mpix_nam_configure(const char* allocation, size_t private_bytes, const char* interfaces,
                       const char* rdma);

/* Memory servers. Errors: an error class, and the text of mpix_window_refusal. */

/** MPIX_Win_persist. MPI_ERR_WIN: not a persistent window. */
int mpix_window_persist(mpix_window_t* window);
/** Number of processes that created the persistent window with this port name, which are its targets.
 * `follow`: nonzero to accept servers that only the window's owner has named. */
int mpix_nam_ranks(const char* port, int follow, int* ranks);
/** Publishes the name of a persistent window at the server of its port. MPI_ERR_NAME: already published. */
int mpix_nam_publish(const char* name, const char* port);
/** MPI_ERR_NAME: not published. */
int mpix_nam_unpublish(const char* name, const char* port);
/** Looks up the name at the server of the job's grant, of MPIX_NAM_SERVER, or of this user. MPI_ERR_NAME:
 * not published there, or no such server. */
int mpix_nam_lookup(const char* name, char* port, size_t bytes);

/** MPI_Win_free: collective. `*is_gone` is nonzero if the window no longer exists; the error is then that of
 * the first failed operation that no earlier call has reported. Otherwise MPI_ERR_RMA_SYNC: an epoch is
 * open. */
int mpix_window_free(mpix_window_t* window, int* is_gone);
/** Ends an open epoch and releases its locks, before mpix_window_free() in MPI_Finalize, when the program
 * can no longer do so. Local. */
void mpix_window_end_epochs(mpix_window_t* window);

/** Sets a hint if it may still be changed. `value` may be NULL. Returns the value in force, which is
 * static or owned by the window; NULL for keys that are unknown, have no value, or do not apply to the
 * window's flavour. */
const char* mpix_window_set_hint(mpix_window_t* window, const char* key, const char* value);

/** Number of targets: the size of the communicator, except for a window that was created as dynamic with the
 * hint deep_win_port_name, which is connected to an existing window. */
int mpix_window_ranks(const mpix_window_t* window);
/** Memory of a target. MPI_ERR_RANK; MPI_ERR_RMA_FLAVOR for dynamic windows. */
int mpix_window_region(const mpix_window_t* window, int rank, MPI_Aint* size, int* disp_unit);

int mpix_window_shared_query(mpix_window_t* window, int rank, MPI_Aint* size, int* disp_unit, void** base);
int mpix_window_attach(mpix_window_t* window, void* base, MPI_Aint size);
int mpix_window_detach(mpix_window_t* window, const void* base);

/* ---- Communication: the arguments of MPI's calls in their order. ---- */

int mpix_window_put(const void* origin, MPI_Count origin_count, MPI_Datatype origin_type, int rank,
                    MPI_Aint disp, MPI_Count count, MPI_Datatype type, mpix_window_t* window);
int mpix_window_get(void* origin, MPI_Count origin_count, MPI_Datatype origin_type, int rank, MPI_Aint disp,
                    MPI_Count count, MPI_Datatype type, mpix_window_t* window);
int mpix_window_accumulate(const void* origin, MPI_Count origin_count, MPI_Datatype origin_type, int rank,
                           MPI_Aint disp, MPI_Count count, MPI_Datatype type, MPI_Op op,
                           mpix_window_t* window);
int mpix_window_fetch_and_op(const void* origin, void* result, MPI_Datatype type, int rank, MPI_Aint disp,
                             MPI_Op op, mpix_window_t* window);
int mpix_window_compare_and_swap(const void* origin, const void* compare, void* result, MPI_Datatype type,
                                 int rank, MPI_Aint disp, mpix_window_t* window);

/** Memory of this process. */
struct mpix_window_buffer {
  void* address;
  MPI_Count count;
  MPI_Datatype type;
};
/** Memory of a target. */
struct mpix_window_place {
  int rank;
  MPI_Aint disp;
  MPI_Count count;
  MPI_Datatype type;
};

/* ---- The forms with a request (passive targets only), and MPI_Get_accumulate ---- */

int mpix_window_rput(mpix_window_t* window, const struct mpix_window_buffer* origin,
                     const struct mpix_window_place* target, MPI_Request* request);
int mpix_window_rget(mpix_window_t* window, const struct mpix_window_buffer* origin,
                     const struct mpix_window_place* target, MPI_Request* request);
/** MPI_Raccumulate. If `result` is not NULL: MPI_Rget_accumulate, or MPI_Get_accumulate if `request` is
 * NULL. */
int mpix_window_update(mpix_window_t* window, const struct mpix_window_buffer* origin,
                       const struct mpix_window_buffer* result, const struct mpix_window_place* target,
                       MPI_Op op, MPI_Request* request);

/* ---- Notification ---- */

/** Collective: replaces the counters of this process by new ones, all zero. On an error the process keeps its
 * counters. Local errors: MPI_ERR_ARG (fewer than the process has, or more than the maximum),
 * MPI_ERR_RMA_SYNC (an access epoch other than a fence epoch is open). If one process lacks memory, all keep
 * their counters, and those without a local error return MPI_ERR_NO_MEM. MPI_ERR_UNSUPPORTED_OPERATION: a
 * connected window. */
int mpix_window_set_counters(mpix_window_t* window, int count);
/** `suggested`: number of counters of a process up to which operations are not slowed down. `most`: the
 * maximum. Both 0: the window supports no counters. */
void mpix_window_counter_bounds(const mpix_window_t* window, int* suggested, int* most);
/** Number of counters of a process. */
int mpix_window_num_counters(mpix_window_t* window, int rank, int* count);
/** Sets the error class of queued operations on counters that do not exist, for all windows. */
void mpix_windows_set_missing_counter_class(int error_class);
/** NULL if the counter does not exist. */
uint64_t* mpix_window_counter(mpix_window_t* window, int index);

/** The notified operations of these names, with a request unless `request` is NULL. The target's counter with
 * index `notification` is incremented after the access to the target's memory. MPI_ERR_ARG: the target has no
 * such counter. A queued operation detects the missing counter later, and fails with the class of
 * mpix_windows_set_missing_counter_class. */
int mpix_window_put_notify(mpix_window_t* window, const struct mpix_window_buffer* origin,
                           const struct mpix_window_place* target, int notification, MPI_Request* request);
int mpix_window_get_notify(mpix_window_t* window, const struct mpix_window_buffer* origin,
                           const struct mpix_window_place* target, int notification, MPI_Request* request);
int mpix_window_accumulate_notify(mpix_window_t* window, const struct mpix_window_buffer* origin,
                                  const struct mpix_window_buffer* result,
                                  const struct mpix_window_place* target, MPI_Op op, int notification,
                                  MPI_Request* request);

/* ---- Synchronisation ---- */

int mpix_window_fence(mpix_window_t* window, int assertion);
int mpix_window_post(mpix_window_t* window, MPI_Group group, int assertion);
int mpix_window_start(mpix_window_t* window, MPI_Group group, int assertion);
int mpix_window_complete(mpix_window_t* window);
int mpix_window_wait(mpix_window_t* window);
int mpix_window_test(mpix_window_t* window, int* flag);
int mpix_window_lock(mpix_window_t* window, int type, int rank, int assertion);
int mpix_window_unlock(mpix_window_t* window, int rank);
int mpix_window_lock_all(mpix_window_t* window, int assertion);
int mpix_window_unlock_all(mpix_window_t* window);
int mpix_window_sync(mpix_window_t* window);
int mpix_window_flush(mpix_window_t* window, int rank);
int mpix_window_flush_all(mpix_window_t* window);
int mpix_window_flush_local(mpix_window_t* window, int rank);
int mpix_window_flush_local_all(mpix_window_t* window);
/** The flushes for the operations of one thread. They are the same as mpix_window_flush and
 * mpix_window_flush_all, and thus cover the operations of all threads. */
int mpix_window_flush_thread(mpix_window_t* window, int rank);
int mpix_window_flush_thread_all(mpix_window_t* window);

/** For passive-target epochs, like the flushes: orders operations issued to the target, or to each target,
 * before later ones. */
int mpix_window_order(mpix_window_t* window, int rank);
int mpix_window_order_all(mpix_window_t* window);
/** The flushes of these names, which return a window request instead of waiting. */
int mpix_window_iflush(mpix_window_t* window, int rank, MPI_Request* request);
int mpix_window_iflush_all(mpix_window_t* window, MPI_Request* request);
int mpix_window_iflush_local(mpix_window_t* window, int rank, MPI_Request* request);
int mpix_window_iflush_local_all(mpix_window_t* window, MPI_Request* request);
/** The two parts of MPIX_Win_flush_windows on each window: the first starts the completion of all operations,
 * and is called for all windows before the second waits for it. */
int mpix_window_begin_flush_all(mpix_window_t* window);
int mpix_window_end_flush_all(mpix_window_t* window);

#ifdef __cplusplus
}
#endif
#endif
