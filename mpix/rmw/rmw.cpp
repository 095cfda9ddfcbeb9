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

constexpr ReduceOp operation_of(MPIX_RMW_Op op) noexcept {
  constexpr ReduceOp table[] = {ReduceOp::increment, ReduceOp::prod,    ReduceOp::sum,   ReduceOp::land,
                                ReduceOp::lor,       ReduceOp::lxor,    ReduceOp::band,  ReduceOp::bor,
                                ReduceOp::bxor,      ReduceOp::replace, ReduceOp::no_op, ReduceOp::min,
                                ReduceOp::max};
  return op >= MPIX_RMW_INC && op <= MPIX_RMW_MAX ? table[op - MPIX_RMW_INC] : unknown;
}

constexpr ReduceOp operation_of(MPIX_RMW2_Op op) noexcept {
  constexpr ReduceOp table[] = {ReduceOp::mask_swap,       ReduceOp::compare_swap_lt,
                                ReduceOp::compare_swap_le, ReduceOp::compare_swap_eq,
                                ReduceOp::compare_swap_ge, ReduceOp::compare_swap_gt,
                                ReduceOp::compare_swap_ne};
  return op >= MPIX_RMW2_MASK_SWAP && op <= MPIX_RMW2_COMP_SWAP_NE ? table[op - MPIX_RMW2_MASK_SWAP]
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
  if (address % sizeof(Word) != 0 || recent.peer->direct_access_is_deferred()) return false;
  auto* const word = reinterpret_cast<Word*>(recent.translate_word(address, sizeof(Word)));
  if (word == nullptr) return false;
  if (overlap(call.result, call.operand, sizeof(Word)) || overlap(call.result, call.operand2, sizeof(Word)))
    return false;
  Word operand{};
  Word previous{};
  if (call.operand != nullptr) std::memcpy(&operand, call.operand, sizeof operand);
  if constexpr (std::is_same_v<Op, MPIX_RMW2_Op>) {
    if (call.op != MPIX_RMW2_COMP_SWAP_E || call.operand == nullptr || call.operand2 == nullptr) return false;
    Word operand2{};
    std::memcpy(&operand2, call.operand2, sizeof operand2);
    previous = operand;
    __atomic_compare_exchange_n(word, &previous, operand2, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  } else {
    if (call.op != MPIX_RMW_INC && call.operand == nullptr) return false;
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

/// Executes the common case in a few instructions, with the cached target of the thread's latest operation to
/// this rank. Returns false in every other case, without side effects; the caller must then check all
/// arguments. `Count` is a template parameter so that an int count is widened only if needed.
template <typename Op, typename Count>
inline bool try_cached_target(TargetCache const& cache, Operands<Op> const& call, Count count,
                              MPI_Datatype datatype, int rank, MPI_Aint displacement,
                              MPI_Request const* request, MPI_Comm const* comm, void const* attributes) {
  if (comm == nullptr || request != nullptr || count != 1) return false;
  CachedTarget const* const recent = find_cached_target(cache, *comm, datatype, rank);
  if (recent == nullptr) return false;
  std::uint64_t set = recent->communicator->attribute_word();
  if (attributes != nullptr) {
    auto const* const given = static_cast<MPIX_RMA_Attributes const*>(attributes);
    if (is_mask(given)) [[unlikely]]
      return false;
    set |= given->set;
  }
  if ((set & beyond_direct_path) != 0) return false;
  RemoteAddress const address = static_cast<RemoteAddress>(displacement);
  if (recent->atomic_word == 8) return update_word<std::uint64_t>(call, *recent, address);
  return recent->atomic_word == 4 && update_word<std::uint32_t>(call, *recent, address);
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

/// As try_cached_target(), while a trace is written: also records the update.
template <typename Op, typename Count>
inline bool try_traced(Operands<Op> const& one, Count count, MPI_Datatype datatype, int rank,
                       MPI_Aint displacement, MPI_Request const* request, MPI_Comm const* comm,
                       void const* attributes) {
  engine::Recorder* const recorder = direct_recorder();
  if (recorder == nullptr) [[likely]]
    return false;
  std::uint64_t const began = recorder->now();
  TargetCache const& cache = traced_cache->transfers;
  if (!try_cached_target(cache, one, count, datatype, rank, displacement, request, comm, attributes))
    return false;
  CachedTarget const& used = cache.at(rank);
  recorder->add_direct(began, used.peer->process(),
                       engine::traced_update(operation_of(one.op), engine::Fetch{one.result != nullptr}),
                       used.atomic_word);
  return true;
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
  Operands<MPIX_RMW_Op> const one{op, operand, nullptr, result};
  if (try_traced(one, count, datatype, rank, disp, request, comm, attributes)) [[unlikely]]
    return MPI_SUCCESS;
  return rmw_slow_path({name_of<MPIX_RMW_Op, Count>(use), op, operation_of(op), operand, nullptr, count,
                        datatype, result, rank, disp, comm, attributes, use},
                       request);
}

/// As rmw_uncached(), for MPIX_RMA_rmw2, which has too many arguments to keep them in registers.
__attribute__((noinline)) int rmw2_uncached(RmwCall const& call, MPI_Request* request) {
  Operands<MPIX_RMW2_Op> const one{static_cast<MPIX_RMW2_Op>(call.op), call.operand, call.operand2,
                                   call.result};
  if (try_traced(one, call.count, call.datatype, call.rank, call.displacement, request, call.communicator,
                 call.attributes)) [[unlikely]]
    return MPI_SUCCESS;
  return rmw_slow_path(call, request);
}

template <RequestArgument use, typename Count>
inline int rmw(MPIX_RMW_Op op, void const* operand, Count count, MPI_Datatype datatype, void* result,
               int rank, MPI_Aint disp, MPI_Request* request, MPI_Comm* comm,
               MPIX_RMA_Attributes const* attributes) {
  Operands<MPIX_RMW_Op> const one{op, operand, nullptr, result};
  if (try_cached_target(*target_cache, one, count, datatype, rank, disp, request, comm, attributes))
      [[likely]]
    return MPI_SUCCESS;
  return rmw_uncached<use>(op, operand, count, datatype, result, rank, disp, request, comm, attributes);
}

template <RequestArgument use, typename Count>
inline int rmw(MPIX_RMW2_Op op, void const* operand, Count count, MPI_Datatype datatype, void const* operand2,
               void* result, int rank, MPI_Aint disp, MPI_Request* request, MPI_Comm* comm,
               MPIX_RMA_Attributes const* attributes) {
  Operands<MPIX_RMW2_Op> const one{op, operand, operand2, result};
  if (try_cached_target(*target_cache, one, count, datatype, rank, disp, request, comm, attributes))
    return MPI_SUCCESS;
  return rmw2_uncached({name_of<MPIX_RMW2_Op, Count>(use), op, operation_of(op), operand, operand2, count,
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
