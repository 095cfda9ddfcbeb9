/**
 * The interface of the one-sided engine for its host: the component in Open MPI, a memory server, a test.
 * Plain C. struct mpix_bootstrap and struct mpix_engine_config describe the MPI host's part.
 * A process may have any number of engines. Each engine counts as a separate process to all others, also to
 * those in the same operating-system process, and shares nothing with them.
 * In a child made by fork() the engines belong to the parent: only mpix_engine_destroy may be called there,
 * and it does nothing.
 */
#ifndef MPIX_ENGINE_H
#define MPIX_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/bootstrap.h"
#include "engine/base/config.h"
#include "engine/op/layout/layout.h"
#include "engine/base/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An engine. Every function may be called from any thread unless stated otherwise. */
typedef struct mpix_engine mpix_engine_t;

/** A process of the job, as seen by one engine. Valid as long as that engine. */
typedef struct mpix_engine_peer mpix_engine_peer_t;

/** The status codes that functions return as an int. */
enum mpix_engine_status {
  MPIX_ENGINE_OK = 0,
  MPIX_ENGINE_BAD_ADDRESS,   /**< no readable or writable memory at the target address */
  MPIX_ENGINE_BAD_ORIGIN,    /**< no readable (for a get: writable) memory at the origin address */
  MPIX_ENGINE_DEVICE_MEMORY, /**< memory of this process is a device's */
  MPIX_ENGINE_BAD_ARGUMENT,  /**< out of range or inconsistent */
  MPIX_ENGINE_UNSUPPORTED,   /**< not available */
  MPIX_ENGINE_OUT_OF_MEMORY,
  MPIX_ENGINE_NO_DESCRIPTORS, /**< the limit of open files is reached */
  MPIX_ENGINE_UNREACHABLE,    /**< no address of the peer is known, or no transport leads to it */
  MPIX_ENGINE_TRANSPORT,      /**< the transport reported a failure, or the peer has ended */
  MPIX_ENGINE_MALFORMED,      /**< a message did not pass its checks */
  MPIX_ENGINE_BUSY,           /**< the lock is not free, and the request does not wait for it */
  MPIX_ENGINE_OUT_OF_BOUNDS,  /**< the memory does not lie within the exposure that names it */
  MPIX_ENGINE_ACCESS_DENIED,  /**< the exposure does not permit what the operation does */
  MPIX_ENGINE_STALE_EXPOSURE, /**< no such exposure: never made, or withdrawn */
  MPIX_ENGINE_OVERRUN,        /**< the target memory begins in an allocation and ends beyond it */
  MPIX_ENGINE_NOT_WRITABLE    /**< the target memory is read-only */
};

/** Fills `config` with the defaults. */
MPIX_ENGINE_API void mpix_engine_config_init(struct mpix_engine_config* config);

/** Creates an engine, starts its agents and publishes its address. Both structs are copied; the memory that
 *  their fields point to must stay valid until mpix_engine_destroy. Returns 0; or, after one line on stderr,
 *  an mpix_engine_status, and then no engine exists. BAD_ARGUMENT, without a line: the other fields of
 *  `config` do not permit `encrypt`. */
MPIX_ENGINE_API int mpix_engine_create(const struct mpix_engine_config* config,
                                       const struct mpix_bootstrap* bootstrap, mpix_engine_t** engine);

/** Stops the agents, closes endpoints and releases memory. Allocations that were not freed stay mapped.
 *  Incomplete operations are dropped. No thread may use the engine any more. NULL is ignored. */
MPIX_ENGINE_API void mpix_engine_destroy(mpix_engine_t* engine);

/** Returns the meaning of a status as static text without a period. */
MPIX_ENGINE_API const char* mpix_engine_status_text(int status);

/** Writes the reason for which mpix_engine_create has just failed with this status, without a period, to the
 *  `bytes` bytes at `text`: the failed system call, or the meaning of the status. */
MPIX_ENGINE_API void mpix_engine_create_failure_text(int status, char* text, size_t bytes);

