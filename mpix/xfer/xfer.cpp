/// MPIX_RMA_xfer in its three forms, each with int and MPI_Count: common cases in a few instructions, all
/// others by the general path.
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "engine/sync/access_order.hpp"
#include "include/mpix_rma.h"
#include "mpix/error/error.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/request/native_attributes.hpp"
#include "mpix/request/native_request.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/runtime/profiling.hpp"
#include "mpix/xfer/call.hpp"
#include "mpix/xfer/target_cache.hpp"
#include "mpix/xfer/transfer.hpp"

MPIX_PROFILED(MPIX_RMA_xfer)
MPIX_PROFILED(MPIX_RMA_xfer_req)
MPIX_PROFILED(MPIX_RMA_xfer_rma)
MPIX_PROFILED(MPIX_RMA_xfer_c)
MPIX_PROFILED(MPIX_RMA_xfer_req_c)
MPIX_PROFILED(MPIX_RMA_xfer_rma_c)

namespace mpixrma {

namespace {

/// Tail-called, so that the fast path needs no stack frame.
__attribute__((noinline)) int copy_and_succeed(std::byte* to, std::byte const* from,
                                               std::size_t bytes) noexcept {
  engine::copy_bytes(to, from, bytes);
  return MPI_SUCCESS;
}

/// Tail-called, as copy_and_succeed().
__attribute__((noinline)) int add_and_succeed(engine::ElementType element, std::byte* to,
                                              std::byte const* from, std::size_t bytes) noexcept {
  engine::accumulate_contiguous({.type = element, .operation = engine::ReduceOp::sum}, to, from, bytes);
  return MPI_SUCCESS;
}

inline int copy_last(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  if (bytes != sizeof(std::uint64_t)) return copy_and_succeed(to, from, bytes);
  std::memcpy(to, from, sizeof(std::uint64_t));
  return MPI_SUCCESS;
}

inline int add_last(engine::ElementType element, std::byte* to, std::byte const* from,
                    std::size_t bytes) noexcept {
  if (element != engine::ElementType::float64 || bytes != sizeof(double))
    return add_and_succeed(element, to, from, bytes);
  double sum;
  double addend;
  std::memcpy(&sum, to, sizeof sum);
  std::memcpy(&addend, from, sizeof addend);
  sum += addend;
  std::memcpy(to, &sum, sizeof sum);
  return MPI_SUCCESS;
}

/// The memory of a transfer after all checks.
struct MappedTransfer {
  std::byte* local;
  std::byte* remote;
  std::size_t bytes;
};

/// Whether loads and stores alone, with order_before_store() before them, satisfy the attributes: no fence
/// after them and no wait before them is needed.
inline bool access_satisfies(MPIX_RMA_Op op, std::uint64_t attribute_bits) noexcept {
  std::uint64_t const more = op == MPIX_RMA_PUT ? 0 : MPIX_RMA_ATTR_ORDERING;
  return (attribute_bits & (slow_path_attributes | MPIX_RMA_ATTR_REMOTE_COMPLETION | more)) == 0;
}

/// Resolves a transfer without request by the cached target `recent`, which may be null, and orders an
/// ordered transfer behind earlier stores. Returns nullptr if the cached target does not serve the call; then
/// the caller must check all arguments. Direct access to the target's peer may be guarded.
template <typename Count>
inline CachedTarget const* resolve_cached_transfer(CachedTarget const* recent, MPIX_RMA_Op op, void* origin,
                                                   Count count, void* target_addr,
                                                   MPIX_RMA_Attributes const* attributes,
                                                   MappedTransfer* sides) {
  if (recent == nullptr) return nullptr;
  std::uint64_t const attribute_bits = recent->communicator->attribute_word() | bits_of(attributes);
  if (attribute_bits != 0) {
    if (!access_satisfies(op, attribute_bits)) return nullptr;
    engine::order_before_store((attribute_bits & MPIX_RMA_ATTR_ORDERING) != 0);
  }
  if (count <= 0 || origin == nullptr) return nullptr;
  if (!multiply(recent->element_bytes, count, &sides->bytes)) return nullptr;
  sides->remote = recent->segment.translate(reinterpret_cast<RemoteAddress>(target_addr), sides->bytes);
  if (sides->remote == nullptr) return nullptr;
  sides->local = static_cast<std::byte*>(origin);
  return recent;
}

/// Whether transfer_traced() can carry out the operation with a resolved target now.
inline bool can_trace(MPIX_RMA_Op op, CachedTarget const& recent) noexcept {
  bool const has_kernel = op == MPIX_RMA_PUT || op == MPIX_RMA_GET ||
                          (op == MPIX_RMA_ACCUMULATE && recent.sum_element != engine::ElementType::none);
  return has_kernel && direct_recorder() != nullptr && !recent.peer->direct_access_is_deferred();
}

/// Transfers to the cached target while a trace is written, and records the transfer.
__attribute__((noinline)) int transfer_traced(MPIX_RMA_Op op, CachedTarget const& recent,
                                              MappedTransfer sides) noexcept {
  engine::Recorder& recorder = *direct_recorder();
  std::uint64_t const began = recorder.now();
  auto traced = engine::TracedOp::put;
  if (op == MPIX_RMA_PUT) {
    copy_last(sides.remote, sides.local, sides.bytes);
  } else if (op == MPIX_RMA_GET) {
    copy_last(sides.local, sides.remote, sides.bytes);
    traced = engine::TracedOp::get;
  } else {
    add_last(recent.sum_element, sides.remote, sides.local, sides.bytes);
    traced = engine::TracedOp::accumulate;
  }
  recorder.add_direct(began, recent.peer->process(), traced, sides.bytes);
  return MPI_SUCCESS;
}

void finish_with_request(std::uint64_t attribute_bits, MPI_Request* request) {
  finish_direct(attribute_bits);
  if (request != nullptr) *request = completed_request();
}

/// A call that fulfils the preconditions of all fast paths: the same contiguous elements on both sides,
/// datatype and target known already, and no attributes but atomicity and those that the direct path
/// satisfies.
struct FastPath {
  Datatype const* type;
  Target* target;
  std::uint64_t attribute_bits;
  std::size_t bytes;
};

/// Checks the preconditions, and orders an ordered transfer behind earlier stores. Returns false if a
/// precondition does not hold; then the caller must check all arguments again.
inline bool check_fast_path(XferCall const& call, MPI_Request const* request,
                            Communicator const& communicator, FastPath* fast) {
  Datatype const* const type = Datatype::find_known(call.origin_type);
  Target* const target = communicator.known_target(call.rank);
  std::uint64_t const attribute_bits = communicator.attribute_word() | bits_of(call.attributes);
  if (attribute_bits != 0) {
    if ((attribute_bits & slow_path_attributes & ~MPIX_RMA_ATTR_ATOMICITY) != 0) return false;
    engine::order_before_store((attribute_bits & MPIX_RMA_ATTR_ORDERING) != 0);
  }
  if (type == nullptr || target == nullptr || !type->is_contiguous()) return false;
  if (call.origin_type != call.target_type || call.origin_count != call.target_count) return false;
  if (call.origin_count <= 0 || call.origin_count > type->max_count() || call.origin == nullptr) return false;
  if (request != nullptr && native_objects.load(std::memory_order_relaxed) != 0) return false;
  *fast = {type, target, attribute_bits, type->size() * static_cast<std::size_t>(call.origin_count)};
  return true;
}

/// Executes `operation`, whose buffers are still to be set, with ATOMICITY.
bool atomic_fast_path(FastPath const& fast, void* origin, RemoteAddress address, RmaOp& operation) {
  operation.flags = OpFlags::atomic;
  operation.origin = static_cast<std::byte*>(origin);
  operation.target = address;
  operation.origin_layout = Layout::contiguous(fast.bytes);
  operation.target_layout = operation.origin_layout;
  return try_direct_atomic(*fast.target, operation);
}

template <OpKind kind>
inline bool copy_fast_path(FastPath const& fast, void* origin, RemoteAddress address) {
  if ((fast.attribute_bits & MPIX_RMA_ATTR_ATOMICITY) == 0)
    return try_direct<kind>(*fast.target, origin, address, fast.bytes);
  RmaOp copy;
  copy.kind = kind;
  return atomic_fast_path(fast, origin, address, copy);
}

inline bool add_fast_path(FastPath const& fast, void* origin, RemoteAddress address) {
  if (!fast.type->defines(engine::ReduceOp::sum)) return false;
  engine::ElementType const element = fast.type->flat().element;
  if ((fast.attribute_bits & MPIX_RMA_ATTR_ATOMICITY) == 0)
    return try_direct_accumulate(*fast.target, {.type = element, .operation = engine::ReduceOp::sum}, origin,
                                 address, fast.bytes);
  RmaOp update = engine::update_with(engine::ReduceOp::sum, element);
  return atomic_fast_path(fast, origin, address, update);
}

/// Appends the transfer, without a request, to the batch that is being filled for the target, if the transfer
/// continues the last run in that batch.
bool append_fast_path(XferCall const& call, FastPath const& fast, RemoteAddress address) {
  bool const put = call.operation == MPIX_RMA_PUT;
  if (!put && call.operation != MPIX_RMA_ACCUMULATE) return false;
  if ((fast.attribute_bits & ~std::uint64_t{MPIX_RMA_ATTR_ORDERING}) != 0 || address == 0) return false;
  if (!put && !fast.type->defines(engine::ReduceOp::sum)) return false;
  engine::RunOperation const operation{.kind = put ? OpKind::put : OpKind::update,
                                       .type = fast.type->flat().element,
                                       .context = fast.target->context,
                                       .flags = fast.attribute_bits != 0 ? OpFlags::ordered : OpFlags::none,
                                       .origin = static_cast<std::byte const*>(call.origin),
                                       .target = address,
                                       .bytes = fast.bytes};
  std::uint64_t const sequence = engine_of_process().continue_run(*fast.target->peer, operation);
  if (sequence != 0) fast.target->outstanding.raise(sequence);
  return sequence != 0;
}

/// Caches the target of a successful transfer for transfer_traced(), if its elements are contiguous and its
/// memory is mapped.
void cache_traced_target(XferCall const& call, Communicator const& communicator) {
  Datatype const* const type = Datatype::find_known(call.origin_type);
  Target* const target = communicator.known_target(call.rank);
  if (type == nullptr || target == nullptr || !type->is_contiguous() || call.origin_count <= 0) return;
  auto const address = reinterpret_cast<RemoteAddress>(call.target);
  if (target->peer->translate_traced(address, 1) != nullptr)
    cache_target(communicator, *type, *target, address);
}

/// Transfers by load and store, or as a part of a batch. Returns false if that is not possible; then nothing
/// is done, and the caller must check all arguments again.
bool try_fast_path(XferCall const& call, MPI_Request* request, Communicator const& communicator) {
  FastPath fast;
  if (!check_fast_path(call, request, communicator, &fast)) return false;
  auto const address = reinterpret_cast<RemoteAddress>(call.target);
  bool done = false;
  switch (call.operation) {
    case MPIX_RMA_PUT: done = copy_fast_path<OpKind::put>(fast, call.origin, address); break;
    case MPIX_RMA_GET:
      // An ordered get may have to wait for earlier puts.
      done = (fast.attribute_bits & MPIX_RMA_ATTR_ORDERING) == 0 &&
             copy_fast_path<OpKind::get>(fast, call.origin, address);
      break;
    case MPIX_RMA_ACCUMULATE: done = add_fast_path(fast, call.origin, address); break;
    default: break;
  }
  if (!done) return request == nullptr && append_fast_path(call, fast, address);
  if (fast.attribute_bits != 0 || request != nullptr) finish_with_request(fast.attribute_bits, request);
  if (request == nullptr && access_satisfies(call.operation, fast.attribute_bits))
    cache_target(communicator, *fast.type, *fast.target, address);
  return true;
}

/// The forms of the call in the C interface: with an MPI_Request and an attributes argument, with an
/// MPI_Request whose object carries the attributes, or with an MPIX_Rma_request. Each form exists for counts
/// of two types.
enum class Form { with_attributes, with_request, with_rma_request };

template <typename Count>
constexpr char const* name_of(Form form) noexcept {
  constexpr char const* names[][2] = {{"MPIX_RMA_xfer", "MPIX_RMA_xfer_c"},
                                      {"MPIX_RMA_xfer_req", "MPIX_RMA_xfer_req_c"},
                                      {"MPIX_RMA_xfer_rma", "MPIX_RMA_xfer_rma_c"}};
  return names[static_cast<int>(form)][std::is_same_v<Count, MPI_Count> ? 1 : 0];
}

/// The remaining fast paths, then the general path. The arguments are those of the public call, in order, so
/// that they stay in registers.
template <Form form, typename Count>
__attribute__((noinline)) int xfer_slow_path(MPIX_RMA_Op op, void* origin_addr, Count origin_count,
                                             MPI_Datatype origin_datatype, int target_rank, void* target_addr,
                                             Count target_count, MPI_Datatype target_datatype,
                                             MPI_Request* request, MPI_Comm* communicator,
                                             MPIX_RMA_Attributes const* rma_attr_val) try {
  Communicator* const state = communicator != nullptr ? Communicator::find(*communicator) : nullptr;
  if (state == nullptr) return raise_unusable(name_of<Count>(form), communicator);
  XferCall const call{name_of<Count>(form), op,
                      origin_addr,          origin_count,
                      origin_datatype,      target_rank,
                      target_addr,          target_count,
                      target_datatype,      static_cast<MPIX_RMA_Attributes const*>(rma_attr_val)};
  if (try_fast_path(call, request, *state)) return MPI_SUCCESS;
  constexpr auto use = form == Form::with_request ? RequestArgument::inout : RequestArgument::out;
  int const code = xfer_general_path(call, RequestSlot(request, use), *state);
  if (code == MPI_SUCCESS && direct_recorder() != nullptr) [[unlikely]]
    cache_traced_target(call, *state);
  return code;
} catch (...) {
  return raise_exception(communicator, name_of<Count>(form));
}

template <Form form, typename Count>
inline int xfer(MPIX_RMA_Op op, void* origin_addr, Count origin_count, MPI_Datatype origin_datatype,
                int target_rank, void* target_addr, Count target_count, MPI_Datatype target_datatype,
                MPI_Request* request, MPI_Comm* communicator, MPIX_RMA_Attributes const* rma_attr_val) {
  MappedTransfer sides;
  if (origin_count == target_count && origin_datatype == target_datatype && request == nullptr &&
      communicator != nullptr) [[likely]] {
    CachedTarget const* const recent =
        resolve_cached_transfer(find_cached_target(*communicator, origin_datatype, target_rank), op,
                                origin_addr, origin_count, target_addr, rma_attr_val, &sides);
    if (recent != nullptr) [[likely]] {
      if (recent->peer->direct_access_is_guarded()) [[unlikely]] {
        if (can_trace(op, *recent)) return transfer_traced(op, *recent, sides);
      } else {
        if (op == MPIX_RMA_PUT) return copy_last(sides.remote, sides.local, sides.bytes);
        if (op == MPIX_RMA_GET) return copy_last(sides.local, sides.remote, sides.bytes);
        if (op == MPIX_RMA_ACCUMULATE && recent->sum_element != engine::ElementType::none)
          return add_last(recent->sum_element, sides.remote, sides.local, sides.bytes);
      }
    }
  }
  return xfer_slow_path<form>(op, origin_addr, origin_count, origin_datatype, target_rank, target_addr,
                              target_count, target_datatype, request, communicator, rma_attr_val);
}

/// The form of the call with an MPIX_Rma_request.
template <typename Count>
inline int xfer_own(MPIX_RMA_Op op, void* origin_addr, Count origin_count, MPI_Datatype origin_datatype,
                    int target_rank, void* target_addr, Count target_count, MPI_Datatype target_datatype,
                    MPIX_Rma_request* request, MPI_Comm* communicator) try {
  if (request == nullptr) {
    return xfer<Form::with_rma_request>(op, origin_addr, origin_count, origin_datatype, target_rank,
                                        target_addr, target_count, target_datatype, nullptr, communicator,
                                        nullptr);
  }
  char const* const name = name_of<Count>(Form::with_rma_request);
  Communicator* const state = communicator != nullptr ? Communicator::find(*communicator) : nullptr;
  if (state == nullptr) return raise_unusable(name, communicator);
  XferCall const call{name,        op,          origin_addr,  origin_count,    origin_datatype,
                      target_rank, target_addr, target_count, target_datatype, nullptr};
  return xfer_general_path(call, RequestSlot(request), *state);
} catch (...) {
  return raise_exception(communicator, name_of<Count>(Form::with_rma_request));
}

}  // namespace
}  // namespace mpixrma

