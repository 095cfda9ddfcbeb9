/** Windows whose memory is at a memory server. Included by mpix_rma.h. */
#ifndef MPIX_RMA_NAM_H
#define MPIX_RMA_NAM_H

#ifdef __cplusplus
extern "C" {
#endif

/* Bits for MPIX_Win_keyval; others are in window.h. */
#define MPIX_WIN_ATTR_SIZES 1
#define MPIX_WIN_ATTR_DISP_UNITS 2

/* Attribute keys of windows at a memory server, for MPI_Win_get_attr. Each is a call of MPIX_Win_keyval: valid
 * from MPI_Init to MPI_Finalize. The values are arrays by the rank of the target: of MPI_Aint, the bytes of its
 * memory, and of int, the unit of its displacements. */
#define MPIX_WIN_SIZES MPIX_Win_keyval(MPIX_WIN_ATTR_SIZES)
#define MPIX_WIN_DISP_UNITS MPIX_Win_keyval(MPIX_WIN_ATTR_DISP_UNITS)

/**
 * The attribute key of a window attribute of this library.
 *
 * @param bit  one of MPIX_WIN_ATTR_...; MPIX_WIN_SIZES, MPIX_WIN_DISP_UNITS, MPIX_WIN_NOTIFICATION_NUM_SB,
 *             MPIX_WIN_NOTIFICATION_NUM_UB and MPIX_WIN_NOTIFICATION_VALUE_UB are calls with these
 *
 * Local. Windows at a memory server have MPIX_WIN_SIZES and MPIX_WIN_DISP_UNITS, from MPI_Win_allocate,
 * MPI_Win_create_dynamic, MPIX_Win_allocate_nam and MPIX_Win_connect; other windows have not. The value of the first
 * is an array of MPI_Aint, of the second an array of int, with an entry for each rank of the processes that have made
 * the window: the bytes of its memory, and the unit of its displacements. The arrays stay as long as the window.
 *
 * All windows of this library have the others, as predefined attributes: addresses of an int, how many notification
 * counters are suggested; of an int, how many a process can have; of an MPI_Count, the largest value of a counter. A
 * window without notification has zeros. The info key mpi_assert_max_num_notify of a window's creation sets the first
 * two.
 *
 * @return the key; MPI_KEYVAL_INVALID for other bits, before MPI_Init and after MPI_Finalize.
 */
MPIX_RMA_API int MPIX_Win_keyval(int bit);

/**
 * Makes a window whose memory is at a memory server.
 *
 * @param size       bytes of this process's memory, not negative; sizes may differ, and where all but one are 0 the
 *                   window is flat
 * @param disp_unit  unit of displacements in it, bytes
 * @param info       MPI_INFO_NULL, or an info object: deep_mem_kind may be deep_nam_persistent; mpix_nam_durability
 *                   (clients, server or storage) says what a persistent window outlives; mpix_nam_mode, octal
 *                   as in 0644, who may read and write it; mpix_nam_stripe, bytes, a
 *                   multiple of 4096, divides the memory between several servers; mpix_nam_encrypt=true
 *                   demands that its data is encrypted on networks; the keys of MPI_Win_allocate
 * @param comm       an intracommunicator
 * @param win        receives the window
 *
 * Collective. The same as MPI_Win_allocate with deep_mem_kind=deep_nam in its info object, without a base address:
 * there is none. The memory is zero. It lies in the grants of MPIX_NAM_ALLOCATION, and goes back to it with
 * MPI_Win_free unless the window is persistent: then it stays for as long as the grant, and the key
 * deep_win_port_name of MPI_Win_get_info is the port name by which it is found.
 *
 * @return MPI_SUCCESS; MPI_ERR_NO_MEM (the string says what the grant has left); MPI_ERR_INFO_VALUE (deep_mem_kind
 *         is unknown or differs between processes, or the mode or the size of stripes is not one); MPI_ERR_UNSUPPORTED_OPERATION (the server does not run on this host, or does not
 *         offer the durability, or encryption); MPI_ERR_ACCESS; MPI_ERR_PORT (there is no such grant); MPI_ERR_OTHER. The same at
 *         all processes.
 */
MPIX_RMA_API int MPIX_Win_allocate_nam(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win *win);

/**
 * Makes a window of the persistent memory that others have left at a memory server.
 *
 * @param port_name  the port name; looked at by `root` only
 * @param info       MPI_INFO_NULL, or an info object with keys for the window; at `root`, mpix_nam_follow=true consents to
 *                   servers that only the owner of the window names as those of its parts, and mpix_nam_encrypt=true
 *                   demands that its data is encrypted on networks
 * @param root       rank in `comm`
 * @param comm       an intracommunicator
 * @param win        receives the window
 *
 * Collective. Targets are the ranks of the processes that have made the window, with the memory and the units that
 * they had: see MPIX_WIN_SIZES, MPIX_WIN_DISP_UNITS and MPIX_Win_query. Fences wait for the processes of `comm`;
 * MPI_Win_post and MPI_Win_start are MPI_ERR_UNSUPPORTED_OPERATION, because the targets are no processes. Locks hold
 * between all who use the memory. The same as MPI_Comm_connect with deep_win_connect=true and MPI_Win_create_dynamic.
 * A user who does not own the grant may do what the mode of the window says; operations and exclusive locks that it does not
 * permit are MPI_ERR_ACCESS when they are issued. Operations of such a user are complete when their calls return.
 *
 * @return MPI_SUCCESS; MPI_ERR_PORT (there is no such window, or its owner does not let this user see it);
 *         MPI_ERR_ACCESS; MPI_ERR_UNSUPPORTED_OPERATION; MPI_ERR_OTHER. The same at all processes.
 */
MPIX_RMA_API int MPIX_Win_connect(const char *port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Win *win);

/**
 * Makes the data of a persistent window as durable as the window is to be.
 *
 * @param win  a persistent window
 *
 * Local. Returns when what was completed before, by whatever process, outlives what mpix_nam_durability said when the
 * window was made: the end of all processes of the server with any durability at a server whose storage is files, a crash of
 * the machine too with storage. At a server whose storage is memory there is nothing to wait for.
 *
 * @return MPI_SUCCESS; MPI_ERR_WIN (not a persistent window, or it has ended); MPI_ERR_OTHER (the server does not
 *         answer).
 */
MPIX_RMA_API int MPIX_Win_persist(MPI_Win win);

/**
 * Tells the memory of a target.
 *
 * @param win        a window of this library: any but dynamic ones
 * @param rank       the target
 * @param size       receives the bytes of its memory
 * @param disp_unit  receives the unit of displacements in it
 *
 * Local.
 *
 * @return MPI_SUCCESS; MPI_ERR_RANK; MPI_ERR_WIN (another component's); MPI_ERR_RMA_FLAVOR.
 */
MPIX_RMA_API int MPIX_Win_query(MPI_Win win, int rank, MPI_Aint *size, int *disp_unit);

#ifdef __cplusplus
}
#endif
#endif