/** Returns the blob by which other processes connect to the engine; valid as long as the engine. */
MPIX_ENGINE_API void mpix_engine_address(const mpix_engine_t* engine, const void** address, size_t* length);

/** Drives communication once. Returns the number of events handled. Cheap if there is nothing to do. */
MPIX_ENGINE_API int mpix_engine_progress(mpix_engine_t* engine);

/** Waits until `done(context)` returns nonzero, driving the progress of the engine and of the MPI host. */
MPIX_ENGINE_API void mpix_engine_wait_until(mpix_engine_t* engine, int (*done)(void* context), void* context);

/** Returns the peer with identity `process`, created at its first use. Local. NULL: the bootstrap does not
 * know its address. */
MPIX_ENGINE_API mpix_engine_peer_t* mpix_engine_find_peer(mpix_engine_t* engine, uint64_t process);

/** As mpix_engine_find_peer(), for a process that the bootstrap does not know, with an address from
 *  mpix_engine_address that the MPI host obtained otherwise. NULL: the address is invalid. */
MPIX_ENGINE_API mpix_engine_peer_t* mpix_engine_find_peer_at(mpix_engine_t* engine, const void* address,
                                                             size_t length);

/* ---- Memory ---- */

/** Hints for an allocation; all zero: none. */
struct mpix_engine_hints {
  size_t alignment; /**< bytes, a power of two; values below 64 have no effect */
  int huge_pages;   /**< nonzero: use huge pages if available */
  int lazy;         /**< nonzero: pages are allocated at first touch */
};

/** Allocates memory that peers on this host access by load and store. Local. `hints` may be NULL.
 * BAD_ARGUMENT: 0 bytes, or an alignment that is not a power of two or beyond 1 GiB; OUT_OF_MEMORY: the
 * machine has too little left. */
MPIX_ENGINE_API int mpix_engine_allocate(mpix_engine_t* engine, size_t bytes,
                                         const struct mpix_engine_hints* hints, void** base);

/** Frees memory from mpix_engine_allocate, and ends registrations in it. Returns when no peer can access it
 * any more. BAD_ARGUMENT: not such memory. */
MPIX_ENGINE_API int mpix_engine_free(mpix_engine_t* engine, void* base);

/** Registers memory for the fastest possible access. Registrations may overlap; those of memory from
 *  mpix_engine_allocate must stay within one allocation and have no effect. BAD_ARGUMENT: empty, or beyond
 *  the end of an allocation; BAD_ADDRESS: not mapped; DEVICE_MEMORY. */
MPIX_ENGINE_API int mpix_engine_attach(mpix_engine_t* engine, void* base, size_t bytes);

/** Ends the newest registration of `bytes` bytes at `base`, of any length if 0. Returns when no peer can
 * access the memory through it any more. BAD_ARGUMENT: not registered. */
MPIX_ENGINE_API int mpix_engine_detach(mpix_engine_t* engine, void* base, size_t bytes);

/** The rights of peers to exposed memory: a set. */
enum mpix_engine_right {
  MPIX_ENGINE_READ = 1,  /**< get; with MPIX_ENGINE_UPDATE: updates that fetch the previous values */
  MPIX_ENGINE_WRITE = 2, /**< put */
  MPIX_ENGINE_UPDATE = 4 /**< updates, and notification */
};

/** Gives peers the `rights` to memory, which is registered until mpix_engine_withdraw. The caller distributes
 * `*exposure`, which is never 0 and never reused. In operations with an exposure, addresses are offsets.
 * Errors: as of mpix_engine_attach; BAD_ARGUMENT also for no rights; OUT_OF_MEMORY. */
MPIX_ENGINE_API int mpix_engine_expose(mpix_engine_t* engine, void* base, size_t bytes, unsigned rights,
                                       uint64_t* exposure);

/** Withdraws the exposure: operations that begin after the call has returned fail with STALE_EXPOSURE, which
 *  is also the status for an exposure that does not exist. mpix_engine_free withdraws all exposures in the
 *  memory. */
