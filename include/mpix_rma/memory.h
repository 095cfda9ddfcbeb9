/** Communicatable memory (5.4). Included by mpix_rma.h. */
#ifndef MPIX_RMA_MEMORY_H
#define MPIX_RMA_MEMORY_H

#ifndef MPIX_RMA_H
#error "include mpix_rma.h, of which this header is a part"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Allocates communicatable memory at every rank of an intracommunicator (5.4).
 *
 * @param size          bytes, not negative; sizes may differ; 0 gives a null pointer
 * @param info          MPI_INFO_NULL, or an info object with any of these keys: mpi_minimum_memory_alignment
 *                      (bytes, a power of two, at most 1 GiB); mpix_huge_pages ("true" for huge pages if the
 *                      system has them); mpix_lazy_memory ("true" for pages that are allocated at first
 *                      touch); mpix_same_address ("true" for the same base at all ranks; its value must be
 *                      the same at all ranks). Other keys are ignored
 * @param communicator  the communicator
 * @param base          receives the caller's own base address; may be NULL if `bases` is not
 * @param bases         array of communicator-size pointers: receives every rank's base address; may be NULL
 *                      if `base` is not
 *
 * Collective. On return the memory of every rank can be accessed. It is aligned to 64 bytes, from 256 KiB on
 * to a page. Its content is undefined. From 256 KiB on this call allocates the pages: if the machine or the
 * cgroup lacks memory, the call fails with MPI_ERR_NO_MEM instead of the process being killed at first touch.
 * 1/32 of the memory of the machine or cgroup, at least 16 MiB and at most 1 GiB, is left free. Memory
 * allocated with mpix_lazy_memory is not counted. Memory that is not freed stays allocated until the process
 * ends; after MPI_Finalize only this process may access it.
 *
 * With mpix_same_address the memory of all ranks has one base, a multiple of 2 MiB from the MCA parameter
 * osc_mpix_same_address_base on; only ranks whose size is 0 have a null pointer. A pointer into the memory is
 * valid as a remote address at every rank. If the ranks find no such addresses that are unused in each of
 * their processes, the call fails with MPI_ERR_NO_MEM, and may be repeated without the key.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM (also an intercommunicator); MPI_ERR_ARG (negative size, both result
 *         addresses null); MPI_ERR_INFO_VALUE (also for an mpix_same_address that differs between ranks);
 *         MPI_ERR_NO_MEM. A failure of one rank is returned by all, and nothing stays allocated.
 */
MPIX_RMA_API int MPIX_RMA_Allocate(MPI_Aint size, MPI_Info info, MPI_Comm communicator, void **base,
                                   void *bases[]);

/**
 * Frees memory from MPIX_RMA_Allocate (5.4).
 *
 * @param base          the caller's own base, NULL if its size was 0. If all pass NULL, nothing is freed
 * @param communicator  the communicator of the allocation, or another one of the same processes. The call
 *                      completes the operations of all processes through this communicator; operations
 *                      through other communicators must be remotely complete
 *
 * Collective: all processes free the same allocation, anything else is erroneous. On return no process
 * accesses the memory any more. Registrations in it have ended too.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM (also an intercommunicator); MPI_ERR_ARG (`base` is not from
 *         MPIX_RMA_Allocate); the class of a failed operation that was not reported before, as
 *         MPIX_RMA_Complete for MPIX_ALL_RANKS returns it (others are discarded): the memory is freed
 *         nevertheless. The same on all ranks.
 */
MPIX_RMA_API int MPIX_RMA_Free(void *base, MPI_Comm communicator);

/**
 * Allocates communicatable memory at this process alone (5.4).
 *
 * @param size  bytes, positive
 * @param info  as for MPIX_RMA_Allocate; mpix_same_address is ignored
 * @param base  receives the address
 *
 * Local.
 *
 * @return MPI_SUCCESS; MPI_ERR_ARG; MPI_ERR_INFO_VALUE; MPI_ERR_NO_MEM.
 */
MPIX_RMA_API int MPIX_RMA_Allocate_local(MPI_Aint size, MPI_Info info, void **base);

/**
 * Frees memory from MPIX_RMA_Allocate_local (5.4).
 *
 * @param base  its address. The operations of every process on it must be remotely complete
 *
 * Local; on return no process accesses the memory any more. Registrations in it have ended too.
 *
 * @return MPI_SUCCESS; MPI_ERR_ARG (`base` is not from MPIX_RMA_Allocate_local).
 */
