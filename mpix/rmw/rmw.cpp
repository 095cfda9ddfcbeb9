/// MPIX_RMA_rmw.
#include <cstring>
#include <optional>

#include "include/mpix_rma.h"
#include "mpix/comm/communicator.hpp"
#include "mpix/datatype/datatype.hpp"
#include "mpix/error/error.hpp"
#include "mpix/runtime/runtime.hpp"
#include "mpix/xfer/attributes.hpp"
#include "mpix/xfer/submit.hpp"

namespace mpix {

namespace {

std::optional<engine::RmwOperation> operation_of(MPIX_RMW_Op op) noexcept {
  using engine::RmwOperation;
  switch (op) {
    case MPIX_RMW_INC: return RmwOperation::increment;
    case MPIX_RMW_PROD: return RmwOperation::prod;
    case MPIX_RMW_SUM: return RmwOperation::sum;
    case MPIX_RMW_LAND: return RmwOperation::land;
    case MPIX_RMW_LOR: return RmwOperation::lor;
    case MPIX_RMW_LXOR: return RmwOperation::lxor;
    case MPIX_RMW_BAND: return RmwOperation::band;
    case MPIX_RMW_BOR: return RmwOperation::bor;
    case MPIX_RMW_BXOR: return RmwOperation::bxor;
    case MPIX_RMW_SWAP: return RmwOperation::swap;
  }
  return std::nullopt;
}

template <typename Word>
bool fetch_word(Target& target, engine::RmwOperation operation, RemoteAddress address, void const* operand,
                void* result) {
  Word value{};
  Word previous{};
  if (operand != nullptr) std::memcpy(&value, operand, sizeof value);
  if (!try_direct_rmw(target, operation, address, value, &previous)) return false;
  if (result != nullptr) std::memcpy(result, &previous, sizeof previous);
  return true;
}

/// The common case in a few instructions: one integer in mapped memory, no atomicity beyond the element's.
/// False, with nothing done and nothing checked for good, in every other case.
inline bool rmw_directly(MPIX_RMW_Op op, void const* operand, Datatype const& type, void* result,
                         Target& target, RemoteAddress address) {
  auto const operation = op == MPIX_RMW_SUM    ? engine::RmwOperation::sum
                         : op == MPIX_RMW_SWAP ? engine::RmwOperation::swap
                         : op == MPIX_RMW_INC  ? engine::RmwOperation::increment
                                               : engine::RmwOperation::count_;
  if (operand == nullptr && operation != engine::RmwOperation::increment) return false;
  switch (type.atomic_word()) {
    case 8: return fetch_word<std::uint64_t>(target, operation, address, operand, result);
    case 4: return fetch_word<std::uint32_t>(target, operation, address, operand, result);
    default: return false;
  }
}

}  // namespace
}  // namespace mpix

int MPIX_RMA_rmw(MPIX_RMW_Op op, void* operand_addr, int count, MPI_Datatype datatype, void* result_addr,
                 int target_rank, MPI_Aint target_disp, MPI_Request* request, MPI_Comm* communicator,
                 void* rmw_attr_val) {
  using namespace mpix;
  Communicator* const state = communicator != nullptr ? Communicator::find(*communicator) : nullptr;
  if (state == nullptr) return raise_unusable("MPIX_RMA_rmw", communicator);
  MPI_Comm const comm = state->handle();
  auto const* const attributes = static_cast<MPIX_RMA_Attributes const*>(rmw_attr_val);
  std::uint64_t const set = effective(attributes, *state);
  if (count == 1 &&
      (set & ~(MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_REMOTE_COMPLETION | MPIX_RMA_ATTR_ORDERING)) == 0) {
    Datatype const* const type = Datatype::find(datatype);
    Target* const target = state->target(target_rank);
    if (type != nullptr && target != nullptr &&
        rmw_directly(op, operand_addr, *type, result_addr, *target,
                     static_cast<RemoteAddress>(target_disp))) {
      if (request != nullptr) *request = completed_request();
      return MPI_SUCCESS;
    }
  }
  auto const operation = operation_of(op);
  if (!operation) return raise(comm, MPI_ERR_OP);
  if (count < 0) return raise(comm, MPI_ERR_COUNT);
  Datatype const* const type = Datatype::find(datatype);
  if (type == nullptr || !type->is_contiguous() || type->flat().mixed) return raise(comm, MPI_ERR_TYPE);
  if (!engine::is_defined(*operation, type->flat().element)) return raise(comm, MPI_ERR_OP);
  if (!are_known(attributes)) return raise(comm, MPI_ERR_ARG);
  if (target_rank != MPI_PROC_NULL && (target_rank < 0 || target_rank >= state->size()))
    return raise(comm, MPI_ERR_RANK);
  if (count == 0 || target_rank == MPI_PROC_NULL) {
    if (request != nullptr) *request = completed_request();
    return MPI_SUCCESS;
  }
  if (operand_addr == nullptr && *operation != engine::RmwOperation::increment)
    return raise(comm, MPI_ERR_BUFFER);
  if (target_disp == 0) return raise(comm, MPI_ERR_ARG);
  Target* const target = state->target(target_rank);
  if (target == nullptr) return raise(comm, keys().transport_class);

  engine::ReadModifyWrite rmw;
  rmw.operation = *operation;
  rmw.type = type->flat().element;
  std::size_t const element = rmw.type == engine::ElementType::none ? 1 : engine::element_size(rmw.type);
  rmw.count = type->size() * static_cast<std::size_t>(count) / element;
  rmw.guarantees = guarantees_of(set);
  rmw.operand = static_cast<std::byte const*>(operand_addr);
  rmw.result = static_cast<std::byte*>(result_addr);
  rmw.target = static_cast<RemoteAddress>(target_disp);
  return submit(*state, *target, rmw, set, request);
}
