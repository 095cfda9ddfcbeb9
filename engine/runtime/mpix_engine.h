/**
 * The one-sided engine for whoever hosts it: the component in Open MPI, a memory server, a test. Plain C.
 *
 * A process may have any number of engines. Each is a process of its own to all others, also to those in the
 * same operating system process, and shares nothing with them. What its host owes it stands in
 * struct mpix_bootstrap and struct mpix_engine_config.
 *
 * In a child made by fork() the engines are its parent's: there nothing may be called but
 * mpix_engine_destroy, which does nothing.
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

/** An engine. Every function may be called from any thread, unless it says otherwise. */
typedef struct mpix_engine mpix_engine_t;

/** A process of the job, as one engine sees it. Valid as long as that engine. */
typedef struct mpix_engine_peer mpix_engine_peer_t;

/** What functions return as an int. */
enum mpix_engine_status {
  MPIX_ENGINE_OK = 0,
  MPIX_ENGINE_BAD_ADDRESS,   /**< no readable or writable memory stands at the target address */
  MPIX_ENGINE_BAD_ORIGIN,    /**< no readable (a get: writable) memory stands at the origin address */
  MPIX_ENGINE_DEVICE_MEMORY, /**< memory of this process is a device's */
  MPIX_ENGINE_BAD_ARGUMENT,  /**< out of range or inconsistent */
  MPIX_ENGINE_UNSUPPORTED,   /**< not available */
  MPIX_ENGINE_OUT_OF_MEMORY,
  MPIX_ENGINE_NO_DESCRIPTORS, /**< the limit of open files is reached */
  MPIX_ENGINE_UNREACHABLE,    /**< no address of the peer is known, or no transport leads to it */
  MPIX_ENGINE_TRANSPORT,      /**< the transport reported a failure, or the peer has ended */
  MPIX_ENGINE_MALFORMED,      /**< a message did not pass its checks */
  MPIX_ENGINE_BUSY,           /**< the lock is held, and whoever tries it does not wait */
  MPIX_ENGINE_OUT_OF_BOUNDS,  /**< the memory does not lie within the exposure that names it */
  MPIX_ENGINE_ACCESS_DENIED,  /**< the exposure does not permit what the operation does */
  MPIX_ENGINE_STALE_EXPOSURE  /**< no such exposure: never made, or withdrawn */
};

/** Fills `config` with the defaults. */
MPIX_ENGINE_API void mpix_engine_config_init(struct mpix_engine_config* config);

/** Makes an engine, starts its agent and publishes its address. Both arguments are copied; what they point to
 *  must stay valid until mpix_engine_destroy. Returns 0; or, after one line on stderr, an mpix_engine_status,
 *  and then nothing is left of the engine. */
MPIX_ENGINE_API int mpix_engine_create(const struct mpix_engine_config* config,
                                       const struct mpix_bootstrap* bootstrap, mpix_engine_t** engine);

/** Stops the agent, closes endpoints and releases all memory. Operations that are not complete are dropped.
 *  Nobody uses the engine any more when this is called. NULL: does nothing. */
MPIX_ENGINE_API void mpix_engine_destroy(mpix_engine_t* engine);

/** What a status that is returned here means: static text without a period. */
MPIX_ENGINE_API const char* mpix_engine_status_text(int status);

/** The blob by which other processes reach the engine; valid as long as it. */
MPIX_ENGINE_API void mpix_engine_address(const mpix_engine_t* engine, const void** address, size_t* length);

/** Drives communication once. Returns the number of events handled. Cheap when there is nothing to do. */
MPIX_ENGINE_API int mpix_engine_progress(mpix_engine_t* engine);

/** Waits until `done(context)` is not 0, driving the progress of the engine and of the host. */
MPIX_ENGINE_API void mpix_engine_wait_until(mpix_engine_t* engine, int (*done)(void* context), void* context);

/** The peer with identity `process`, made at first use. Local. NULL: the bootstrap knows no address of it. */
MPIX_ENGINE_API mpix_engine_peer_t* mpix_engine_find_peer(mpix_engine_t* engine, uint64_t process);

/** The same of a process that the bootstrap does not know, whose address, as from mpix_engine_address, the
 *  host has got otherwise. NULL: it is none. */
MPIX_ENGINE_API mpix_engine_peer_t* mpix_engine_find_peer_at(mpix_engine_t* engine, const void* address,
                                                             size_t length);

/* ---- Memory ---- */

/** Wishes of an allocation; all zero: none. */
struct mpix_engine_hints {
  size_t alignment; /**< bytes, a power of two; less than what is usual (64): no matter */
  int huge_pages;   /**< nonzero: where the system has them */
  int lazy;         /**< nonzero: pages are taken where and when they are touched first */
};

