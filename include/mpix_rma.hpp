/// C++ overloads of the three prototype forms under one name each, as the proposal writes them (5.3).
/// Everything else is in mpix_rma.h. C++11 and newer.
#pragma once

#include <cstddef>
#include <type_traits>

#include "mpix_rma.h"
#include "mpix_rma/profiling.h"  // before the overloads: it takes the types of the calls in C

// Overloads of functions with C linkage: these have C++ linkage and differ in their request and last
// arguments. A literal nullptr as request matches neither type, so it has its own overloads. For no request
// write nullptr, not NULL: NULL matches several overloads equally well, so the call would not compile.

inline int MPIX_RMA_xfer(MPIX_RMA_Op op, void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                         int target_rank, void *target_addr, int target_count, MPI_Datatype target_datatype,
                         MPI_Request *request, MPI_Comm *communicator)
{
    return MPIX_RMA_xfer_req(op, origin_addr, origin_count, origin_datatype, target_rank, target_addr,
                             target_count, target_datatype, request, communicator);
}

inline int MPIX_RMA_xfer(MPIX_RMA_Op op, void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                         int target_rank, void *target_addr, int target_count, MPI_Datatype target_datatype,
                         MPIX_Rma_request *request, MPI_Comm *communicator)
{
    return MPIX_RMA_xfer_rma(op, origin_addr, origin_count, origin_datatype, target_rank, target_addr,
                             target_count, target_datatype, request, communicator);
}

inline int MPIX_RMA_rmw(MPIX_RMW_Op op, const void *operand_addr, int count, MPI_Datatype datatype,
                        void *result_addr, int target_rank, MPI_Aint target_disp, MPI_Request *request,
                        MPI_Comm *communicator)
{
    return MPIX_RMA_rmw_req(op, operand_addr, count, datatype, result_addr, target_rank, target_disp, request,
                            communicator);
}

inline int MPIX_RMA_rmw(MPIX_RMW_Op op, const void *operand_addr, int count, MPI_Datatype datatype,
                        void *result_addr, int target_rank, MPI_Aint target_disp, MPIX_Rmw_request *request,
                        MPI_Comm *communicator, const MPIX_RMA_Attributes *rmw_attr_val = nullptr)
{
    return MPIX_RMA_rmw_rma(op, operand_addr, count, datatype, result_addr, target_rank, target_disp, request,
                            communicator, rmw_attr_val);
}

inline int MPIX_RMA_rmw2(MPIX_RMW2_Op op, const void *operand_addr, int count, MPI_Datatype datatype,
                         const void *operand2_addr, void *result_addr, int target_rank, MPI_Aint target_disp,
                         MPI_Request *request, MPI_Comm *communicator)
{
    return MPIX_RMA_rmw2_req(op, operand_addr, count, datatype, operand2_addr, result_addr, target_rank,
                             target_disp, request, communicator);
}

inline int MPIX_RMA_rmw2(MPIX_RMW2_Op op, const void *operand_addr, int count, MPI_Datatype datatype,
                         const void *operand2_addr, void *result_addr, int target_rank, MPI_Aint target_disp,
                         MPIX_Rmw_request *request, MPI_Comm *communicator, const MPIX_RMA_Attributes *rmw_attr_val = nullptr)
{
    return MPIX_RMA_rmw2_rma(op, operand_addr, count, datatype, operand2_addr, result_addr, target_rank,
                             target_disp, request, communicator, rmw_attr_val);
}

inline int MPIX_RMA_xfer(MPIX_RMA_Op op, void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                         int target_rank, void *target_addr, int target_count, MPI_Datatype target_datatype,
                         std::nullptr_t, MPI_Comm *communicator)
{
    return MPIX_RMA_xfer_req(op, origin_addr, origin_count, origin_datatype, target_rank, target_addr,
                             target_count, target_datatype, nullptr, communicator);
}

inline int MPIX_RMA_rmw(MPIX_RMW_Op op, const void *operand_addr, int count, MPI_Datatype datatype,
                        void *result_addr, int target_rank, MPI_Aint target_disp, std::nullptr_t,
                        MPI_Comm *communicator, const MPIX_RMA_Attributes *rmw_attr_val = nullptr)
{
    return MPIX_RMA_rmw_rma(op, operand_addr, count, datatype, result_addr, target_rank, target_disp, nullptr,
                            communicator, rmw_attr_val);
}

