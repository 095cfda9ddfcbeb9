/**
 * MPI's windows on the one-sided engine, for whoever hosts them: a component of Open MPI, or a library that
 * takes the calls of MPI. Plain C.
 *
 * Each function is the MPI call of its name without what the host has done before: handles are valid, counts
 * are not negative, MPI_PROC_NULL does not come here. What is returned is MPI_SUCCESS or an error class,
 * which the host passes on to the window's error handler; a call that fails leaves the window as it was.
 * Functions may be called from any thread that MPI's thread level allows, between mpix_host_offer() of an
 * engine and its end.
 */
#ifndef MPIX_WINDOWS_H
#define MPIX_WINDOWS_H

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mpix_window mpix_window_t;

/** What is said on stderr: 0 errors only, 1 windows that are made, 2 besides how each rank is reached. */
void mpix_windows_set_verbose(int level);

/** Order of operations of one origin to one target, of windows that are made from here on and whose info
 *  object does not have the key mpix_order: "overlapping" (the default), of those whose target memory
 *  overlaps; "none". MPI_ERR_ARG: another value. Called before windows are made. */
int mpix_windows_set_order(const char* order);

/** A hint of the info object; `value` is NULL where it was not given. */
struct mpix_window_hint {
  const char* key;
  const char* value;
};

/** The keys that windows know, ended by NULL. */
const char* const* mpix_window_keys(void);

/** Memory of a process, as the call that makes the window has it. */
struct mpix_window_memory {
  int flavor; /**< MPI_WIN_FLAVOR_... */
  void* base; /**< with MPI_WIN_FLAVOR_CREATE given, else set by the call */
  MPI_Aint size;
  int disp_unit;
};

/** MPI_Win_create, _allocate, _allocate_shared, _create_dynamic: collective; when it fails at one process it
 *  fails at all with one class, and nothing is left. `hints` end with a NULL key. `handle` is the host's, for
 *  mpix_host_ops::window_request_create. */
int mpix_window_create(MPI_Comm comm, struct mpix_window_memory* memory, const struct mpix_window_hint* hints,
                       void* handle, mpix_window_t** window);
/** Bytes that this process keeps, for itself or for all processes of its host, in tables with an entry for
 * each rank of a window. */
uint64_t mpix_window_table_bytes(void);
/** Why mpix_window_create has failed in this thread when it was called last: the error class, and a text that
 *  stays until the next call. MPI_SUCCESS: it has not, or there is nothing to say but what it returned. */
int mpix_window_refusal(const char** text);
/** Where windows at a memory server are allocated: spread over the grants with the locators `allocation`,
 * which have commas between; empty: over those of MPIX_NAM_ALLOCATION, or else in that of a server that is
 * started for the job, with `private_bytes` bytes. Processes of other hosts reach that on networks that
 * `interfaces` leaves, as of mpix_engine_config; `rdma`, as of mpix-namd, says whether they do by UCX put and
 * get. */
int mpix_nam_configure(const char* allocation, size_t private_bytes, const char* interfaces,
                       const char* rdma);

/* Memory servers. Errors: an error class, and the text of mpix_window_refusal. */

/** MPIX_Win_persist. MPI_ERR_WIN: not a persistent window. */
int mpix_window_persist(mpix_window_t* window);
/** How many processes have made the persistent window with this port name: its targets. `follow`: nonzero to
 * ask servers, too, that only the window's owner has named as those of its parts. */
int mpix_nam_ranks(const char* port, int follow, int* ranks);
/** Names of persistent windows, at the server of their ports. MPI_ERR_NAME: the name is published already. */
int mpix_nam_publish(const char* name, const char* port);
/** MPI_ERR_NAME: it is not published. */
int mpix_nam_unpublish(const char* name, const char* port);
/** At the server of the job's grant, of MPIX_NAM_SERVER, or of this user. MPI_ERR_NAME: it is not published
 * there, or there is no such server. */
int mpix_nam_lookup(const char* name, char* port, size_t bytes);

/** MPI_Win_free: collective. `*is_gone`: nonzero where the window does not exist any more; an error is that
 * of the first operation that failed and that nobody has asked for. Else MPI_ERR_RMA_SYNC: an epoch is open.
 */
int mpix_window_free(mpix_window_t* window, int* is_gone);
/** Before mpix_window_free() in MPI_Finalize, where the program cannot end an open epoch any more: ends it,
 * and releases its locks. Local. */
void mpix_window_end_epochs(mpix_window_t* window);

/** Takes note of a hint where it may still be changed. `value` may be NULL. Returns the value that is in
 *  force, which is static or of the window; NULL for keys that are not known. */
const char* mpix_window_set_hint(mpix_window_t* window, const char* key, const char* value);

/** Targets: as many as processes in the communicator, but for a dynamic window with the hint
 *  deep_win_port_name, which is connected to memory of others. */
int mpix_window_ranks(const mpix_window_t* window);
/** Memory of a target. MPI_ERR_RANK; MPI_ERR_RMA_FLAVOR of dynamic windows. */
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

/** The forms with a request, of passive targets only. */
int mpix_window_rput(mpix_window_t* window, const struct mpix_window_buffer* origin,
                     const struct mpix_window_place* target, MPI_Request* request);
int mpix_window_rget(mpix_window_t* window, const struct mpix_window_buffer* origin,
                     const struct mpix_window_place* target, MPI_Request* request);
/** MPI_Raccumulate; MPI_Get_accumulate with `result` not NULL, MPI_Rget_accumulate with both not NULL. */
int mpix_window_raccumulate(mpix_window_t* window, const struct mpix_window_buffer* origin,
                            const struct mpix_window_buffer* result, const struct mpix_window_place* target,
                            MPI_Op op, MPI_Request* request);

/* ---- Notification ---- */

/** Collective: counters of this process, all zero, in the place of those that it has. An error is this
 * process's alone, which keeps those that it has: MPI_ERR_ARG (negative, or more than it can have),
 * MPI_ERR_RMA_SYNC (an access epoch is open), MPI_ERR_NO_MEM. MPI_ERR_UNSUPPORTED_OPERATION at a memory
 * server. */
int mpix_window_set_counters(mpix_window_t* window, int count);
/** How many a process can have, and up to how many nothing is slower; both 0: none. */
void mpix_window_counter_bounds(const mpix_window_t* window, int* suggested, int* most);
/** How many a process has. */
int mpix_window_num_counters(mpix_window_t* window, int rank, int* count);
/** NULL: there is no such. */
uint64_t* mpix_window_counter(mpix_window_t* window, int index);

/** The operations of these names, with a request or, where `request` is NULL, without; the counter of the
 * target with the index `notification` goes up when the target's memory is done with. MPI_ERR_ARG: it has no
 * such counter. */
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

/** In epochs of passive targets, as the flushes: what was issued to the target, or to each, takes effect
 * before what is issued to it later. */
int mpix_window_order(mpix_window_t* window, int rank);
int mpix_window_order_all(mpix_window_t* window);
/** The flushes of these names with a request, of the window's: they do not wait. */
int mpix_window_iflush(mpix_window_t* window, int rank, MPI_Request* request);
int mpix_window_iflush_all(mpix_window_t* window, MPI_Request* request);
int mpix_window_iflush_local(mpix_window_t* window, int rank, MPI_Request* request);
int mpix_window_iflush_local_all(mpix_window_t* window, MPI_Request* request);
/** mpix_window_flush_all has less to wait for afterwards: who flushes several windows begins with all of
 * them. */
int mpix_window_begin_flush_all(mpix_window_t* window);

#ifdef __cplusplus
}
#endif
#endif