/** Memory that peers on this host reach by load and store. Local. `hints` may be NULL. BAD_ARGUMENT: no
 * bytes, or an alignment that is not a power of two or beyond 1 GiB; OUT_OF_MEMORY: the machine has too
 * little left. */
MPIX_ENGINE_API int mpix_engine_allocate(mpix_engine_t* engine, size_t bytes,
                                         const struct mpix_engine_hints* hints, void** base);

/** Frees it, and ends registrations in it. Returns when no peer can reach it any more. BAD_ARGUMENT: not
 * such. */
MPIX_ENGINE_API int mpix_engine_free(mpix_engine_t* engine, void* base);

/** Registers memory, to be reached as fast as it can be. Registrations may overlap; in memory from
 *  mpix_engine_allocate they stay within one allocation, and change nothing. BAD_ARGUMENT: empty, or reaches
 * over the end of an allocation; BAD_ADDRESS: not mapped; DEVICE_MEMORY. */
MPIX_ENGINE_API int mpix_engine_attach(mpix_engine_t* engine, void* base, size_t bytes);

/** Ends the newest registration of `bytes` bytes at `base`; of any length with 0. Returns when no peer can
 * reach the memory through it any more. BAD_ARGUMENT: there is none. */
MPIX_ENGINE_API int mpix_engine_detach(mpix_engine_t* engine, void* base, size_t bytes);

/** What others may do with exposed memory: a set. */
enum mpix_engine_right {
  MPIX_ENGINE_READ = 1,  /**< get; besides MPIX_ENGINE_UPDATE, what fetches the values before */
  MPIX_ENGINE_WRITE = 2, /**< put */
  MPIX_ENGINE_UPDATE = 4 /**< updates, and notification */
};

/** Lets peers do what `rights` say with memory, which is registered until mpix_engine_conceal. `*exposure`,
 * never 0 and not given a second time, is to be told to them: in operations that name it, addresses are
 * offsets. Errors: as of mpix_engine_attach; BAD_ARGUMENT also for no rights; OUT_OF_MEMORY. */
MPIX_ENGINE_API int mpix_engine_expose(mpix_engine_t* engine, void* base, size_t bytes, unsigned rights,
                                       uint64_t* exposure);

/** Ends it: an operation that begins when the call has returned is refused with STALE_EXPOSURE, which is also
 *  the answer where there is no such exposure. mpix_engine_free does it for all exposures in the memory. */
MPIX_ENGINE_API int mpix_engine_conceal(mpix_engine_t* engine, uint64_t exposure);

/** An exposure that was taken back, and that peers may still use. */
struct mpix_engine_concealed {
  uint64_t exposure;
  uint64_t begin; /**< its memory: [begin, end) */
  uint64_t end;
};

/** As mpix_engine_conceal, but does not wait for peers that put and get into the memory by UCX: until they
 * have answered, which a process that is stopped does not, the memory is to be left alone. */
MPIX_ENGINE_API int mpix_engine_start_conceal(mpix_engine_t* engine, uint64_t exposure,
                                              struct mpix_engine_concealed* left);

/** Nonzero when no peer reaches the memory any more. */
MPIX_ENGINE_API int mpix_engine_is_unreachable(mpix_engine_t* engine,
                                               const struct mpix_engine_concealed* left);

/** Local pointer to the `bytes` bytes at `address` of `peer`, which is mapped if need be; NULL when it cannot
 * be reached by load and store. Good until the peer frees the memory. */
MPIX_ENGINE_API void* mpix_engine_map(mpix_engine_t* engine, mpix_engine_peer_t* peer, uint64_t address,
                                      size_t bytes);

/* ---- Operations ---- */

/** What the caller asks for beyond a plain operation, and what it vouches for: a set. */
enum mpix_engine_guarantee {
  /** The whole operation, its origin and target memory, does not interleave with another such operation. It
   * is complete when it is executed at the target. */
  MPIX_ENGINE_ATOMIC = 1,
  MPIX_ENGINE_ORDERED = 2, /**< after every earlier ordered operation of this process to the target */
  MPIX_ENGINE_REMOTE_COMPLETION = 4, /**< the completion waits for the target's memory */
  /** No element of the target is updated by two operations with this or MPIX_ENGINE_ATOMIC at once. */
  MPIX_ENGINE_ELEMENT_ATOMIC = 8,
  MPIX_ENGINE_TARGET_REGISTERED = 16, /**< the target memory is allocated or registered */
  /** After every earlier operation with this guarantee of this process to overlapping memory of the target. */
  MPIX_ENGINE_OVERLAP_ORDERED = 32
};

/** Told once when an operation is complete. Part of a larger object of the caller's, zero but for `done`, and
 *  left alone by the caller until it is told. */