MPIX_ENGINE_API int mpix_engine_withdraw(mpix_engine_t* engine, uint64_t exposure);

/** A withdrawn exposure that peers may still be using. */
struct mpix_engine_withdrawn {
  uint64_t exposure;
  uint64_t begin; /**< its memory: [begin, end) */
  uint64_t end;
};

/** As mpix_engine_withdraw, but does not wait for peers that access the memory by UCX put and get. The memory
 * must not be reused until mpix_engine_is_unreachable returns nonzero, which a stopped peer delays. */
MPIX_ENGINE_API int mpix_engine_start_withdraw(mpix_engine_t* engine, uint64_t exposure,
                                              struct mpix_engine_withdrawn* left);

/** Nonzero if no peer accesses the memory any more. */
MPIX_ENGINE_API int mpix_engine_is_unreachable(mpix_engine_t* engine,
                                               const struct mpix_engine_withdrawn* left);

/** Returns a local pointer to the `bytes` bytes at `address` of `peer`, mapping them if necessary; NULL if
 * they are not accessible by load and store. Valid until the peer frees the memory. */
MPIX_ENGINE_API void* mpix_engine_map(mpix_engine_t* engine, mpix_engine_peer_t* peer, uint64_t address,
                                      size_t bytes);

/* ---- Operations ---- */

/** Requirements of the caller and its promises, for one operation: a set of bits. */
enum mpix_engine_op_flag {
  /** The whole operation is indivisible at origin and target with respect to other such operations. It is
   * complete when it is executed at the target. */
  MPIX_ENGINE_ATOMIC = 1,
  MPIX_ENGINE_ORDERED = 2, /**< after every earlier ordered operation of this process to the target */
  MPIX_ENGINE_REMOTE_COMPLETION = 4, /**< the completion waits for the target's memory */
  /** Two operations with this flag or MPIX_ENGINE_ATOMIC never update an element of the target at the
   * same time. */
  MPIX_ENGINE_ELEMENT_ATOMIC = 8,
  MPIX_ENGINE_TARGET_REGISTERED = 16, /**< the target memory is allocated or registered */
  /** After every earlier operation with this flag, issued by the same thread, to overlapping memory of the
   * target. */
  MPIX_ENGINE_OVERLAP_ORDERED = 32
};

/** Called once when an operation is complete. Part of a larger object of the caller, zero except for `done`,
 *  and not accessed by the caller until it is called. */
struct mpix_engine_completion {
  /** Called from any thread, the agent's included, while the engine is locked: must be short, must not call
   * the engine. After it returns the engine does not touch the object again. */
  void (*done)(struct mpix_engine_completion* self, int status, size_t bytes);
  void* engine_private[2];
};

/** A put or get. Zero is the default of every field. */
struct mpix_engine_transfer {
  unsigned flags; /**< set of mpix_engine_op_flag */
  /** The caller's context for operations without `completion`: a later failure is kept at the peer under this
   *  context until mpix_engine_take_error. */
  uint32_t context;
  void* origin; /**< not written by a put */
  struct mpix_engine_layout origin_layout;
  uint64_t target;                         /**< address in the target process */
  struct mpix_engine_layout target_layout; /**< of as many bytes as `origin_layout` */
  /** Counter at the target that is incremented after the access to the target's memory; 0: none. An aligned
   * 64-bit word in memory that the target has allocated with its engine. */
  uint64_t notify;
  uint64_t exposure;        /**< not 0: `target` is an offset in this exposure of the target */
  uint64_t notify_exposure; /**< not 0: `notify` is an offset in this exposure, and may be 0 */
  struct mpix_engine_completion* completion;
};

/** The state of an operation when its call returns. */
struct mpix_engine_issued {
  int complete; /**< nonzero: complete at the level asked for; the completion will not be called */
  /** Position in the stream of messages to the peer (of a UCX put or get: the newest one), for
   *  mpix_engine_complete; 0: complete at the target, except for that function's full memory fence. */
  uint64_t sequence;
};

