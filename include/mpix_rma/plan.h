/** Plans: the arguments of a series of transfers, checked once. Included by mpix_rma.h. */
#ifndef MPIX_RMA_PLAN_H
#define MPIX_RMA_PLAN_H

#ifndef MPIX_RMA_H
#error "include mpix_rma.h, of which this header is a part"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The arguments of a series of transfers: all but addresses, counts and request. */
typedef struct MPIX_RMA_Plan_s *MPIX_RMA_Plan;
#define MPIX_RMA_PLAN_NULL MPIX_RMA_CAST_(MPIX_RMA_Plan, 0)

/**
 * Creates a plan, so that each transfer of a series has less to check. An addition to the proposal.
 *
 * @param op               as for MPIX_RMA_xfer
 * @param origin_datatype  as for MPIX_RMA_xfer; may be freed after the call
 * @param target_rank      as for MPIX_RMA_xfer, MPI_PROC_NULL included
 * @param target_datatype  as for MPIX_RMA_xfer; may be freed after the call
 * @param communicator     the communicator. Each transfer has the attributes that it has at
 *                         MPIX_RMA_Plan_issue. After it is
 *                         freed, MPIX_RMA_Plan_issue fails, and the plan can only be freed
 * @param rma_attr_val     as for MPIX_RMA_xfer; copied, a scale included
 * @param plan             receives the plan
 *
 * Local. The notification counter is checked by each MPIX_RMA_Plan_issue, because MPIX_RMA_Set_num_notify may
 * change the number of counters.
 *
 * @return MPI_SUCCESS; MPI_ERR_COMM; MPI_ERR_OP (unknown operation); MPI_ERR_TYPE (not committed);
 *         MPI_ERR_RANK; MPI_ERR_ARG (unknown attribute, null `plan`); MPI_ERR_NO_MEM; the transport class
 *         (the rank cannot be reached). MPIX_RMA_Plan_issue reports all other errors.
 */
MPIX_RMA_API int MPIX_RMA_Plan_create(MPIX_RMA_Op op, MPI_Datatype origin_datatype, int target_rank,
                                      MPI_Datatype target_datatype, MPI_Comm communicator,
                                      const MPIX_RMA_Attributes *rma_attr_val, MPIX_RMA_Plan *plan);

/**
 * Issues a transfer of a plan.
 *
 * @param plan          from MPIX_RMA_Plan_create
 * @param origin_addr   as for MPIX_RMA_xfer
 * @param origin_count  elements of the plan's origin datatype
 * @param target_addr   as for MPIX_RMA_xfer
 * @param target_count  elements of the plan's target datatype
 * @param request       as for MPIX_RMA_xfer
 *
 * Local; semantics as MPIX_RMA_xfer with the arguments of the plan. Several threads may issue transfers of
 * one plan at the same time.
 *
 * @return as MPIX_RMA_xfer; MPI_ERR_ARG also for MPIX_RMA_PLAN_NULL; MPI_ERR_COMM when the communicator has
 *         been freed.
 */
MPIX_RMA_API int MPIX_RMA_Plan_issue(MPIX_RMA_Plan plan, void *origin_addr, int origin_count,
                                     void *target_addr, int target_count, MPI_Request *request);
MPIX_RMA_API int MPIX_RMA_Plan_issue_c(MPIX_RMA_Plan plan, void *origin_addr, MPI_Count origin_count,
                                       void *target_addr, MPI_Count target_count, MPI_Request *request);

/**
 * Frees a plan and sets it to MPIX_RMA_PLAN_NULL. Transfers already issued continue.
 *
 * @param plan  address of the plan
 *
 * Local.
 *
 * @return MPI_SUCCESS; MPI_ERR_ARG (null pointer or plan).
 */
MPIX_RMA_API int MPIX_RMA_Plan_free(MPIX_RMA_Plan *plan);

#ifdef __cplusplus
}
#endif
#endif