struct mpix_engine_completion {
  /** Called from any thread, the agent's included, while the engine is locked: must be short, must not call
   * the engine. After it returns the engine does not touch the object again. */
  void (*done)(struct mpix_engine_completion* self, int status, size_t bytes);
  void* engine_private[2];
};

/** A put or get. Zero is the default of every field. */
struct mpix_engine_transfer {
  unsigned guarantees; /**< set of mpix_engine_guarantee */
  /** The caller's mark for operations without `completion`: a failure that arrives later is kept at the peer
   *  under this mark until mpix_engine_take_error. */
  uint32_t context;
  void* origin; /**< not written by a put */
  struct mpix_engine_layout origin_layout;
  uint64_t target;                         /**< address in the target process */
  struct mpix_engine_layout target_layout; /**< of as many bytes as `origin_layout` */
  /** Counter at the target that is incremented when the target's memory is done with; 0: none. An aligned
   * 64-bit word in memory that the target has allocated with its engine. */
  uint64_t notify;
  uint64_t exposure;        /**< not 0: `target` is an offset in this exposure of the target */
  uint64_t notify_exposure; /**< not 0: so is `notify` in this one, where 0 is an offset, too */
  struct mpix_engine_completion* completion;
};

/** What became of an operation when the call returned. */
struct mpix_engine_issued {
  int complete; /**< nonzero: complete at the level asked for; the completion will not be told */
  /** Position in the stream of messages to the peer, for mpix_engine_complete; 0: already complete at the
   *  target, up to the store fence that mpix_engine_complete makes. */
  uint64_t sequence;
};

/** Starts a transfer. What describes it may be reused when the call returns; the origin's memory when it is
 *  complete. `issued` may be NULL. A status other than 0: nothing was issued, and the completion is not told.
 */
MPIX_ENGINE_API int mpix_engine_put(mpix_engine_t* engine, mpix_engine_peer_t* peer,
                                    const struct mpix_engine_transfer* transfer,
                                    struct mpix_engine_issued* issued);
MPIX_ENGINE_API int mpix_engine_get(mpix_engine_t* engine, mpix_engine_peer_t* peer,
                                    const struct mpix_engine_transfer* transfer,
                                    struct mpix_engine_issued* issued);

/** What an element is: sizes and representations are those of the C types. */
enum mpix_engine_type {
  MPIX_ENGINE_TYPE_NONE = 0, /**< untyped bytes; only replace and no_op */
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
  MPIX_ENGINE_TYPE_FLOAT_INT, /**< value and index, without the padding of a C struct; only minloc and
                                 maxloc */
  MPIX_ENGINE_TYPE_DOUBLE_INT,
  MPIX_ENGINE_TYPE_LONG_INT,
  MPIX_ENGINE_TYPE_INT_INT,
  MPIX_ENGINE_TYPE_SHORT_INT,
  MPIX_ENGINE_TYPE_LONG_DOUBLE_INT,
  MPIX_ENGINE_TYPE_FLOAT128, /**< IEEE 754 binary128 */
  MPIX_ENGINE_TYPE_COMPLEX_FLOAT128,
  MPIX_ENGINE_TYPE_FLOAT_FLOAT,  /**< value and index, both float; only minloc and maxloc */
  MPIX_ENGINE_TYPE_DOUBLE_DOUBLE /**< value and index, both double */
};

