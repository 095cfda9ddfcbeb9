/** Attributes of operations (5.1.1, 5.4). Included by mpix_rma.h. */
#ifndef MPIX_RMA_ATTRIBUTES_H
#define MPIX_RMA_ATTRIBUTES_H

#ifndef MPIX_RMA_H
#error "include mpix_rma.h, of which this header is a part"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Bits of MPIX_RMA_Attributes::set. */
#define MPIX_RMA_ATTR_ATOMICITY UINT64_C(0x01) /**< indivisible among operations with this bit */
#define MPIX_RMA_ATTR_ORDERING UINT64_C(0x02)  /**< takes effect after earlier operations with this bit */
#define MPIX_RMA_ATTR_BLOCKING UINT64_C(0x04)  /**< returns when complete */
#define MPIX_RMA_ATTR_REMOTE_COMPLETION UINT64_C(0x08)     /**< complete: in the target's memory */
#define MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE UINT64_C(0x10) /**< origin memory is allocated or registered */
#define MPIX_RMA_ATTR_TARGET_COMMUNICATABLE UINT64_C(0x20) /**< target memory is allocated or registered */
#define MPIX_RMA_ATTR_ACCUMULATE_OP UINT64_C(0x40)         /**< accumulate_op is valid; otherwise MPI_SUM */
#define MPIX_RMA_ATTR_ACCUMULATE_SCALE UINT64_C(0x80) /**< accumulate_scale is valid; only with MPI_SUM */
#define MPIX_RMA_ATTR_NOTIFY UINT64_C(0x100)          /**< notify_index is valid */

/**
 * Attributes of one call. ATOMICITY makes the whole operation indivisible with respect to other operations
 * with ATOMICITY; an rmw without it is not one of them. An operation with ORDERING takes effect after the
 * earlier ones of this process with ORDERING to the same process, through any communicator; but a GET may
 * be performed before an earlier PUT or ACCUMULATE that it does not overlap (MPIX_RMA_Fence orders these,
 * too). ORIGIN_COMMUNICATABLE and TARGET_COMMUNICATABLE state that the memory of that side lies in one
 * segment (MPIX_RMA_Segment), from its first byte to its last, until the operation is remotely complete; of
 * an rmw, each buffer that it uses lies in one, not necessarily the same. A false statement is erroneous;
 * the MCA parameter osc_mpix_check makes it an error of the call: MPI_ERR_BUFFER for the origin, the
 * address class for the target. An attribute that does not apply to an operation, such as ACCUMULATE_OP to
 * a PUT, is ignored.
 *
 * The structure can grow: further fields are appended, each with a bit of its own. The library reads a field
 * only when its bit is set, so a program that was compiled with an older, shorter structure stays correct. A
 * bit that the library does not know is MPI_ERR_ARG.
 */
typedef struct MPIX_RMA_Attributes {
    uint64_t set;                 /**< MPIX_RMA_ATTR_* bits */
    MPI_Op accumulate_op;         /**< operation of an accumulate: any predefined one that MPI defines for the
                                       datatype, MPI_REPLACE and MPI_NO_OP included. MPI_CHAR counts as an
                                       integer */
    const void *accumulate_scale; /**< one element of the accumulate's predefined datatype, multiplied with
                                       each origin element; read during the call */
    int notify_index;             /**< counter of the target, see MPIX_RMA_Set_num_notify */
} MPIX_RMA_Attributes;