/** Issues a transfer. Its description may be reused when the call returns, the origin's memory when the
 *  transfer is complete. `issued` may be NULL. A status other than 0: nothing was issued, and the completion
 *  is not called. */
MPIX_ENGINE_API int mpix_engine_put(mpix_engine_t* engine, mpix_engine_peer_t* peer,
                                    const struct mpix_engine_transfer* transfer,
                                    struct mpix_engine_issued* issued);
MPIX_ENGINE_API int mpix_engine_get(mpix_engine_t* engine, mpix_engine_peer_t* peer,
                                    const struct mpix_engine_transfer* transfer,
                                    struct mpix_engine_issued* issued);

/** The element types, with the sizes and representations of the C types. */
enum mpix_engine_type {
  MPIX_ENGINE_TYPE_NONE = 0, /**< untyped bytes; only replace, no_op, bitwise and mask operations, and
                                compare_swap for equality or inequality */
  MPIX_ENGINE_TYPE_INT8,
  MPIX_ENGINE_TYPE_UINT8,
  MPIX_ENGINE_TYPE_INT16,
  MPIX_ENGINE_TYPE_UINT16,
  MPIX_ENGINE_TYPE_INT32,
  MPIX_ENGINE_TYPE_UINT32,
  MPIX_ENGINE_TYPE_INT64,
  MPIX_ENGINE_TYPE_UINT64,
  MPIX_ENGINE_TYPE_FLOAT32,
  MPIX_ENGINE_TYPE_FLOAT64,
  MPIX_ENGINE_TYPE_LONG_DOUBLE,
  MPIX_ENGINE_TYPE_COMPLEX_FLOAT,
  MPIX_ENGINE_TYPE_COMPLEX_DOUBLE,
  MPIX_ENGINE_TYPE_COMPLEX_LONG_DOUBLE,
  MPIX_ENGINE_TYPE_BOOLEAN,   /**< C bool, one byte */
  MPIX_ENGINE_TYPE_FLOAT_INT, /**< value and index, without the padding of a C struct; only minloc,
                                 maxloc, replace and no_op */
  MPIX_ENGINE_TYPE_DOUBLE_INT,
  MPIX_ENGINE_TYPE_LONG_INT,
  MPIX_ENGINE_TYPE_INT_INT,
  MPIX_ENGINE_TYPE_SHORT_INT,
  MPIX_ENGINE_TYPE_LONG_DOUBLE_INT,
  MPIX_ENGINE_TYPE_FLOAT128, /**< IEEE 754 binary128 */
  MPIX_ENGINE_TYPE_COMPLEX_FLOAT128,
  MPIX_ENGINE_TYPE_FLOAT_FLOAT,  /**< value and index, both float; as FLOAT_INT */
  MPIX_ENGINE_TYPE_DOUBLE_DOUBLE /**< value and index, both double; likewise */
};

/** The effect of an update on an element. `origin` is the first operand. */
enum mpix_engine_operation {
  MPIX_ENGINE_OP_REPLACE = 0, /**< a swap if the previous value is fetched */
  MPIX_ENGINE_OP_NO_OP,       /**< the element stays as it is; the operand is ignored */
  MPIX_ENGINE_OP_SUM,
  MPIX_ENGINE_OP_PROD,
  MPIX_ENGINE_OP_MIN,
  MPIX_ENGINE_OP_MAX,
  MPIX_ENGINE_OP_LAND,
  MPIX_ENGINE_OP_LOR,
  MPIX_ENGINE_OP_LXOR,
  MPIX_ENGINE_OP_BAND,
  MPIX_ENGINE_OP_BOR,
  MPIX_ENGINE_OP_BXOR,
  MPIX_ENGINE_OP_MINLOC,
  MPIX_ENGINE_OP_MAXLOC,
  MPIX_ENGINE_OP_INCREMENT, /**< target + 1; the operand is ignored */
  MPIX_ENGINE_OP_MASK_SWAP, /**< bits set in origin are taken from operand2 */
  MPIX_ENGINE_OP_COMPARE_SWAP_LT,
  MPIX_ENGINE_OP_COMPARE_SWAP_LE,
  MPIX_ENGINE_OP_COMPARE_SWAP_EQ,
  MPIX_ENGINE_OP_COMPARE_SWAP_GE,
  MPIX_ENGINE_OP_COMPARE_SWAP_GT,
  MPIX_ENGINE_OP_COMPARE_SWAP_NE /**< origin (relation) target ? target = operand2 */
};

