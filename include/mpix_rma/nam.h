/** Windows whose memory is at a memory server. Included by mpix_rma.h. */
#ifndef MPIX_RMA_NAM_H
#define MPIX_RMA_NAM_H

#ifndef MPIX_RMA_H
#error "include mpix_rma.h, of which this header is a part"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Attribute keys of windows at a memory server, for MPI_Win_get_attr. Each is a call of MPIX_RMA_Keyval:
 * valid from MPI_Init to MPI_Finalize. All windows at a memory server have them, whether created by
 * MPI_Win_allocate, MPI_Win_create_dynamic, MPIX_Win_allocate_nam or MPIX_Win_connect; other windows do not.
 * The first value is an array of MPI_Aint, the second an array of int, with an entry for each process that
 * created the window: the size of its memory in bytes and its displacement unit. The arrays live as long as
 * the window. */
#define MPIX_WIN_SIZES MPIX_RMA_Keyval("MPIX_WIN_SIZES")
#define MPIX_WIN_DISP_UNITS MPIX_RMA_Keyval("MPIX_WIN_DISP_UNITS")

/**
 * Creates a window whose memory is at a memory server.
 *
 * @param size       bytes of this process's memory, not negative; sizes may differ, and if all but one are 0
 *                   the window is flat
 * @param disp_unit  displacement unit of this process's memory in bytes
 * @param info       MPI_INFO_NULL, or an info object: deep_mem_kind may be deep_nam_persistent;
 *                   mpix_nam_durability (clients, server or storage) sets what a persistent window survives;
 *                   mpix_nam_mode, octal as in 0644, sets the access rights; mpix_nam_stripe, bytes, a
 *                   multiple of 4096, distributes the memory over several servers; mpix_nam_encrypt=true
 *                   requires encryption of the window's data on networks; the keys of MPI_Win_allocate
 * @param comm       an intracommunicator
 * @param win        receives the window
 *
 * Collective. Equals MPI_Win_allocate with deep_mem_kind=deep_nam in its info object, but has no base
 * address. The memory is zeroed. It comes from the grants of MPIX_NAM_ALLOCATION (without that variable from
 * a private server, which ends with the job), and MPI_Win_free returns it to the grants unless the window is
 * persistent: then the memory lives as long as the grant, and the key deep_win_port_name of MPI_Win_get_info
 * is the port name of the window.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_SIZE (negative); MPI_ERR_DISP (not positive); MPI_ERR_ARG (null
 *         `win`); MPI_ERR_NO_MEM (the string gives the free bytes of the grant); MPI_ERR_INFO_VALUE
 *         (deep_mem_kind is unknown or differs between processes, or the durability, the mode or the stripe
 *         size is invalid); MPI_ERR_UNSUPPORTED_OPERATION (the server is not running on this host, or does
 *         not offer the durability or encryption); MPI_ERR_ACCESS; MPI_ERR_PORT (the grant does not exist);
 *         MPI_ERR_OTHER (a persistent window without a grant). The same at all processes.
 */
MPIX_RMA_API int MPIX_Win_allocate_nam(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                                       MPI_Win *win);

/**
 * Creates a window on the memory of an existing persistent window at a memory server.
 *
 * @param port_name  the port name; significant at `root` only
 * @param info       MPI_INFO_NULL, or an info object with keys for the window; at `root`,
 *                   mpix_nam_follow=true permits connections to servers that only the owner of the window
 *                   names, and mpix_nam_encrypt=true requires encryption of the window's data on networks
 * @param root       rank in `comm`
 * @param comm       an intracommunicator
 * @param win        receives the window
 *
 * Collective. Targets are the ranks of the processes that created the window, with their memory and
 * displacement units: see MPIX_WIN_SIZES, MPIX_WIN_DISP_UNITS and MPIX_Win_query. Fences wait for the
 * processes of `comm`; MPI_Win_post and MPI_Win_start are MPI_ERR_UNSUPPORTED_OPERATION, because the targets
 * are not processes. Locks exclude all users of the memory. Equals MPI_Comm_connect with
 * deep_win_connect=true and MPI_Win_create_dynamic. A user who does not own the grant has the rights of the
 * window's mode; operations beyond these rights and exclusive locks return MPI_ERR_ACCESS when issued.
 * Operations of such a user are complete when their calls return.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_ROOT (also an intercommunicator); MPI_ERR_ARG (null `win`);
 *         MPI_ERR_PORT (not a port name of a window, or the window does not exist or is not visible to this
 *         user); MPI_ERR_ACCESS; MPI_ERR_UNSUPPORTED_OPERATION; MPI_ERR_OTHER. The same at all processes,
 *         except for a wrong root or `win`.
 */
MPIX_RMA_API int MPIX_Win_connect(const char *port_name, MPI_Info info, int root, MPI_Comm comm,
                                  MPI_Win *win);

/**
 * Makes the data of a persistent window durable, as chosen at its creation.
 *
 * @param win  a persistent window
 *
 * Local. Returns when all operations completed before, by any process, have the durability that
 * mpix_nam_durability chose at window creation. At a server with file storage, data of any durability then
 * survives the end of all server processes, and with "storage" also a crash of the machine. At a server with
 * memory storage the call returns at once.
 *
 * @return MPI_SUCCESS; MPI_ERR_WIN (not a persistent window, or the window has ended); MPI_ERR_OTHER (the
 *         server does not answer).
 */
MPIX_RMA_API int MPIX_Win_persist(MPI_Win win);

/**
 * Returns the size and displacement unit of a target's memory.
 *
 * @param win        a window of this library: any but dynamic ones
 * @param rank       the target; MPI_PROC_NULL is MPI_ERR_RANK
 * @param size       receives the size of its memory in bytes
 * @param disp_unit  receives its displacement unit
 *
 * Local.
 *
 * @return MPI_SUCCESS; MPI_ERR_RANK; MPI_ERR_ARG (null pointer); MPI_ERR_WIN (window of another component);
 *         MPI_ERR_RMA_FLAVOR (a dynamic window).
 */
MPIX_RMA_API int MPIX_Win_query(MPI_Win win, int rank, MPI_Aint *size, int *disp_unit);

#ifdef __cplusplus
}
#endif
#endif