inline int MPIX_RMA_rmw2(MPIX_RMW2_Op op, const void *operand_addr, int count, MPI_Datatype datatype,
                         const void *operand2_addr, void *result_addr, int target_rank, MPI_Aint target_disp,
                         std::nullptr_t, MPI_Comm *communicator, const MPIX_RMA_Attributes *rmw_attr_val = nullptr)
{
    return MPIX_RMA_rmw2_rma(op, operand_addr, count, datatype, operand2_addr, result_addr, target_rank,
                             target_disp, nullptr, communicator, rmw_attr_val);
}

// Attributes by the `void *` that the proposal prints. C converts it without an overload.

template <typename Pointer>
using mpix_rma_void_pointer_ = typename std::enable_if<std::is_same<Pointer, void *>::value, int>::type;

// A template parameter, so that nullptr remains a request of the other type.
template <typename Request>
using mpix_rma_own_request_ = typename std::enable_if<std::is_same<Request, MPIX_Rmw_request *>::value, int>::type;

template <typename Pointer, mpix_rma_void_pointer_<Pointer> = 0>
inline int MPIX_RMA_xfer(MPIX_RMA_Op op, void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                         int target_rank, void *target_addr, int target_count, MPI_Datatype target_datatype,
                         MPI_Request *request, MPI_Comm *communicator, Pointer rma_attr_val)
{
    return MPIX_RMA_xfer(op, origin_addr, origin_count, origin_datatype, target_rank, target_addr,
                         target_count, target_datatype, request, communicator,
                         static_cast<const MPIX_RMA_Attributes *>(rma_attr_val));
}

template <typename Pointer, mpix_rma_void_pointer_<Pointer> = 0>
inline int MPIX_RMA_rmw(MPIX_RMW_Op op, const void *operand_addr, int count, MPI_Datatype datatype,
                        void *result_addr, int target_rank, MPI_Aint target_disp, MPI_Request *request,
                        MPI_Comm *communicator, Pointer rmw_attr_val)
{
    return MPIX_RMA_rmw(op, operand_addr, count, datatype, result_addr, target_rank, target_disp, request,
                        communicator, static_cast<const MPIX_RMA_Attributes *>(rmw_attr_val));
}

template <typename Pointer, mpix_rma_void_pointer_<Pointer> = 0>
inline int MPIX_RMA_rmw2(MPIX_RMW2_Op op, const void *operand_addr, int count, MPI_Datatype datatype,
                         const void *operand2_addr, void *result_addr, int target_rank, MPI_Aint target_disp,
                         MPI_Request *request, MPI_Comm *communicator, Pointer rmw_attr_val)
{
    return MPIX_RMA_rmw2(op, operand_addr, count, datatype, operand2_addr, result_addr, target_rank,
                         target_disp, request, communicator,
                         static_cast<const MPIX_RMA_Attributes *>(rmw_attr_val));
}

template <typename Request, typename Pointer, mpix_rma_own_request_<Request> = 0, mpix_rma_void_pointer_<Pointer> = 0>
inline int MPIX_RMA_rmw(MPIX_RMW_Op op, const void *operand_addr, int count, MPI_Datatype datatype,
                        void *result_addr, int target_rank, MPI_Aint target_disp, Request request,
                        MPI_Comm *communicator, Pointer rmw_attr_val)
{
    return MPIX_RMA_rmw_rma(op, operand_addr, count, datatype, result_addr, target_rank, target_disp, request,
                            communicator, static_cast<const MPIX_RMA_Attributes *>(rmw_attr_val));
}

template <typename Request, typename Pointer, mpix_rma_own_request_<Request> = 0, mpix_rma_void_pointer_<Pointer> = 0>
inline int MPIX_RMA_rmw2(MPIX_RMW2_Op op, const void *operand_addr, int count, MPI_Datatype datatype,
                         const void *operand2_addr, void *result_addr, int target_rank, MPI_Aint target_disp,
                         Request request, MPI_Comm *communicator, Pointer rmw_attr_val)
{
    return MPIX_RMA_rmw2_rma(op, operand_addr, count, datatype, operand2_addr, result_addr, target_rank,
                             target_disp, request, communicator,
                             static_cast<const MPIX_RMA_Attributes *>(rmw_attr_val));
}