int MPIX_RMA_xfer(MPIX_RMA_Op op, void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                  int target_rank, void* target_addr, int target_count, MPI_Datatype target_datatype,
                  MPI_Request* request, MPI_Comm* communicator, MPIX_RMA_Attributes const* rma_attr_val) {
  return mpixrma::xfer<mpixrma::Form::with_attributes>(op, origin_addr, origin_count, origin_datatype,
                                                       target_rank, target_addr, target_count,
                                                       target_datatype, request, communicator, rma_attr_val);
}

int MPIX_RMA_xfer_req(MPIX_RMA_Op op, void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                      int target_rank, void* target_addr, int target_count, MPI_Datatype target_datatype,
                      MPI_Request* request, MPI_Comm* communicator) {
  return mpixrma::xfer<mpixrma::Form::with_request>(op, origin_addr, origin_count, origin_datatype,
                                                    target_rank, target_addr, target_count, target_datatype,
                                                    request, communicator, nullptr);
}

int MPIX_RMA_xfer_rma(MPIX_RMA_Op op, void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                      int target_rank, void* target_addr, int target_count, MPI_Datatype target_datatype,
                      MPIX_Rma_request* request, MPI_Comm* communicator) {
  return mpixrma::xfer_own(op, origin_addr, origin_count, origin_datatype, target_rank, target_addr,
                           target_count, target_datatype, request, communicator);
}