MPIX_RMA_API int MPIX_RMA_Free_local(void *base);

/**
 * Makes existing memory of the caller communicatable (5.4).
 *
 * @param base  first byte
 * @param size  bytes, positive. The range must stay mapped until MPIX_RMA_Deregister. It may overlap other
 *              registered memory, and may lie in memory from MPIX_RMA_Allocate or MPIX_RMA_Allocate_local,
 *              then within one allocation
 * @param info  MPI_INFO_NULL, or an info object with the key mpix_access. "read" states that peers only read
 *              the memory, which the caller need not be able to write; an operation that writes it is
 *              erroneous, unless another registration or an allocation permits it, and need not fail if the
 *              memory is writable. "readwrite" states that peers also
 *              write it. Without the key peers may do what the memory permits. Other keys are ignored
 *
 * Local. Registrations are counted: memory is communicatable as long as a registration or an allocation
 * contains it.
 *
 * @return MPI_SUCCESS; MPI_ERR_ARG (null, empty, or beyond the end of an allocation); the address class
 *         (memory that is not fully mapped, not writable with "readwrite", or device memory of CUDA or ROCm);
 *         MPI_ERR_INFO_VALUE; MPI_ERR_NO_MEM.
 */
MPIX_RMA_API int MPIX_RMA_Register(const void *base, MPI_Aint size, MPI_Info info);

/**
 * Ends the most recent registration with this base and size by MPIX_RMA_Register (5.4).
 *
 * @param base  as given there
 * @param size  as given there, bytes
 *
 * Local; on return no process uses the registration any more. Operations on the memory may be in progress:
 * they access it like memory that has never been registered, except those with TARGET_COMMUNICATABLE, which
 * must be complete. A registration by a window is not ended.
 *
 * @return MPI_SUCCESS; MPI_ERR_ARG (not registered by MPIX_RMA_Register, or size not positive).
 */
MPIX_RMA_API int MPIX_RMA_Deregister(const void *base, MPI_Aint size);

/**
 * Determines whether an address of a rank is communicatable, and in which segment it lies (5.4).
 *
 * @param communicator  the communicator
 * @param target_rank   rank in it, this process included; MPI_PROC_NULL is MPI_ERR_RANK
 * @param target_addr   virtual address in that process
 * @param flag          receives 1 if it is communicatable memory of the program, else 0
 * @param base          receives the first address of the segment (MPIX_RMA_Segment); unchanged if `flag` is
 *                      0; may be NULL
 * @param size          receives the length of the segment in bytes, from its base; unchanged if `flag` is 0;
 *                      may be NULL
 *
 * Local; may have to query the target. The answer can be outdated by the time it arrives.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_RANK; MPI_ERR_ARG (null flag); the transport class.
 */
MPIX_RMA_API int MPIX_RMA_Query(MPI_Comm communicator, int target_rank, const void *target_addr, int *flag,
                                void **base, MPI_Aint *size);

/** A contiguous range of a rank's communicatable memory: an allocation, or the union of registrations that
 *  overlap, those of windows included. Registrations that only touch are two segments. */
typedef struct MPIX_RMA_Segment {
    void *base;    /**< its first address in that process */
    MPI_Aint size; /**< bytes */
} MPIX_RMA_Segment;

/**
 * Returns the segments of a rank in the order of their addresses (5.4): its allocations and registrations,
 * the memory of its windows (of all ranks of a contiguous MPI_Win_allocate_shared at its first rank), and that
 * of MPI_Alloc_mem where the library provides it (docs/semantics.md, Windows). An addition to the proposal.
 *
 * @param communicator  the communicator
 * @param target_rank   rank in it, this process included; MPI_PROC_NULL is MPI_ERR_RANK
 * @param max           elements of `segments`, not negative
 * @param segments      receives the first `max` segments; may be NULL if `max` is 0
 * @param count         receives the number of the rank's segments, which may exceed `max`
 *
 * Local. Takes a few nanoseconds for each segment of a rank of the same host. For a rank of another host it
 * takes a round trip to the rank for each segment and each gap between segments. The answer can be outdated
 * by the time it arrives.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_RANK; MPI_ERR_COUNT (negative); MPI_ERR_ARG (a null pointer);
 *         MPI_ERR_NO_MEM; the transport class.
 */
MPIX_RMA_API int MPIX_RMA_Segments(MPI_Comm communicator, int target_rank, int max,
                                   MPIX_RMA_Segment segments[], int *count);

#ifdef __cplusplus
}
#endif
#endif
