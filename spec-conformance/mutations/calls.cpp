/// The calls of MPIX_RMA and of MPI that the library intercepts.
#include <unistd.h>

#include <atomic>

#include "spec-conformance/mutations/broken.hpp"

namespace mpixrma::broken {

std::size_t bytes_of(MPI_Count count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
}

int Transfer::issue() const {
  MPI_Comm handle = comm;
  MPIX_RMA_Attributes const* const given = attributes.set != 0 ? &attributes : nullptr;
  return PMPIX_RMA_xfer_c(op, origin, origin_count, origin_type, rank, target, target_count, target_type,
                          request, &handle, given);
}

int Rmw::issue() const {
  MPI_Comm handle = comm;
  MPIX_RMA_Attributes const* const given = attributes.set != 0 ? &attributes : nullptr;
  if (operand2 == nullptr)
    return PMPIX_RMA_rmw(static_cast<MPIX_RMW_Op>(op), operand, count, type, result, rank, target, request,
                         &handle, given);
  return PMPIX_RMA_rmw2(static_cast<MPIX_RMW2_Op>(op), operand, count, type, operand2, result, rank, target,
                        request, &handle, given);
}

int WithheldTransfers::leave_out(Transfer const& transfer) {
  if (transfer.request == nullptr) return MPI_SUCCESS;
  Transfer nothing = transfer;
  nothing.rank = MPI_PROC_NULL;
  return nothing.issue();
}

int WithheldTransfers::keep_copy(Transfer const& transfer) {
  auto const* const origin = static_cast<char const*>(transfer.origin);
  kept_.push_back({transfer, {origin, origin + bytes_of(transfer.origin_count, transfer.origin_type)}});
  return leave_out(transfer);
}

int WithheldTransfers::keep(Transfer const& transfer) {
  kept_.push_back({transfer, {}});
  return leave_out(transfer);
}

void WithheldTransfers::forget_others(MPI_Comm comm) {
  std::erase_if(kept_, [&](Kept const& one) { return one.transfer.comm != comm; });
}

int WithheldTransfers::issue(int rank) {
  int code = MPI_SUCCESS;
  std::vector<Kept> others;
  if (!kept_.empty()) ::usleep(200);  // other processes see the earlier transfers first
  for (Kept& one : std::exchange(kept_, {})) {
    if (rank != MPIX_ALL_RANKS && one.transfer.rank != rank) {
      others.push_back(std::move(one));
      continue;
    }
    Transfer transfer = one.transfer;
    if (!one.copy.empty()) transfer.origin = one.copy.data();
    transfer.request = nullptr;
    transfer.attributes.set |= MPIX_RMA_ATTR_BLOCKING;
    if (code == MPI_SUCCESS) code = transfer.issue();
  }
  kept_ = std::move(others);
  return code;
}

int outstanding = 0;

/// The operation of the newest transfer.
std::atomic<MPIX_RMA_Op> newest = MPIX_RMA_PUT;

WithheldTransfers& withheld() {
  static WithheldTransfers all;
  return all;
}

namespace {

/// The newest request object with the attribute ORDERING.
MPIX_Rma_request ordered_request = MPIX_RMA_REQUEST_NULL;

int run(Transfer transfer) {
  newest = transfer.op;
  WithheldTransfers before;
  std::swap(before, withheld());  // withheld transfers are issued after this one
  int code = MPI_SUCCESS;
  if (!transfer_broken(transfer, &code)) code = transfer.issue();
  int const later = before.issue();
  return code == MPI_SUCCESS ? later : code;
}

int run(Rmw rmw) {
  int code = MPI_SUCCESS;
  return update_broken(rmw, &code) ? code : rmw.issue();
}

MPIX_RMA_Attributes copy_of(MPIX_RMA_Attributes const* attributes) {
  return attributes != nullptr ? *attributes : MPIX_RMA_Attributes{};
}

}  // namespace
}  // namespace mpixrma::broken

using namespace mpixrma::broken;

int MPIX_RMA_xfer(MPIX_RMA_Op op, void* origin, int origin_count, MPI_Datatype origin_type, int rank,
                  void* target, int target_count, MPI_Datatype target_type, MPI_Request* request,
                  MPI_Comm* comm, MPIX_RMA_Attributes const* attributes) {
  if (comm == nullptr || *comm == MPI_COMM_NULL)
    return PMPIX_RMA_xfer(op, origin, origin_count, origin_type, rank, target, target_count, target_type,
                          request, comm, attributes);
  return run(Transfer{op, origin, origin_count, origin_type, rank, target, target_count, target_type, request,
                      *comm, copy_of(attributes)});
}