/** What an update does to an element. `origin` is the first operand. */
enum mpix_engine_operation {
  MPIX_ENGINE_OP_REPLACE = 0, /**< swap, where the previous value is fetched */
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
 * overlap. Without a guarantee of atomicity, concurrent updates of an element can be lost. Zero is the
 * default of every field. */
struct mpix_engine_update {
  int operation;        /**< an mpix_engine_operation that is defined for the type, as MPI has it */
  int type;             /**< an mpix_engine_type */
  unsigned guarantees;  /**< set of mpix_engine_guarantee */
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

/** Starts an update, as mpix_engine_put. */
MPIX_ENGINE_API int mpix_engine_issue_update(mpix_engine_t* engine, mpix_engine_peer_t* peer,
                                             const struct mpix_engine_update* update,
                                             struct mpix_engine_issued* issued);

/* ---- Completion and order ---- */

/** Position of the newest message to `peer`; it covers everything that was issued so far. */
MPIX_ENGINE_API uint64_t mpix_engine_newest(const mpix_engine_peer_t* peer);

/** Waits until every message up to `sequence` is executed at the target and its data has arrived, and makes
 *  earlier direct stores visible. Errors: see mpix_engine_take_error. */
MPIX_ENGINE_API void mpix_engine_complete(mpix_engine_t* engine, mpix_engine_peer_t* peer, uint64_t sequence);

/** Waits until the origin's memory of every operation up to `sequence` may be reused. */
MPIX_ENGINE_API void mpix_engine_complete_local(mpix_engine_t* engine, mpix_engine_peer_t* peer,
                                                uint64_t sequence);

/** Nonzero when mpix_engine_complete would return at once. Drives progress once. */
MPIX_ENGINE_API int mpix_engine_test(mpix_engine_t* engine, mpix_engine_peer_t* peer, uint64_t sequence);

/** Every message up to `sequence`, and every store made so far, is visible at the target before any operation
 * that is issued later. Does not wait; a later store may have to. */
MPIX_ENGINE_API void mpix_engine_fence(mpix_engine_t* engine, mpix_engine_peer_t* peer, uint64_t sequence);

/** The first failure since the last call of an operation with mark `context` to `peer` that had no
 * completion; 0 when there was none. */
MPIX_ENGINE_API int mpix_engine_take_error(mpix_engine_t* engine, mpix_engine_peer_t* peer, uint32_t context);

/** Tells `completion`, during progress, once the counter in this process has reached `threshold`; or
 * BAD_ADDRESS when mpix_engine_forget_counters comes first. */
MPIX_ENGINE_API int mpix_engine_watch(mpix_engine_t* engine, const uint64_t* counter, uint64_t threshold,
                                      struct mpix_engine_completion* completion);

/** The counters in [begin, end) go away. */
MPIX_ENGINE_API void mpix_engine_forget_counters(mpix_engine_t* engine, const void* begin, const void* end);

/* ---- Locks: they live at a process, their target, and are held by owners: a process, and a number by which
 * it tells its own apart. Who asks for one that is not free waits in a queue at the target. ---- */

struct mpix_engine_lock_request {
  uint32_t lock;                             /**< number at the target */
  uint32_t owner;                            /**< less than 2^24 */
  int shared;                                /**< nonzero: with others that share it */
  int attempt;                               /**< nonzero: BUSY instead of a place in the queue */
  struct mpix_engine_completion* completion; /**< not NULL */
  int overtakes; /**< nonzero: shared, before all exclusive requests that wait */
};

/** Makes `count` locks of this process, all free, with consecutive numbers from `*first` on. Local.
 * BAD_ARGUMENT: none; OUT_OF_MEMORY: there are too many. */
MPIX_ENGINE_API int mpix_engine_create_locks(mpix_engine_t* engine, uint32_t count, uint32_t* first);

/** Ends locks of this process. Whoever waits for one is told BAD_ARGUMENT, which is also the answer to later
 *  requests; who holds one has it no more. BAD_ARGUMENT: one does not exist, nothing is done. */
MPIX_ENGINE_API int mpix_engine_destroy_locks(mpix_engine_t* engine, uint32_t first, uint32_t count);

/** Takes a lock of `peer`, or a place in its queue: held when `issued->complete`, or when the completion is
 * told 0. A holder that ends loses it, one that waits loses its place. Does not wait. By the call or by the
 *  completion: BAD_ARGUMENT: no such lock, or its owner holds it or waits for it already; BUSY; TRANSPORT,
 *  UNREACHABLE: the peer has ended. */
MPIX_ENGINE_API int mpix_engine_lock(mpix_engine_t* engine, mpix_engine_peer_t* peer,
                                     const struct mpix_engine_lock_request* request,
                                     struct mpix_engine_issued* issued);

/** Gives a lock back. The next holder comes after everything that this process has issued to `peer` before.
 *  Complete when it returns; mpix_engine_complete waits until it is executed. BAD_ARGUMENT: not held by
 * `owner`, by the call or by mpix_engine_take_error with `context`. */
MPIX_ENGINE_API int mpix_engine_unlock(mpix_engine_t* engine, mpix_engine_peer_t* peer, uint32_t lock,
                                       uint32_t owner, uint32_t context, struct mpix_engine_issued* issued);

/* ---- Statistics ---- */

/** How many operations of this process took which path, with how many bytes; indices in the order of
 *  mpix_engine_path. The direct path is 0 unless it is counted. */
struct mpix_engine_traffic {
  uint64_t operations[4];
  uint64_t bytes[4];
  uint64_t messages_sent;     /**< requests to other agents */
  uint64_t messages_executed; /**< requests of others that this process executed */
};

/** Fills `traffic`. */
MPIX_ENGINE_API void mpix_engine_read_traffic(const mpix_engine_t* engine,
                                              struct mpix_engine_traffic* traffic);

/** The same for what of it was with process `process`. */
MPIX_ENGINE_API void mpix_engine_read_traffic_with(const mpix_engine_t* engine, uint64_t process,
                                                   struct mpix_engine_traffic* traffic);

#ifdef __cplusplus
}
#endif
#endif
