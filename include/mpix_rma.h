/**
 * MPIX_RMA: attribute-driven one-sided communication for MPI.
 *
 * A target is named by a communicator, a rank and a virtual address in that rank's process: there are
 * no windows and no epochs. By default a call is non-blocking, unordered, not atomic, and complete when
 * the origin buffer may be reused; attributes add guarantees, per call or per communicator, and cost
 * nothing unless set. Section numbers in the comments are those of the MPI3-RMA proposal of 2008.
 *
 * Thread level: every function may be called by any thread that may call MPI. Unless it is called
 * collective, a function is local: it needs no action of the application at any other process.
 *
 * Errors: every function returns an MPI error code after invoking the error handler of the communicator
 * (MPI_COMM_WORLD's where there is no valid communicator argument). A refused call changes nothing.
 */
#ifndef MPIX_RMA_H
#define MPIX_RMA_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPIX_RMA_API __attribute__((visibility("default")))

/** All ranks of a communicator, for MPIX_RMA_Complete and MPIX_RMA_Fence (5.2: MPI_ALL_RANKS). */
#define MPIX_ALL_RANKS (-101)

/** Operation types of MPIX_RMA_xfer (5.1). */
typedef enum MPIX_RMA_Op {
    MPIX_RMA_PUT = 1,       /**< origin memory to target memory */
    MPIX_RMA_GET = 2,       /**< target memory to origin memory */
    MPIX_RMA_ACCUMULATE = 3 /**< combine origin memory into target memory */
} MPIX_RMA_Op;

/** Operation types of MPIX_RMA_rmw (5.1). */
typedef enum MPIX_RMW_Op {
    MPIX_RMW_INC = 1, /**< increment */
    MPIX_RMW_PROD,
    MPIX_RMW_SUM,
    MPIX_RMW_LAND,
    MPIX_RMW_LOR,
    MPIX_RMW_LXOR,
    MPIX_RMW_BAND,
    MPIX_RMW_BOR,
    MPIX_RMW_BXOR,
    MPIX_RMW_SWAP
} MPIX_RMW_Op;

/** Attributes of an operation (5.1.1, 5.4): bits of MPIX_RMA_Attributes::set. */
#define MPIX_RMA_ATTR_ATOMICITY UINT64_C(0x01)         /**< does not interleave with other atomic operations */
#define MPIX_RMA_ATTR_ORDERING UINT64_C(0x02)          /**< ordered against other such operations to the target */
#define MPIX_RMA_ATTR_BLOCKING UINT64_C(0x04)          /**< returns when complete */
#define MPIX_RMA_ATTR_REMOTE_COMPLETION UINT64_C(0x08) /**< complete means in the target's memory */
#define MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE UINT64_C(0x10) /**< origin memory is allocated or registered */
#define MPIX_RMA_ATTR_TARGET_COMMUNICATABLE UINT64_C(0x20) /**< target memory is allocated or registered */
#define MPIX_RMA_ATTR_ACCUMULATE_OP UINT64_C(0x40)     /**< accumulate_op is valid; otherwise MPI_SUM */
#define MPIX_RMA_ATTR_ACCUMULATE_SCALE UINT64_C(0x80)  /**< accumulate_scale is valid; only with MPI_SUM */

/** Attributes of one call. Fields beyond `set` are read only when their bit is set. */
typedef struct MPIX_RMA_Attributes {
    uint64_t set;                 /**< MPIX_RMA_ATTR_* bits */
    MPI_Op accumulate_op;         /**< predefined operation of an accumulate */
    const void *accumulate_scale; /**< one element of the accumulate's predefined datatype, multiplied with
                                       each origin element; read during the call */
} MPIX_RMA_Attributes;

/* ---- The rest of this header is completed by the front end. ---- */

#ifdef __cplusplus
}
#endif
#endif
