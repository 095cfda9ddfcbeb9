/// MPIX_RMA_xfer in its three forms: the common cases in a few instructions, the others on to the general way.
#include <cstdint>

#include "include/mpix_rma.h"
#include "mpix/error/error.hpp"
#include "mpix/request/native_attributes.hpp"
#include "mpix/request/native_request.hpp"
#include "mpix/xfer/call.hpp"
#include "mpix/xfer/transfer.hpp"

namespace mpix {

namespace {

constexpr std::uint64_t bits_of(MPIX_RMA_Attributes const* attributes) noexcept {
  return attributes != nullptr ? attributes->set : 0;
}

__attribute__((noinline)) void finish_with_request(std::uint64_t set, MPI_Request* request) {
  finish_direct(set);
  if (request != nullptr) *request = completed_request();
}

/// Put or get of contiguous elements of one datatype to mapped memory. False, with nothing done and nothing checked
/// for good, in every other case. Takes only what is known already, so that the code has no calls and saves no
/// registers.
inline bool xfer_directly(MPIX_RMA_Op op, void* origin, int count, MPI_Datatype datatype, int rank,
                          void* target_addr, MPI_Request* request, Communicator const& communicator,
                          MPIX_RMA_Attributes const* attributes) {
  std::uint64_t const set = communicator.attribute_word() | bits_of(attributes);
  Datatype const* const type = Datatype::find_known(datatype);
  Target* const target = communicator.known_target(rank);
  if (set != 0 && (set & ~free_when_direct) != 0) return false;
  if (type == nullptr || target == nullptr) return false;
  if (!type->is_contiguous() || count <= 0 || origin == nullptr) return false;
  if (request != nullptr && native_objects.load(std::memory_order_relaxed) != 0) return false;
  std::size_t const bytes = type->size() * static_cast<std::size_t>(count);
  auto const address = reinterpret_cast<RemoteAddress>(target_addr);
  if (op == MPIX_RMA_PUT) {
    if (!try_direct<Direction::put>(*target, origin, address, bytes)) return false;
  } else if (op == MPIX_RMA_GET) {
    if ((set & MPIX_RMA_ATTR_ORDERING) != 0) return false;
    if (!try_direct<Direction::get>(*target, origin, address, bytes)) return false;
  } else {
    return false;
  }
  if (set != 0 || request != nullptr) finish_with_request(set, request);
  return true;
}

/// The same for the sum of contiguous elements of one datatype.
bool accumulate_directly(XferCall const& call, MPI_Request* request, Communicator const& communicator) {
  std::uint64_t const set = communicator.attribute_word() | bits_of(call.attributes);
  Datatype const* const type = Datatype::find_known(call.origin_type);
  Target* const target = communicator.known_target(call.rank);
  if ((set & ~free_when_direct) != 0 || type == nullptr || target == nullptr) return false;
  if (call.origin_type != call.target_type || call.origin_count != call.target_count || call.origin_count <= 0)
    return false;
  if (!type->is_contiguous() || !type->has_sum() || call.origin == nullptr) return false;
  if (request != nullptr && native_objects.load(std::memory_order_relaxed) != 0) return false;
  std::size_t const bytes = type->size() * static_cast<std::size_t>(call.origin_count);
  engine::Reduction const sum{type->flat().element, engine::Operation::sum, false, nullptr};
  if (!try_direct_accumulate(*target, sum, call.origin, reinterpret_cast<RemoteAddress>(call.target), bytes))
    return false;
  if (set != 0 || request != nullptr) finish_with_request(set, request);
  return true;
}

/// Everything else. The arguments are the call's own, in its order, so that they stay where they are.
__attribute__((noinline)) int xfer_slowly(MPIX_RMA_Op op, void* origin_addr, int origin_count,
                                          MPI_Datatype origin_datatype, int target_rank, void* target_addr,
                                          int target_count, MPI_Datatype target_datatype,
                                          MPI_Request* request, MPI_Comm* communicator, void* rma_attr_val) {
  Communicator* const state = communicator != nullptr ? Communicator::find(*communicator) : nullptr;
  if (state == nullptr) return raise_unusable("MPIX_RMA_xfer", communicator);
  XferCall const call{op,
                      origin_addr,
                      origin_count,
                      origin_datatype,
                      target_rank,
                      target_addr,
                      target_count,
                      target_datatype,
                      static_cast<MPIX_RMA_Attributes const*>(rma_attr_val)};
  if (op == MPIX_RMA_ACCUMULATE && accumulate_directly(call, request, *state)) return MPI_SUCCESS;
  return xfer_generally(call, RequestSlot(request), *state);
}

/// The first two forms.
inline int xfer(MPIX_RMA_Op op, void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                int target_rank, void* target_addr, int target_count, MPI_Datatype target_datatype,
                MPI_Request* request, MPI_Comm* communicator, void* rma_attr_val) {
  if (communicator != nullptr && origin_count == target_count && origin_datatype == target_datatype)
      [[likely]] {
    Communicator const* const state = Communicator::find_known(*communicator);
    if (state != nullptr &&
        xfer_directly(op, origin_addr, origin_count, origin_datatype, target_rank, target_addr, request,
                      *state, static_cast<MPIX_RMA_Attributes const*>(rma_attr_val))) {
      return MPI_SUCCESS;
    }
  }
  return xfer_slowly(op, origin_addr, origin_count, origin_datatype, target_rank, target_addr, target_count,
                     target_datatype, request, communicator, rma_attr_val);
}

}  // namespace
}  // namespace mpix

int MPIX_RMA_xfer(MPIX_RMA_Op op, void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                  int target_rank, void* target_addr, int target_count, MPI_Datatype target_datatype,
                  MPI_Request* request, MPI_Comm* communicator, void* rma_attr_val) {
  return mpix::xfer(op, origin_addr, origin_count, origin_datatype, target_rank, target_addr, target_count,
                    target_datatype, request, communicator, rma_attr_val);
}

int MPIX_RMA_xfer_req(MPIX_RMA_Op op, void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                      int target_rank, void* target_addr, int target_count, MPI_Datatype target_datatype,
                      MPI_Request* request, MPI_Comm* communicator) {
  return mpix::xfer(op, origin_addr, origin_count, origin_datatype, target_rank, target_addr, target_count,
                    target_datatype, request, communicator, nullptr);
}

int MPIX_RMA_xfer_rma(MPIX_RMA_Op op, void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                      int target_rank, void* target_addr, int target_count, MPI_Datatype target_datatype,
                      MPIX_Rma_request* request, MPI_Comm* communicator) {
  if (request == nullptr) {
    return mpix::xfer(op, origin_addr, origin_count, origin_datatype, target_rank, target_addr, target_count,
                      target_datatype, nullptr, communicator, nullptr);
  }
  using namespace mpix;
  Communicator* const state = communicator != nullptr ? Communicator::find(*communicator) : nullptr;
  if (state == nullptr) return raise_unusable("MPIX_RMA_xfer_rma", communicator);
  XferCall const call{op,          origin_addr,  origin_count,    origin_datatype, target_rank,
                      target_addr, target_count, target_datatype, nullptr};
  return xfer_generally(call, RequestSlot(request), *state);
}