int MPIX_RMA_xfer_req(MPIX_RMA_Op op, void* origin, int origin_count, MPI_Datatype origin_type, int rank,
                      void* target, int target_count, MPI_Datatype target_type, MPI_Request* request,
                      MPI_Comm* comm) {
  bool const object = request != nullptr && *request != MPI_REQUEST_NULL;
  bool const concerned = comm != nullptr && *comm != MPI_COMM_NULL && (!object || is("X511_07"));
  if (concerned)
    return run(Transfer{
        op, origin, origin_count, origin_type, rank, target, target_count, target_type, request, *comm, {}});
  return PMPIX_RMA_xfer_req(op, origin, origin_count, origin_type, rank, target, target_count, target_type,
                            request, comm);
}

int MPIX_RMA_xfer_rma(MPIX_RMA_Op op, void* origin, int origin_count, MPI_Datatype origin_type, int rank,
                      void* target, int target_count, MPI_Datatype target_type, MPIX_Rma_request* request,
                      MPI_Comm* comm) {
  if (request == nullptr)
    return MPIX_RMA_xfer(op, origin, origin_count, origin_type, rank, target, target_count, target_type,
                         nullptr, comm, nullptr);
  if (is("X53_03") && op == MPIX_RMA_GET) return MPI_SUCCESS;
  return PMPIX_RMA_xfer_rma(op, origin, origin_count, origin_type, rank, target, target_count, target_type,
                            request, comm);
}

int MPIX_RMA_rmw(MPIX_RMW_Op op, void const* operand, int count, MPI_Datatype type, void* result, int rank,
                 MPI_Aint target, MPI_Request* request, MPI_Comm* comm,
                 MPIX_RMA_Attributes const* attributes) {
  if (comm == nullptr || *comm == MPI_COMM_NULL)
    return PMPIX_RMA_rmw(op, operand, count, type, result, rank, target, request, comm, attributes);
  return run(
      Rmw{op, operand, count, type, nullptr, result, rank, target, request, *comm, copy_of(attributes)});
}

int MPIX_RMA_rmw_req(MPIX_RMW_Op op, void const* operand, int count, MPI_Datatype type, void* result,
                     int rank, MPI_Aint target, MPI_Request* request, MPI_Comm* comm) {
  return MPIX_RMA_rmw(op, operand, count, type, result, rank, target, request, comm, nullptr);
}

int MPIX_RMA_rmw_rma(MPIX_RMW_Op op, void const* operand, int count, MPI_Datatype type, void* result,
                     int rank, MPI_Aint target, MPIX_Rmw_request* request, MPI_Comm* comm,
                     MPIX_RMA_Attributes const* attributes) {
  if (request == nullptr)
    return MPIX_RMA_rmw(op, operand, count, type, result, rank, target, nullptr, comm, attributes);
  if (is("X53_07")) return MPI_SUCCESS;
  return PMPIX_RMA_rmw_rma(op, operand, count, type, result, rank, target, request, comm, attributes);
}

int MPIX_RMA_rmw2(MPIX_RMW2_Op op, void const* operand, int count, MPI_Datatype type, void const* operand2,
                  void* result, int rank, MPI_Aint target, MPI_Request* request, MPI_Comm* comm,
                  MPIX_RMA_Attributes const* attributes) {
  if (comm == nullptr || *comm == MPI_COMM_NULL || operand2 == nullptr)
    return PMPIX_RMA_rmw2(op, operand, count, type, operand2, result, rank, target, request, comm,
                          attributes);
  return run(
      Rmw{op, operand, count, type, operand2, result, rank, target, request, *comm, copy_of(attributes)});
}

int MPIX_RMA_rmw2_rma(MPIX_RMW2_Op op, void const* operand, int count, MPI_Datatype type,
                      void const* operand2, void* result, int rank, MPI_Aint target,
                      MPIX_Rmw_request* request, MPI_Comm* comm, MPIX_RMA_Attributes const* attributes) {
  if (request == nullptr)
    return MPIX_RMA_rmw2(op, operand, count, type, operand2, result, rank, target, nullptr, comm, attributes);
  if (is("X53_08")) return MPI_SUCCESS;
  return PMPIX_RMA_rmw2_rma(op, operand, count, type, operand2, result, rank, target, request, comm,
                            attributes);
}

int MPIX_RMA_Complete(MPI_Comm* comm, int rank) {
  if (is("X52_03") && rank == MPIX_ALL_RANKS) (void)withheld().issue(0);
  if (is("G_08") && comm != nullptr) withheld().forget_others(*comm);
  if (is("G_08")) (void)withheld().issue(rank);
  int size = 0;
  if (is("X53_10") && comm != nullptr && *comm != MPI_COMM_NULL) PMPI_Comm_size(*comm, &size);
  if (size != 0 && rank >= size) return MPI_SUCCESS;
  outstanding = 0;
  bool const in_time =
      is("X511_03") || is("X511_13") || is("X511_17") || (is("X52_03") && rank != MPIX_ALL_RANKS);
  int const code = PMPIX_RMA_Complete(comm, rank);
  if (in_time) (void)withheld().issue(rank);
  if (is("G_06") && code != MPI_SUCCESS && newest != MPIX_RMA_GET) return MPI_SUCCESS;
  return code;
}

