/** Communicatable memory (5.4). Included by mpix_rma.h. */
#ifndef MPIX_RMA_MEMORY_H
#define MPIX_RMA_MEMORY_H

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Allocates communicatable memory at every rank of an intracommunicator (5.4).
 *
 * @param size          bytes, not negative; sizes may differ; 0 gives a null pointer
 * @param info          MPI_INFO_NULL, or an info object with any of the keys mpi_minimum_memory_alignment:
 *                      bytes, a power of two, at most 1 GiB; mpix_huge_pages: "true" for huge pages if the
 *                      system has them; mpix_lazy_memory: "true" for pages that are allocated at first touch.
 *                      Other keys are ignored
 * @param communicator  the communicator
 * @param bases         array of communicator-size pointers: receives every rank's base address
 *
 * Collective. Memory is aligned to 64 bytes, from 256 KiB on to a page. Its content is undefined. From 256
 * KiB on this call allocates the pages: if the machine or the cgroup lacks memory, the call fails with
 * MPI_ERR_NO_MEM instead of the process being killed at first touch. A 32nd of the total, at most 1 GiB, is
 * left free. Memory allocated with mpix_lazy_memory is not counted.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_ARG; MPI_ERR_INFO_VALUE; MPI_ERR_NO_MEM. A failure of one rank
 * is returned by all, and nothing stays allocated.
 */
MPIX_RMA_API int MPIX_RMA_Allocate(MPI_Aint size, MPI_Info info, MPI_Comm communicator, void *bases[]);

/**
 * Frees memory from MPIX_RMA_Allocate (5.4).
 *
 * @param base          the caller's own base, NULL if its size was 0; memory from MPIX_RMA_Allocate_local of
 *                      this process is also accepted
 * @param communicator  the same communicator; its operations are completed first
 *
 * Collective. On return no process accesses the memory any more.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_ARG (not such memory); the address or transport class of a
 *         failed operation that was not reported before: the memory is freed nevertheless. The same on all
 *         ranks.
 */
MPIX_RMA_API int MPIX_RMA_Free(void *base, MPI_Comm communicator);

/**
 * Allocates communicatable memory at this process alone (5.4).
 *
 * @param size  bytes, positive
 * @param info  as for MPIX_RMA_Allocate
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
 * @param base  its address; the caller's own base from MPIX_RMA_Allocate is also accepted. Operations on it
 *              must be complete
 *
 * Local; on return no process accesses the memory any more. Registrations in it have ended too.
 *
 * @return MPI_SUCCESS; MPI_ERR_ARG (not such memory).
 */
MPIX_RMA_API int MPIX_RMA_Free_local(void *base);

/**
 * Makes existing memory of the caller communicatable (5.4).
 *
 * @param base  first byte
 * @param size  bytes, positive. The range must stay mapped until MPIX_RMA_Deregister. It may overlap other
 *              registered memory, and may lie in memory from MPIX_RMA_Allocate or MPIX_RMA_Allocate_local,
 * then within one allocation
 *
 * Local. Registrations are counted: memory is communicatable as long as one of them, or an allocation, holds
 * it.
 *
 * @return MPI_SUCCESS; MPI_ERR_ARG (null, empty, or beyond the end of an allocation); the address class
 *         (memory that is not fully mapped, or device memory of CUDA or ROCm); MPI_ERR_NO_MEM.
 */
MPIX_RMA_API int MPIX_RMA_Register(const void *base, MPI_Aint size);

/**
 * Ends the most recent registration with this base by MPIX_RMA_Register (5.4).
 *
 * @param base  as given there
 *
 * Local; on return no process uses the registration any more.
 *
 * @return MPI_SUCCESS; MPI_ERR_ARG (not registered).
 */
MPIX_RMA_API int MPIX_RMA_Deregister(const void *base);

/**
 * Determines whether an address of a rank is communicatable, and in which segment it lies (5.4).
 *
 * @param communicator  the communicator
 * @param target_rank   rank in it, this process included
 * @param target_addr   virtual address in that process
 * @param flag          receives 1 if it is communicatable, else 0
 * @param base          receives the first address of the segment, which is an allocation, or registrations
 * that overlap; may be NULL
 * @param size          receives the length of the segment in bytes, from its base; may be NULL
 *
 * Local; may have to query the target's agent. The answer can be outdated by the time it arrives.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_RANK; MPI_ERR_ARG (null flag); the transport class.
 */
MPIX_RMA_API int MPIX_RMA_Query(MPI_Comm communicator, int target_rank, const void *target_addr, int *flag,
                                void **base, MPI_Aint *size);

#ifdef __cplusplus
}
#endif
#endif