// The overloads with large counts.

inline int MPIX_RMA_xfer_c(MPIX_RMA_Op op, void *origin_addr, MPI_Count origin_count,
                           MPI_Datatype origin_datatype, int target_rank, void *target_addr,
                           MPI_Count target_count, MPI_Datatype target_datatype, MPI_Request *request,
                           MPI_Comm *communicator)
{
    return MPIX_RMA_xfer_req_c(op, origin_addr, origin_count, origin_datatype, target_rank, target_addr,
                               target_count, target_datatype, request, communicator);
}

inline int MPIX_RMA_xfer_c(MPIX_RMA_Op op, void *origin_addr, MPI_Count origin_count,
                           MPI_Datatype origin_datatype, int target_rank, void *target_addr,
                           MPI_Count target_count, MPI_Datatype target_datatype, MPIX_Rma_request *request,
                           MPI_Comm *communicator)
{
    return MPIX_RMA_xfer_rma_c(op, origin_addr, origin_count, origin_datatype, target_rank, target_addr,
                               target_count, target_datatype, request, communicator);
}

inline int MPIX_RMA_rmw_c(MPIX_RMW_Op op, const void *operand_addr, MPI_Count count, MPI_Datatype datatype,
                          void *result_addr, int target_rank, MPI_Aint target_disp, MPI_Request *request,
                          MPI_Comm *communicator)
{
    return MPIX_RMA_rmw_req_c(op, operand_addr, count, datatype, result_addr, target_rank, target_disp,
                              request, communicator);
}

inline int MPIX_RMA_rmw_c(MPIX_RMW_Op op, const void *operand_addr, MPI_Count count, MPI_Datatype datatype,
                          void *result_addr, int target_rank, MPI_Aint target_disp, MPIX_Rmw_request *request,
                          MPI_Comm *communicator, const MPIX_RMA_Attributes *rmw_attr_val = nullptr)
{
    return MPIX_RMA_rmw_rma_c(op, operand_addr, count, datatype, result_addr, target_rank, target_disp,
                              request, communicator, rmw_attr_val);
}

inline int MPIX_RMA_rmw2_c(MPIX_RMW2_Op op, const void *operand_addr, MPI_Count count, MPI_Datatype datatype,
                           const void *operand2_addr, void *result_addr, int target_rank, MPI_Aint target_disp,
                           MPI_Request *request, MPI_Comm *communicator)
{
    return MPIX_RMA_rmw2_req_c(op, operand_addr, count, datatype, operand2_addr, result_addr, target_rank,
                               target_disp, request, communicator);
}

inline int MPIX_RMA_rmw2_c(MPIX_RMW2_Op op, const void *operand_addr, MPI_Count count, MPI_Datatype datatype,
                           const void *operand2_addr, void *result_addr, int target_rank, MPI_Aint target_disp,
                           MPIX_Rmw_request *request, MPI_Comm *communicator, const MPIX_RMA_Attributes *rmw_attr_val = nullptr)
{
    return MPIX_RMA_rmw2_rma_c(op, operand_addr, count, datatype, operand2_addr, result_addr, target_rank,
                               target_disp, request, communicator, rmw_attr_val);
}

inline int MPIX_RMA_xfer_c(MPIX_RMA_Op op, void *origin_addr, MPI_Count origin_count,
                           MPI_Datatype origin_datatype, int target_rank, void *target_addr,
                           MPI_Count target_count, MPI_Datatype target_datatype, std::nullptr_t,
                           MPI_Comm *communicator)
{
    return MPIX_RMA_xfer_req_c(op, origin_addr, origin_count, origin_datatype, target_rank, target_addr,
                               target_count, target_datatype, nullptr, communicator);
}

inline int MPIX_RMA_rmw_c(MPIX_RMW_Op op, const void *operand_addr, MPI_Count count, MPI_Datatype datatype,
                          void *result_addr, int target_rank, MPI_Aint target_disp, std::nullptr_t,
                          MPI_Comm *communicator, const MPIX_RMA_Attributes *rmw_attr_val = nullptr)
{
    return MPIX_RMA_rmw_rma_c(op, operand_addr, count, datatype, result_addr, target_rank, target_disp,
                              nullptr, communicator, rmw_attr_val);
}