/* clang-format off */
/**
 * Attribute keys, for MPI_Comm_set_attr, MPI_Comm_get_attr, MPI_Comm_delete_attr and for MPIX_Req_set_attr.
 * MPI_Comm_dup, MPI_Comm_idup, MPI_Comm_dup_with_info and MPI_Comm_idup_with_info copy all but
 * MPIX_RMA_KEY_NOTIFY, because the new communicator has no counters. Other constructors of communicators
 * copy none. Each key is a call of MPIX_RMA_Keyval: valid from MPI_Init to MPI_Finalize.
 *
 *   key                             value
 *   MPIX_RMA_KEY_ATOMICITY          MPIX_RMA_ON, or null for off
 *   MPIX_RMA_KEY_ORDERING           MPIX_RMA_ON, or null for off
 *   MPIX_RMA_KEY_BLOCKING           MPIX_RMA_ON, or null for off
 *   MPIX_RMA_KEY_REMOTE_COMPLETION  MPIX_RMA_ON, or null for off
 *   MPIX_RMA_KEY_COMMUNICATABLE     MPIX_RMA_ORIGIN, MPIX_RMA_TARGET, MPIX_RMA_BOTH, or null for neither;
 *                                   the sides of all levels are united
 *   MPIX_RMA_KEY_ACCUMULATE_OP      MPIX_RMA_OP_VALUE(op) of a predefined MPI_Op
 *   MPIX_RMA_KEY_ACCUMULATE_SCALE   address of one element; must stay valid as long as the attribute
 *   MPIX_RMA_KEY_NOTIFY             MPIX_RMA_INDEX_VALUE(index), not negative
 *
 * For the four switches any non-null pointer means MPIX_RMA_ON. With any other value for
 * MPIX_RMA_KEY_COMMUNICATABLE, MPIX_RMA_KEY_ACCUMULATE_OP or MPIX_RMA_KEY_NOTIFY, or null for the operation
 * or the scale, MPI_Comm_set_attr and MPIX_Req_set_attr return MPI_ERR_ARG and change nothing. Null is
 * counter 0 for MPIX_RMA_KEY_NOTIFY. MPI_Comm_delete_attr removes an attribute from a communicator; the
 * operation, the scale and the counter of a request object cannot be removed.
 */
#define MPIX_RMA_KEY_ATOMICITY MPIX_RMA_Keyval("MPIX_RMA_KEY_ATOMICITY")
#define MPIX_RMA_KEY_ORDERING MPIX_RMA_Keyval("MPIX_RMA_KEY_ORDERING")
#define MPIX_RMA_KEY_BLOCKING MPIX_RMA_Keyval("MPIX_RMA_KEY_BLOCKING")
#define MPIX_RMA_KEY_REMOTE_COMPLETION MPIX_RMA_Keyval("MPIX_RMA_KEY_REMOTE_COMPLETION")
#define MPIX_RMA_KEY_COMMUNICATABLE MPIX_RMA_Keyval("MPIX_RMA_KEY_COMMUNICATABLE")
#define MPIX_RMA_KEY_ACCUMULATE_OP MPIX_RMA_Keyval("MPIX_RMA_KEY_ACCUMULATE_OP")
#define MPIX_RMA_KEY_ACCUMULATE_SCALE MPIX_RMA_Keyval("MPIX_RMA_KEY_ACCUMULATE_SCALE")
#define MPIX_RMA_KEY_NOTIFY MPIX_RMA_Keyval("MPIX_RMA_KEY_NOTIFY")
/* clang-format on */

/* Attribute values. */
#define MPIX_RMA_ON MPIX_RMA_CAST_(void *, 1)
#define MPIX_RMA_ORIGIN MPIX_RMA_CAST_(void *, 1)
#define MPIX_RMA_TARGET MPIX_RMA_CAST_(void *, 2)
#define MPIX_RMA_BOTH MPIX_RMA_CAST_(void *, 3)
#define MPIX_RMA_OP_VALUE(op) MPIX_RMA_HANDLE_VALUE_(op)
#define MPIX_RMA_INDEX_VALUE(index) MPIX_RMA_CAST_(void *, index)

/**
 * Returns the attribute key of a name (5.1.1).
 *
 * @param name  name of one of the key macros: MPIX_RMA_KEY_* for communicators and request objects; for
 *              windows MPIX_WIN_SIZES, MPIX_WIN_DISP_UNITS, MPIX_WIN_NOTIFICATION_NUM_SB,
 *              MPIX_WIN_NOTIFICATION_NUM_UB and MPIX_WIN_NOTIFICATION_VALUE_UB
 *
 * Local. The key belongs to the library: MPI_Comm_free_keyval and MPI_Keyval_free reject a key
 * MPIX_RMA_KEY_*, and MPI_Win_free_keyval a key MPIX_WIN_*, with MPI_ERR_KEYVAL through the error handler of
 * MPI_COMM_WORLD; MPI_Win_set_attr and MPI_Win_delete_attr reject a key MPIX_WIN_* through the window's.
 *
 * @return the key; MPI_KEYVAL_INVALID for other names and NULL, and where mpix_rma.h says so.
 */
MPIX_RMA_API int MPIX_RMA_Keyval(const char *name);

#ifdef __cplusplus
}
#endif
#endif
