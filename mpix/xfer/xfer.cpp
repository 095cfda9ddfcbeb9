/// MPIX_RMA_xfer.
#include <cstdint>

#include "include/mpix_rma.h"
#include "mpix/comm/communicator.hpp"
#include "mpix/datatype/datatype.hpp"
#include "mpix/datatype/predefined.hpp"
#include "mpix/error/error.hpp"
#include "mpix/request/request.hpp"
#include "mpix/runtime/runtime.hpp"
#include "mpix/xfer/attributes.hpp"
#include "mpix/xfer/submit.hpp"
#include "mpix/xfer/transfer.hpp"

namespace mpix {

namespace {

/// The arguments of one call, as given.
struct XferCall {
  MPIX_RMA_Op operation;
  void* origin;
  int origin_count;
  MPI_Datatype origin_type;
  int rank;
  void* target;
  int target_count;
  MPI_Datatype target_type;
  MPI_Request* request;
  MPIX_RMA_Attributes const* attributes;
};

/// Attributes that a transfer by load and store satisfies by itself, up to the final store fence.
constexpr std::uint64_t free_when_direct =
    MPIX_RMA_ATTR_ORDERING | MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_REMOTE_COMPLETION |
    MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE | MPIX_RMA_ATTR_TARGET_COMMUNICATABLE;

/// What a direct transfer still has to do for attributes and requests.
__attribute__((noinline)) void finish_direct(std::uint64_t set, MPI_Request* request) {
  if ((set & MPIX_RMA_ATTR_REMOTE_COMPLETION) != 0) std::atomic_thread_fence(std::memory_order_seq_cst);
  if (request != nullptr) *request = completed_request();
}

/// The common case in a few instructions: put or get of contiguous elements of one datatype to mapped
/// memory. False, with nothing done and nothing checked for good, in every other case. Takes only what is
/// known already, so that the code has no calls and saves no registers.
inline bool xfer_directly(MPIX_RMA_Op op, void* origin, int count, MPI_Datatype datatype, int rank,
                          void* target_addr, MPI_Request* request, Communicator const& communicator,
                          MPIX_RMA_Attributes const* attributes) {
  std::uint64_t const set = effective(attributes, communicator);
  Datatype const* const type = Datatype::find_known(datatype);
  Target* const target = communicator.known_target(rank);
  if ((set & ~free_when_direct) != 0 || type == nullptr || target == nullptr) return false;
  if (!type->is_contiguous() || count <= 0 || origin == nullptr) return false;
  std::size_t const bytes = type->size() * static_cast<std::size_t>(count);
  auto const address = reinterpret_cast<RemoteAddress>(target_addr);
  if (op == MPIX_RMA_PUT) {
    if (!try_direct<Direction::put>(*target, origin, address, bytes)) return false;
  } else if (op == MPIX_RMA_GET) {
    if (!try_direct<Direction::get>(*target, origin, address, bytes)) return false;
  } else {
    return false;
  }
  if (set != 0 || request != nullptr) finish_direct(set, request);
  return true;
}

/// The same for the sum of contiguous elements of one datatype.
bool accumulate_directly(XferCall const& call, Communicator const& communicator) {
  std::uint64_t const set = effective(call.attributes, communicator);
  bool const atomic = (set & MPIX_RMA_ATTR_ATOMICITY) != 0;
  Datatype const* const type = Datatype::find_known(call.origin_type);
  Target* const target = communicator.known_target(call.rank);
  if ((set & ~(free_when_direct | MPIX_RMA_ATTR_ATOMICITY)) != 0 || type == nullptr || target == nullptr)
    return false;
  if (call.origin_type != call.target_type || call.origin_count != call.target_count ||
      call.origin_count <= 0)
    return false;
  if (!type->is_contiguous() || !type->has_sum() || call.origin == nullptr) return false;
  std::size_t const bytes = type->size() * static_cast<std::size_t>(call.origin_count);
  engine::Reduction const sum{type->flat().element, engine::Operation::sum, atomic, nullptr};
  if (!try_direct_accumulate(*target, sum, call.origin, reinterpret_cast<RemoteAddress>(call.target), bytes,
                             atomic)) {
    return false;
  }
  if (set != 0 || call.request != nullptr) finish_direct(set, call.request);
  return true;
}

/// MPI_BOTTOM is an address for a datatype with absolute displacements only.
bool is_null_buffer(void const* address, Datatype const& type, std::size_t bytes) noexcept {
  return address == nullptr && bytes != 0 && type.is_contiguous();
}

/// Error code of the arguments, MPI_SUCCESS if they are sound.
int check(XferCall const& call) {
  if (call.operation < MPIX_RMA_PUT || call.operation > MPIX_RMA_ACCUMULATE) return MPI_ERR_OP;
  if (call.origin_count < 0 || call.target_count < 0) return MPI_ERR_COUNT;
  if (Datatype::find(call.origin_type) == nullptr || Datatype::find(call.target_type) == nullptr)
    return MPI_ERR_TYPE;
  if (!are_known(call.attributes)) return MPI_ERR_ARG;
  return MPI_SUCCESS;
}

/// Fills in what an accumulate does; error code if the types and the operation do not fit.
int choose_reduction(XferCall const& call, std::uint64_t set, FlatType const& origin, FlatType const& target,
                     engine::Reduction* reduction) {
  bool const same = origin.base == target.base ||
                    (origin.element == target.element && origin.element != engine::ElementType::none);
  if (origin.mixed || target.mixed || !same) return MPI_ERR_TYPE;
  auto const operation = (set & MPIX_RMA_ATTR_ACCUMULATE_OP) != 0
                             ? operation_of(call.attributes->accumulate_op)
                             : engine::Operation::sum;
  if (!operation) return MPI_ERR_OP;
  reduction->type = origin.element;
  reduction->operation = *operation;
  reduction->scale =
      (set & MPIX_RMA_ATTR_ACCUMULATE_SCALE) != 0 ? call.attributes->accumulate_scale : nullptr;
  if ((set & MPIX_RMA_ATTR_ACCUMULATE_SCALE) != 0 && reduction->scale == nullptr) return MPI_ERR_ARG;
  return engine::is_valid(*reduction) ? MPI_SUCCESS : MPI_ERR_OP;
}

int xfer_generally(XferCall const& call, Communicator& communicator) {
  MPI_Comm const comm = communicator.handle();
  if (int const code = check(call); code != MPI_SUCCESS) return raise(comm, code);
  if (call.rank == MPI_PROC_NULL) {
    if (call.request != nullptr) *call.request = completed_request();
    return MPI_SUCCESS;
  }
  if (call.rank < 0 || call.rank >= communicator.size()) return raise(comm, MPI_ERR_RANK);
  Target* const target = communicator.target(call.rank);
  if (target == nullptr) return raise(comm, keys().transport_class);

  Datatype const& origin_type = *Datatype::find(call.origin_type);
  Datatype const& target_type = *Datatype::find(call.target_type);
  engine::Dimension origin_dimensions[engine::max_dimensions];
  engine::Dimension target_dimensions[engine::max_dimensions];
  engine::Transfer transfer;
  transfer.origin_layout = origin_type.layout(static_cast<std::size_t>(call.origin_count), origin_dimensions);
  transfer.target_layout = target_type.layout(static_cast<std::size_t>(call.target_count), target_dimensions);
  std::size_t const bytes = transfer.origin_layout.size();
  if (bytes != transfer.target_layout.size()) return raise(comm, MPI_ERR_TYPE);
  if (is_null_buffer(call.origin, origin_type, bytes)) return raise(comm, MPI_ERR_BUFFER);
  if (is_null_buffer(call.target, target_type, bytes)) return raise(comm, MPI_ERR_ARG);

  std::uint64_t const set = effective(call.attributes, communicator);
  transfer.direction = call.operation == MPIX_RMA_PUT   ? Direction::put
                       : call.operation == MPIX_RMA_GET ? Direction::get
                                                        : Direction::accumulate;
  transfer.guarantees = guarantees_of(set);
  transfer.origin = static_cast<std::byte*>(call.origin);
  transfer.target = reinterpret_cast<RemoteAddress>(call.target);
  if (transfer.direction == Direction::accumulate && bytes != 0) {
    int const code = choose_reduction(call, set, origin_type.flat(), target_type.flat(), &transfer.reduction);
    if (code != MPI_SUCCESS) return raise(comm, code);
  }
  return submit(communicator, *target, transfer, set, call.request);
}

/// Everything else. The arguments are the call's own, in its order, so that they stay where they are.
__attribute__((noinline)) int xfer_slowly(MPIX_RMA_Op op, void* origin_addr, int origin_count,
                                          MPI_Datatype origin_datatype, int target_rank, void* target_addr,
                                          int target_count, MPI_Datatype target_datatype,
                                          MPI_Request* request, MPI_Comm* communicator, void* rma_attr_val) {
  Communicator* const state = communicator != nullptr ? Communicator::find(*communicator) : nullptr;
  if (state == nullptr) return raise_unusable("MPIX_RMA_xfer", communicator);
  XferCall const call{op,           origin_addr,
                      origin_count, origin_datatype,
                      target_rank,  target_addr,
                      target_count, target_datatype,
                      request,      static_cast<MPIX_RMA_Attributes const*>(rma_attr_val)};
  if (op == MPIX_RMA_ACCUMULATE && accumulate_directly(call, *state)) return MPI_SUCCESS;
  return xfer_generally(call, *state);
}

}  // namespace
}  // namespace mpix

int MPIX_RMA_xfer(MPIX_RMA_Op op, void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                  int target_rank, void* target_addr, int target_count, MPI_Datatype target_datatype,
                  MPI_Request* request, MPI_Comm* communicator, void* rma_attr_val) {
  if (communicator != nullptr && origin_count == target_count && origin_datatype == target_datatype)
      [[likely]] {
    mpix::Communicator const* const state = mpix::Communicator::find_known(*communicator);
    if (state != nullptr &&
        mpix::xfer_directly(op, origin_addr, origin_count, origin_datatype, target_rank, target_addr, request,
                            *state, static_cast<MPIX_RMA_Attributes const*>(rma_attr_val))) {
      return MPI_SUCCESS;
    }
  }
  return mpix::xfer_slowly(op, origin_addr, origin_count, origin_datatype, target_rank, target_addr,
                           target_count, target_datatype, request, communicator, rma_attr_val);
}