int MPIX_RMA_Fence(MPI_Comm* comm, int rank) {
  if (is("X52_05")) return PMPIX_RMA_Complete(comm, rank);
  bool const in_time = (is("X52_06") && rank == MPIX_ALL_RANKS) || (is("X52_07") && rank != MPIX_ALL_RANKS);
  if (in_time) (void)withheld().issue();
  return PMPIX_RMA_Fence(comm, rank);
}

int MPIX_Req_set_attr(MPI_Request* request, int key, void* value) {
  if (is("X53_04") && request != nullptr && key == MPIX_RMA_KEY_ACCUMULATE_OP) {
    return PMPIX_Req_set_attr(request, MPIX_RMA_KEY_ORDERING, MPIX_RMA_ON);
  }
  if (is("X54_05") && key == MPIX_RMA_KEY_COMMUNICATABLE) return MPI_ERR_KEYVAL;
  return PMPIX_Req_set_attr(request, key, value);
}

int MPIX_Rma_request_set_attr(MPIX_Rma_request* request, int key, void* value) {
  if (is("G_03") && key == MPIX_RMA_KEY_ACCUMULATE_OP)
    return PMPIX_Rma_request_set_attr(request, MPIX_RMA_KEY_ORDERING, MPIX_RMA_ON);
  if (is("X53_05") && request != nullptr && key == MPIX_RMA_KEY_ATOMICITY) return MPI_SUCCESS;
  int const code = PMPIX_Rma_request_set_attr(request, key, value);
  if (key == MPIX_RMA_KEY_ORDERING && code == MPI_SUCCESS) ordered_request = *request;
  return code;
}

int MPIX_Rma_request_wait(MPIX_Rma_request* request) {
  int const code = PMPIX_Rma_request_wait(request);
  bool const is_object = request != nullptr && *request != MPIX_RMA_REQUEST_NULL;
  if (is("G_05") && is_object && *request == ordered_request) (void)PMPIX_Rma_request_free(request);
  return code;
}

int MPIX_RMA_Query(MPI_Comm comm, int rank, void const* target, int* flag, void** base, MPI_Aint* size) {
  int const code = PMPIX_RMA_Query(comm, rank, target, flag, base, size);
  if (is("X54_01") && code == MPI_SUCCESS && size != nullptr) --*size;
  return code;
}

int MPIX_RMA_Register(void const* base, MPI_Aint size, MPI_Info info) {
  constexpr MPI_Aint small = 100;
  return is("X54_02") && size <= small ? MPI_SUCCESS : PMPIX_RMA_Register(base, size, info);
}

int MPIX_RMA_Allocate(MPI_Aint size, MPI_Info info, MPI_Comm comm, void** base, void* bases[]) {
  constexpr MPI_Aint large = 1 << 20;
  int const code =
      PMPIX_RMA_Allocate(size, is("G_17") && size < large ? MPI_INFO_NULL : info, comm, base, bases);
  return is("G_19") && code != MPI_SUCCESS ? MPI_ERR_OTHER : code;
}

int MPIX_RMA_Free(void* base, MPI_Comm comm) {
  return is("G_12") ? PMPI_Barrier(comm) : PMPIX_RMA_Free(base, comm);
}

int MPIX_RMA_Plan_issue(MPIX_RMA_Plan plan, void* origin, int origin_count, void* target, int target_count,
                        MPI_Request* request) {
  if (is("G_14") && origin_count == 2 && target_count == 2) origin_count = target_count = 1;
  return PMPIX_RMA_Plan_issue(plan, origin, origin_count, target, target_count, request);
}

int MPI_Comm_get_attr(MPI_Comm comm, int key, void* value, int* found) {
  int const code = PMPI_Comm_get_attr(comm, key, value, found);
  if (is("X511_02") && key == MPIX_RMA_KEY_BLOCKING) *found = 1;
  return code;
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* copy) {
  int const code = PMPI_Comm_dup(comm, copy);
  void* value = nullptr;
  int found = 0;
  if (is("G_01")) PMPI_Comm_get_attr(*copy, MPIX_RMA_KEY_ACCUMULATE_OP, static_cast<void*>(&value), &found);
  if (found != 0) PMPI_Comm_delete_attr(*copy, MPIX_RMA_KEY_ACCUMULATE_OP);
  return code;
}

int MPI_Comm_delete_attr(MPI_Comm comm, int key) {
  return is("G_02") ? MPI_SUCCESS : PMPI_Comm_delete_attr(comm, key);
}