int MPIX_RMA_xfer_c(MPIX_RMA_Op op, void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                    int target_rank, void* target_addr, MPI_Count target_count, MPI_Datatype target_datatype,
                    MPI_Request* request, MPI_Comm* communicator, MPIX_RMA_Attributes const* rma_attr_val) {
  return mpixrma::xfer<mpixrma::Form::with_attributes>(op, origin_addr, origin_count, origin_datatype,
                                                       target_rank, target_addr, target_count,
                                                       target_datatype, request, communicator, rma_attr_val);
}

int MPIX_RMA_xfer_req_c(MPIX_RMA_Op op, void* origin_addr, MPI_Count origin_count,
                        MPI_Datatype origin_datatype, int target_rank, void* target_addr,
                        MPI_Count target_count, MPI_Datatype target_datatype, MPI_Request* request,
                        MPI_Comm* communicator) {
  return mpixrma::xfer<mpixrma::Form::with_request>(op, origin_addr, origin_count, origin_datatype,
                                                    target_rank, target_addr, target_count, target_datatype,
                                                    request, communicator, nullptr);
}

int MPIX_RMA_xfer_rma_c(MPIX_RMA_Op op, void* origin_addr, MPI_Count origin_count,
                        MPI_Datatype origin_datatype, int target_rank, void* target_addr,
                        MPI_Count target_count, MPI_Datatype target_datatype, MPIX_Rma_request* request,
                        MPI_Comm* communicator) {
  return mpixrma::xfer_own(op, origin_addr, origin_count, origin_datatype, target_rank, target_addr,
                           target_count, target_datatype, request, communicator);
}
