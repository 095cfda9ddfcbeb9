/// All forms of MPIX_RMA_rmw and MPIX_RMA_rmw2.
#include <cstring>
#include <type_traits>

#include "include/mpix_rma.h"
#include "mpix/comm/communicator.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/rmw/call.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/runtime/profiling.hpp"
#include "mpix/runtime/runtime.hpp"
#include "mpix/xfer/call.hpp"
#include "mpix/xfer/target_cache.hpp"

MPIX_PROFILED(MPIX_RMA_rmw)
MPIX_PROFILED(MPIX_RMA_rmw_req)
MPIX_PROFILED(MPIX_RMA_rmw_rma)
MPIX_PROFILED(MPIX_RMA_rmw2)
MPIX_PROFILED(MPIX_RMA_rmw2_req)
MPIX_PROFILED(MPIX_RMA_rmw2_rma)
MPIX_PROFILED(MPIX_RMA_rmw_c)
MPIX_PROFILED(MPIX_RMA_rmw_req_c)
MPIX_PROFILED(MPIX_RMA_rmw_rma_c)
MPIX_PROFILED(MPIX_RMA_rmw2_c)
MPIX_PROFILED(MPIX_RMA_rmw2_req_c)
MPIX_PROFILED(MPIX_RMA_rmw2_rma_c)