inline int MPIX_RMA_rmw2_c(MPIX_RMW2_Op op, const void *operand_addr, MPI_Count count, MPI_Datatype datatype,
                           const void *operand2_addr, void *result_addr, int target_rank, MPI_Aint target_disp,
                           std::nullptr_t, MPI_Comm *communicator, const MPIX_RMA_Attributes *rmw_attr_val = nullptr)
{
    return MPIX_RMA_rmw2_rma_c(op, operand_addr, count, datatype, operand2_addr, result_addr, target_rank,
                               target_disp, nullptr, communicator, rmw_attr_val);
}

template <typename Pointer, mpix_rma_void_pointer_<Pointer> = 0>
inline int MPIX_RMA_xfer_c(MPIX_RMA_Op op, void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                           int target_rank, void *target_addr, MPI_Count target_count,
                           MPI_Datatype target_datatype, MPI_Request *request, MPI_Comm *communicator,
                           Pointer rma_attr_val)
{
    return MPIX_RMA_xfer_c(op, origin_addr, origin_count, origin_datatype, target_rank, target_addr,
                           target_count, target_datatype, request, communicator,
                           static_cast<const MPIX_RMA_Attributes *>(rma_attr_val));
}

template <typename Pointer, mpix_rma_void_pointer_<Pointer> = 0>
inline int MPIX_RMA_rmw_c(MPIX_RMW_Op op, const void *operand_addr, MPI_Count count, MPI_Datatype datatype,
                          void *result_addr, int target_rank, MPI_Aint target_disp, MPI_Request *request,
                          MPI_Comm *communicator, Pointer rmw_attr_val)
{
    return MPIX_RMA_rmw_c(op, operand_addr, count, datatype, result_addr, target_rank, target_disp, request,
                          communicator, static_cast<const MPIX_RMA_Attributes *>(rmw_attr_val));
}

template <typename Pointer, mpix_rma_void_pointer_<Pointer> = 0>
inline int MPIX_RMA_rmw2_c(MPIX_RMW2_Op op, const void *operand_addr, MPI_Count count, MPI_Datatype datatype,
                           const void *operand2_addr, void *result_addr, int target_rank, MPI_Aint target_disp,
                           MPI_Request *request, MPI_Comm *communicator, Pointer rmw_attr_val)
{
    return MPIX_RMA_rmw2_c(op, operand_addr, count, datatype, operand2_addr, result_addr, target_rank,
                           target_disp, request, communicator,
                           static_cast<const MPIX_RMA_Attributes *>(rmw_attr_val));
}

template <typename Request, typename Pointer, mpix_rma_own_request_<Request> = 0, mpix_rma_void_pointer_<Pointer> = 0>
inline int MPIX_RMA_rmw_c(MPIX_RMW_Op op, const void *operand_addr, MPI_Count count, MPI_Datatype datatype,
                          void *result_addr, int target_rank, MPI_Aint target_disp, Request request,
                          MPI_Comm *communicator, Pointer rmw_attr_val)
{
    return MPIX_RMA_rmw_rma_c(op, operand_addr, count, datatype, result_addr, target_rank, target_disp, request,
                            communicator, static_cast<const MPIX_RMA_Attributes *>(rmw_attr_val));
}

template <typename Request, typename Pointer, mpix_rma_own_request_<Request> = 0, mpix_rma_void_pointer_<Pointer> = 0>
inline int MPIX_RMA_rmw2_c(MPIX_RMW2_Op op, const void *operand_addr, MPI_Count count, MPI_Datatype datatype,
                           const void *operand2_addr, void *result_addr, int target_rank, MPI_Aint target_disp,
                           Request request, MPI_Comm *communicator, Pointer rmw_attr_val)
{
    return MPIX_RMA_rmw2_rma_c(op, operand_addr, count, datatype, operand2_addr, result_addr, target_rank,
                             target_disp, request, communicator,
                             static_cast<const MPIX_RMA_Attributes *>(rmw_attr_val));
}

inline int MPIX_Req_set_attr(MPIX_Rma_request *request, int comm_keyval, void *attribute_val)
{
    return MPIX_Rma_request_set_attr(request, comm_keyval, attribute_val);
}

inline int MPIX_Req_get_attr(MPIX_Rma_request *request, int comm_keyval, void *attribute_val, int *flag)
{
    return MPIX_Rma_request_get_attr(request, comm_keyval, attribute_val, flag);
}