/** Accumulate, fetching accumulate and read-modify-write, element by element:
 *  target[i] = f(target[i], origin[i], operand2[i]); result[i] = previous target[i].
 *
 *  All layouts have the same number of bytes, and runs of whole elements; the memory of the sides does not
 * overlap. Without MPIX_ENGINE_ATOMIC or MPIX_ENGINE_ELEMENT_ATOMIC, concurrent updates of an element can be
 * lost. Zero is the default of every field. */
struct mpix_engine_update {
  int operation;        /**< an mpix_engine_operation that is defined for the type, as MPI has it */
  int type;             /**< an mpix_engine_type */
  unsigned flags;  /**< set of mpix_engine_op_flag */
  uint32_t context;     /**< as for a transfer */
  const void* origin;   /**< not used where the operation has no operand */
  const void* operand2; /**< laid out as `origin`; not used where there is no second operand */
  struct mpix_engine_layout origin_layout;
  void* result; /**< NULL: nothing is fetched */
  struct mpix_engine_layout result_layout;
  uint64_t target; /**< address in the target process */
  struct mpix_engine_layout target_layout;
  const void* scale; /**< factor of the operand, one element, or NULL; only with MPIX_ENGINE_OP_SUM */
  uint64_t notify;   /**< as for a transfer */
  uint64_t exposure; /**< likewise */
  uint64_t notify_exposure;
  struct mpix_engine_completion* completion;
};

/** Issues an update, as mpix_engine_put. */
MPIX_ENGINE_API int mpix_engine_issue_update(mpix_engine_t* engine, mpix_engine_peer_t* peer,
                                             const struct mpix_engine_update* update,
                                             struct mpix_engine_issued* issued);

/* ---- Completion and order ---- */

/** Returns the position of the newest message to `peer`; 0: none so far, hence no UCX put or get, whose key a
 *  message requests. As `sequence` below it covers everything issued so far. */
MPIX_ENGINE_API uint64_t mpix_engine_newest(const mpix_engine_peer_t* peer);

/** Waits until every message up to `sequence` is executed at the target and its data has arrived, and, unless
 *  `sequence` is 0, until all UCX puts and gets have ended. Makes earlier direct stores visible. Errors: see
 *  mpix_engine_take_error. */
MPIX_ENGINE_API void mpix_engine_complete(mpix_engine_t* engine, mpix_engine_peer_t* peer, uint64_t sequence);

/** Waits until the origin's memory of every operation up to `sequence` may be reused. */
MPIX_ENGINE_API void mpix_engine_complete_local(mpix_engine_t* engine, mpix_engine_peer_t* peer,
                                                uint64_t sequence);

/** Nonzero if all messages up to `sequence` and all UCX puts and gets are complete. Drives progress once. */
MPIX_ENGINE_API int mpix_engine_test(mpix_engine_t* engine, mpix_engine_peer_t* peer, uint64_t sequence);

/** Makes every message up to `sequence`, and every store made so far, visible at the target before any
 * operation issued later. Does not wait; a later store may have to. */
MPIX_ENGINE_API void mpix_engine_fence(mpix_engine_t* engine, mpix_engine_peer_t* peer, uint64_t sequence);

/** Returns the first failure since the last call among operations with `context` to `peer` without a
 * completion; 0 if there was none. */
MPIX_ENGINE_API int mpix_engine_take_error(mpix_engine_t* engine, mpix_engine_peer_t* peer, uint32_t context);