namespace mpixrma {

namespace {

using engine::ReduceOp;

constexpr ReduceOp unknown = ReduceOp::count_;

// Outside of the functions, or each call would copy them to the stack.
constexpr ReduceOp rmw_operations[] = {
    ReduceOp::increment, ReduceOp::prod, ReduceOp::sum, ReduceOp::land, ReduceOp::lor,
    ReduceOp::lxor,      ReduceOp::band, ReduceOp::bor, ReduceOp::bxor, ReduceOp::replace,
    ReduceOp::no_op,     ReduceOp::min,  ReduceOp::max};
constexpr ReduceOp rmw2_operations[] = {ReduceOp::mask_swap,       ReduceOp::compare_swap_lt,
                                        ReduceOp::compare_swap_le, ReduceOp::compare_swap_eq,
                                        ReduceOp::compare_swap_ge, ReduceOp::compare_swap_gt,
                                        ReduceOp::compare_swap_ne};

constexpr ReduceOp operation_of(MPIX_RMW_Op op) noexcept {
  return op >= MPIX_RMW_INC && op <= MPIX_RMW_MAX ? rmw_operations[op - MPIX_RMW_INC] : unknown;
}

constexpr ReduceOp operation_of(MPIX_RMW2_Op op) noexcept {
  return op >= MPIX_RMW2_MASK_SWAP && op <= MPIX_RMW2_COMP_SWAP_NE ? rmw2_operations[op - MPIX_RMW2_MASK_SWAP]
                                                                   : unknown;
}

/// The operation and its buffers, as passed to a call.
template <typename Op>
struct Operands {
  Op op;
  void const* operand;
  void const* operand2;
  void* result;
};

/// Updates a mapped word by one CPU instruction. Returns false without side effects if that is impossible.
template <typename Word, typename Op>
inline bool update_word(Operands<Op> const& call, CachedTarget const& recent, RemoteAddress address) {
  if (address % sizeof(Word) != 0) return false;
  // Checked before overlap(), which then compares only the result with null.
  if constexpr (std::is_same_v<Op, MPIX_RMW2_Op>) {
    if (call.op != MPIX_RMW2_COMP_SWAP_E || call.operand == nullptr || call.operand2 == nullptr) return false;
  }
  auto* const word = reinterpret_cast<Word*>(recent.translate_word(address, sizeof(Word)));
  if (word == nullptr) return false;
  if (overlap(call.result, call.operand, sizeof(Word)) || overlap(call.result, call.operand2, sizeof(Word)))
    return false;
  Word operand{};
  Word previous{};
  if constexpr (std::is_same_v<Op, MPIX_RMW2_Op>) {
    Word operand2{};
    std::memcpy(&operand, call.operand, sizeof operand);
    std::memcpy(&operand2, call.operand2, sizeof operand2);
    previous = operand;
    __atomic_compare_exchange_n(word, &previous, operand2, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  } else {
    bool const reads_operand = call.op == MPIX_RMW_SUM || call.op == MPIX_RMW_SWAP;
    if (reads_operand && call.operand == nullptr) return false;
    if (reads_operand) std::memcpy(&operand, call.operand, sizeof operand);
    if (call.op == MPIX_RMW_SUM) {
      previous = __atomic_fetch_add(word, operand, __ATOMIC_SEQ_CST);
    } else if (call.op == MPIX_RMW_SWAP) {
      previous = __atomic_exchange_n(word, operand, __ATOMIC_SEQ_CST);
    } else if (call.op == MPIX_RMW_INC) {
      previous = __atomic_fetch_add(word, Word{1}, __ATOMIC_SEQ_CST);
    } else {
      return false;
    }
  }
  if (call.result != nullptr) std::memcpy(call.result, &previous, sizeof previous);
  return true;
}

/// As update_word(), for a word of the size that `recent` has cached.
template <typename Op>
inline bool update_cached(Operands<Op> const& call, CachedTarget const& recent, RemoteAddress address) {
  if (recent.atomic_word == 8) return update_word<std::uint64_t>(call, recent, address);
  return recent.atomic_word == 4 && update_word<std::uint32_t>(call, recent, address);
}

/// Returns the cached target of the thread's latest operation to this rank, if an update of it by one CPU
/// instruction satisfies the arguments. Returns nullptr in every other case; the caller must then check all
/// arguments. `Count` is a template parameter so that an int count is widened only if needed. Direct access
/// to the target's peer may be guarded.
template <typename Count>
inline CachedTarget const* find_word_target(Count count, MPI_Datatype datatype, int rank,
                                            MPI_Request const* request, MPI_Comm const* comm,
                                            MPIX_RMA_Attributes const* attributes) {
  if (comm == nullptr || request != nullptr || count != 1) return nullptr;
  CachedTarget const* const recent = find_cached_target(*comm, datatype, rank);
  if (recent == nullptr) return nullptr;
  std::uint64_t set = recent->communicator->attribute_word();
  if (attributes != nullptr) {
    if (is_mask(attributes)) [[unlikely]]
      return nullptr;
    set |= attributes->set;
  }
  return (set & slow_path_attributes) == 0 ? recent : nullptr;
}

/// As update_cached(), while a trace is written: also records the update.
template <typename Op>
inline bool update_traced(Operands<Op> const& call, CachedTarget const& recent, RemoteAddress address) {
  engine::Recorder* const recorder = direct_recorder();
  if (recorder == nullptr || recent.peer->direct_access_is_deferred()) return false;
  std::uint64_t const began = recorder->now();
  if (!update_cached(call, recent, address)) return false;
  auto op = engine::TracedOp::compare_and_swap;  // the only one of MPIX_RMA_rmw2
  if constexpr (std::is_same_v<Op, MPIX_RMW_Op>)
    op = engine::traced_update(operation_of(call.op), engine::Fetch{call.result != nullptr});
  recorder->add_direct(began, recent.peer->process(), op, recent.atomic_word);
  return true;
}

/// The common implementation of all forms.
template <typename Request>
__attribute__((noinline)) int rmw_slow_path(RmwCall const& call, Request* request) try {
  constexpr bool is_native = std::is_same_v<Request, MPI_Request>;
  if constexpr (!is_native) {
    if (request == nullptr) return rmw_slow_path(call, static_cast<MPI_Request*>(nullptr));
  }
  Communicator* const state = call.communicator != nullptr ? Communicator::find(*call.communicator) : nullptr;
  if (state == nullptr) return raise_unusable(call.name, call.communicator);
  if constexpr (is_native) {
    if (try_rmw_on_mapped(call, request, *state)) return MPI_SUCCESS;
    return rmw_general_path(call, RequestSlot(request, call.use), *state);
  } else {
    return rmw_general_path(call, RequestSlot(request), *state);
  }
} catch (...) {
  return raise_exception(call.communicator, call.name);
}

template <typename Op, typename Count>
constexpr char const* name_of(RequestArgument use) noexcept {
  constexpr bool wide = std::is_same_v<Count, MPI_Count>;
  bool const req = use == RequestArgument::inout;
  if constexpr (std::is_same_v<Op, MPIX_RMW2_Op>) {
    if (req) return wide ? "MPIX_RMA_rmw2_req_c" : "MPIX_RMA_rmw2_req";
    return wide ? "MPIX_RMA_rmw2_c" : "MPIX_RMA_rmw2";
  } else {
    if (req) return wide ? "MPIX_RMA_rmw_req_c" : "MPIX_RMA_rmw_req";
    return wide ? "MPIX_RMA_rmw_c" : "MPIX_RMA_rmw";
  }
}

/// All cases but the common one. The arguments are those of the public call, in the same order, so that they
/// stay in their registers.
template <RequestArgument use, typename Count>
__attribute__((noinline)) int rmw_uncached(MPIX_RMW_Op op, void const* operand, Count count,
                                           MPI_Datatype datatype, void* result, int rank, MPI_Aint disp,
                                           MPI_Request* request, MPI_Comm* comm,
                                           MPIX_RMA_Attributes const* attributes) {
  return rmw_slow_path({name_of<MPIX_RMW_Op, Count>(use), op, operation_of(op), operand, nullptr, count,
                        datatype, result, rank, disp, comm, attributes, use},
                       request);
}

/// As rmw_uncached(), for an element of a cached target with guarded access.
template <RequestArgument use, typename Count>
__attribute__((noinline)) int rmw_guarded(MPIX_RMW_Op op, void const* operand, CachedTarget const* recent,
                                          MPI_Datatype datatype, void* result, int rank, MPI_Aint disp,
                                          MPI_Request* request, MPI_Comm* comm,
                                          MPIX_RMA_Attributes const* attributes) {
  Operands<MPIX_RMW_Op> const one{op, operand, nullptr, result};
  if (update_traced(one, *recent, static_cast<RemoteAddress>(disp))) return MPI_SUCCESS;
  return rmw_uncached<use>(op, operand, Count{1}, datatype, result, rank, disp, request, comm, attributes);
}

template <RequestArgument use, typename Count>
inline int rmw(MPIX_RMW_Op op, void const* operand, Count count, MPI_Datatype datatype, void* result,
               int rank, MPI_Aint disp, MPI_Request* request, MPI_Comm* comm,
               MPIX_RMA_Attributes const* attributes) {
  CachedTarget const* const recent = find_word_target(count, datatype, rank, request, comm, attributes);
  if (recent != nullptr) [[likely]] {
    if (recent->peer->direct_access_is_guarded()) [[unlikely]]
      return rmw_guarded<use, Count>(op, operand, recent, datatype, result, rank, disp, request, comm,
                                     attributes);
    Operands<MPIX_RMW_Op> const one{op, operand, nullptr, result};
    if (update_cached(one, *recent, static_cast<RemoteAddress>(disp))) [[likely]]
      return MPI_SUCCESS;
  }
  return rmw_uncached<use>(op, operand, count, datatype, result, rank, disp, request, comm, attributes);
}

/// As rmw_guarded(), for MPIX_RMA_rmw2.
template <RequestArgument use, typename Count>
__attribute__((noinline)) int rmw2_guarded(MPIX_RMW2_Op op, void const* operand, Count count,
                                           MPI_Datatype datatype, void const* operand2, void* result,
                                           int rank, MPI_Aint disp, MPI_Request* request, MPI_Comm* comm,
                                           MPIX_RMA_Attributes const* attributes,
                                           CachedTarget const* recent) {
  Operands<MPIX_RMW2_Op> const one{op, operand, operand2, result};
  if (update_traced(one, *recent, static_cast<RemoteAddress>(disp))) return MPI_SUCCESS;
  return rmw_slow_path({name_of<MPIX_RMW2_Op, Count>(use), op, operation_of(op), operand, operand2, count,
                        datatype, result, rank, disp, comm, attributes, use},
                       request);
}

template <RequestArgument use, typename Count>
inline int rmw(MPIX_RMW2_Op op, void const* operand, Count count, MPI_Datatype datatype, void const* operand2,
               void* result, int rank, MPI_Aint disp, MPI_Request* request, MPI_Comm* comm,
               MPIX_RMA_Attributes const* attributes) {
  CachedTarget const* const recent = find_word_target(count, datatype, rank, request, comm, attributes);
  if (recent != nullptr) [[likely]] {
    if (recent->peer->direct_access_is_guarded()) [[unlikely]]
      return rmw2_guarded<use>(op, operand, count, datatype, operand2, result, rank, disp, request, comm,
                               attributes, recent);
    Operands<MPIX_RMW2_Op> const one{op, operand, operand2, result};
    if (update_cached(one, *recent, static_cast<RemoteAddress>(disp))) [[likely]]
      return MPI_SUCCESS;
  }
  return rmw_slow_path({name_of<MPIX_RMW2_Op, Count>(use), op, operation_of(op), operand, operand2, count,
                        datatype, result, rank, disp, comm, attributes, use},
                       request);
}

}  // namespace
}  // namespace mpixrma

int MPIX_RMA_rmw(MPIX_RMW_Op op, void const* operand_addr, int count, MPI_Datatype datatype,
                 void* result_addr, int target_rank, MPI_Aint target_disp, MPI_Request* request,
                 MPI_Comm* communicator, MPIX_RMA_Attributes const* rmw_attr_val) {
  return mpixrma::rmw<mpixrma::RequestArgument::out>(op, operand_addr, count, datatype, result_addr,
                                                     target_rank, target_disp, request, communicator,
                                                     rmw_attr_val);
}

int MPIX_RMA_rmw_req(MPIX_RMW_Op op, void const* operand_addr, int count, MPI_Datatype datatype,
                     void* result_addr, int target_rank, MPI_Aint target_disp, MPI_Request* request,
                     MPI_Comm* communicator) {
  return mpixrma::rmw<mpixrma::RequestArgument::inout>(op, operand_addr, count, datatype, result_addr,
                                                       target_rank, target_disp, request, communicator,
                                                       nullptr);
}

int MPIX_RMA_rmw_rma(MPIX_RMW_Op op, void const* operand_addr, int count, MPI_Datatype datatype,
                     void* result_addr, int target_rank, MPI_Aint target_disp, MPIX_Rmw_request* request,
                     MPI_Comm* communicator, MPIX_RMA_Attributes const* rmw_attr_val) {
  return mpixrma::rmw_slow_path(
      {"MPIX_RMA_rmw_rma", op, mpixrma::operation_of(op), operand_addr, nullptr, count, datatype, result_addr,
       target_rank, target_disp, communicator, rmw_attr_val},
      request);
}

int MPIX_RMA_rmw2(MPIX_RMW2_Op op, void const* operand_addr, int count, MPI_Datatype datatype,
                  void const* operand2_addr, void* result_addr, int target_rank, MPI_Aint target_disp,
                  MPI_Request* request, MPI_Comm* communicator, MPIX_RMA_Attributes const* rmw_attr_val) {
  return mpixrma::rmw<mpixrma::RequestArgument::out>(op, operand_addr, count, datatype, operand2_addr,
                                                     result_addr, target_rank, target_disp, request,
                                                     communicator, rmw_attr_val);
}

int MPIX_RMA_rmw2_req(MPIX_RMW2_Op op, void const* operand_addr, int count, MPI_Datatype datatype,
                      void const* operand2_addr, void* result_addr, int target_rank, MPI_Aint target_disp,
                      MPI_Request* request, MPI_Comm* communicator) {
  return mpixrma::rmw<mpixrma::RequestArgument::inout>(op, operand_addr, count, datatype, operand2_addr,
                                                       result_addr, target_rank, target_disp, request,
                                                       communicator, nullptr);
}

int MPIX_RMA_rmw2_rma(MPIX_RMW2_Op op, void const* operand_addr, int count, MPI_Datatype datatype,
                      void const* operand2_addr, void* result_addr, int target_rank, MPI_Aint target_disp,
                      MPIX_Rmw_request* request, MPI_Comm* communicator,
                      MPIX_RMA_Attributes const* rmw_attr_val) {
  return mpixrma::rmw_slow_path(
      {"MPIX_RMA_rmw2_rma", op, mpixrma::operation_of(op), operand_addr, operand2_addr, count, datatype,
       result_addr, target_rank, target_disp, communicator, rmw_attr_val},
      request);
}

int MPIX_RMA_rmw_c(MPIX_RMW_Op op, void const* operand_addr, MPI_Count count, MPI_Datatype datatype,
                   void* result_addr, int target_rank, MPI_Aint target_disp, MPI_Request* request,
                   MPI_Comm* communicator, MPIX_RMA_Attributes const* rmw_attr_val) {
  return mpixrma::rmw<mpixrma::RequestArgument::out>(op, operand_addr, count, datatype, result_addr,
                                                     target_rank, target_disp, request, communicator,
                                                     rmw_attr_val);
}

int MPIX_RMA_rmw_req_c(MPIX_RMW_Op op, void const* operand_addr, MPI_Count count, MPI_Datatype datatype,
                       void* result_addr, int target_rank, MPI_Aint target_disp, MPI_Request* request,
                       MPI_Comm* communicator) {
  return mpixrma::rmw<mpixrma::RequestArgument::inout>(op, operand_addr, count, datatype, result_addr,
                                                       target_rank, target_disp, request, communicator,
                                                       nullptr);
}

int MPIX_RMA_rmw_rma_c(MPIX_RMW_Op op, void const* operand_addr, MPI_Count count, MPI_Datatype datatype,
                       void* result_addr, int target_rank, MPI_Aint target_disp, MPIX_Rmw_request* request,
                       MPI_Comm* communicator, MPIX_RMA_Attributes const* rmw_attr_val) {
  return mpixrma::rmw_slow_path(
      {"MPIX_RMA_rmw_rma_c", op, mpixrma::operation_of(op), operand_addr, nullptr, count, datatype,
       result_addr, target_rank, target_disp, communicator, rmw_attr_val},
      request);
}

int MPIX_RMA_rmw2_c(MPIX_RMW2_Op op, void const* operand_addr, MPI_Count count, MPI_Datatype datatype,
                    void const* operand2_addr, void* result_addr, int target_rank, MPI_Aint target_disp,
                    MPI_Request* request, MPI_Comm* communicator, MPIX_RMA_Attributes const* rmw_attr_val) {
  return mpixrma::rmw<mpixrma::RequestArgument::out>(op, operand_addr, count, datatype, operand2_addr,
                                                     result_addr, target_rank, target_disp, request,
                                                     communicator, rmw_attr_val);
}

int MPIX_RMA_rmw2_req_c(MPIX_RMW2_Op op, void const* operand_addr, MPI_Count count, MPI_Datatype datatype,
                        void const* operand2_addr, void* result_addr, int target_rank, MPI_Aint target_disp,
                        MPI_Request* request, MPI_Comm* communicator) {
  return mpixrma::rmw<mpixrma::RequestArgument::inout>(op, operand_addr, count, datatype, operand2_addr,
                                                       result_addr, target_rank, target_disp, request,
                                                       communicator, nullptr);
}

int MPIX_RMA_rmw2_rma_c(MPIX_RMW2_Op op, void const* operand_addr, MPI_Count count, MPI_Datatype datatype,
                        void const* operand2_addr, void* result_addr, int target_rank, MPI_Aint target_disp,
                        MPIX_Rmw_request* request, MPI_Comm* communicator,
                        MPIX_RMA_Attributes const* rmw_attr_val) {
  return mpixrma::rmw_slow_path(
      {"MPIX_RMA_rmw2_rma_c", op, mpixrma::operation_of(op), operand_addr, operand2_addr, count, datatype,
       result_addr, target_rank, target_disp, communicator, rmw_attr_val},
      request);
}