/** Calls `completion`, during progress, once the counter in this process has reached `threshold`, or with
 * BAD_ADDRESS if mpix_engine_forget_counters comes first. */
MPIX_ENGINE_API int mpix_engine_watch(mpix_engine_t* engine, const uint64_t* counter, uint64_t threshold,
                                      struct mpix_engine_completion* completion);

/** Ends the waits for counters in [begin, end), with BAD_ADDRESS if the threshold is not reached. */
MPIX_ENGINE_API void mpix_engine_forget_counters(mpix_engine_t* engine, const void* begin, const void* end);

/* ---- Locks: each lock belongs to a process, its target. An owner is a process, and a number that
 * distinguishes the owners in that process. A request for a lock that is not free waits in a queue at the
 * target. ---- */

struct mpix_engine_lock_request {
  uint32_t lock;                             /**< number at the target */
  uint32_t owner;                            /**< less than 2^24 */
  int shared;                                /**< nonzero: shared with other owners; 0: exclusive */
  int attempt;                               /**< nonzero: BUSY instead of a place in the queue */
  struct mpix_engine_completion* completion; /**< not NULL */
  int overtakes; /**< nonzero: a shared request, served before all waiting exclusive ones */
};

/** Creates `count` free locks of this process, with consecutive numbers from `*first` on. Local.
 * BAD_ARGUMENT: `count` is 0; OUT_OF_MEMORY: too many. */
MPIX_ENGINE_API int mpix_engine_create_locks(mpix_engine_t* engine, uint32_t count, uint32_t* first);

/** Destroys locks of this process. Waiting and later requests fail with BAD_ARGUMENT, and holders lose them.
 *  BAD_ARGUMENT: a lock does not exist, and none is destroyed. */
MPIX_ENGINE_API int mpix_engine_destroy_locks(mpix_engine_t* engine, uint32_t first, uint32_t count);

/** Requests a lock of `peer`: it is held when `issued->complete`, or when the completion receives 0. A holder
 * that ends loses the lock, a waiting process its place. Does not wait for the lock. Errors, by the call or
 * by the completion: BAD_ARGUMENT: no such lock, or the owner holds it or waits for it already; BUSY;
 * TRANSPORT, UNREACHABLE: the peer has ended. */
MPIX_ENGINE_API int mpix_engine_lock(mpix_engine_t* engine, mpix_engine_peer_t* peer,
                                     const struct mpix_engine_lock_request* request,
                                     struct mpix_engine_issued* issued);

/** Releases a lock. Releasing orders all operations that this process issued to `peer` before the next
 *  holder's. Locally complete when the call returns; mpix_engine_complete waits until the release is
 *  executed. BAD_ARGUMENT: not held by `owner`, reported by the call or by mpix_engine_take_error with
 *  `context`. */
MPIX_ENGINE_API int mpix_engine_unlock(mpix_engine_t* engine, mpix_engine_peer_t* peer, uint32_t lock,
                                       uint32_t owner, uint32_t context, struct mpix_engine_issued* issued);

/* ---- Statistics ---- */

/** Numbers of operations and bytes of this process by protocol, indexed by the numbers in
 *  MPIX_ENGINE_PROTOCOLS. The numbers of the direct protocol are 0 unless its operations are counted. */
struct mpix_engine_traffic {
  uint64_t operations[MPIX_ENGINE_PROTOCOL_COUNT];
  uint64_t bytes[MPIX_ENGINE_PROTOCOL_COUNT];
  uint64_t messages_sent;     /**< requests of this process */
  uint64_t messages_executed; /**< requests of others that this process executed */
};

/** Fills `traffic`. */
MPIX_ENGINE_API void mpix_engine_read_traffic(const mpix_engine_t* engine,
                                              struct mpix_engine_traffic* traffic);

/** Fills `traffic` with the counters for process `process`. */
MPIX_ENGINE_API void mpix_engine_read_traffic_with(const mpix_engine_t* engine, uint64_t process,
                                                   struct mpix_engine_traffic* traffic);

#ifdef __cplusplus
}
#endif
#endif
