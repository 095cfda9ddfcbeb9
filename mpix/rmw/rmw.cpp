/// All forms of MPIX_RMA_rmw and MPIX_RMA_rmw2.
#include <cstring>
#include <type_traits>

#include "datatype/datatype.hpp"
#include "include/mpix_rma.h"
#include "mpix/comm/communicator.hpp"
#include "mpix/error/error.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/rmw/call.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/runtime/profiling.hpp"
#include "mpix/runtime/runtime.hpp"
#include "mpix/xfer/call.hpp"
#include "mpix/xfer/submit.hpp"
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

/// Returns the name of an operation of either call.
char const* name_of(ReduceOp operation) noexcept {
  switch (operation) {
    case ReduceOp::increment: return "MPIX_RMW_INC";
    case ReduceOp::prod: return "MPIX_RMW_PROD";
    case ReduceOp::sum: return "MPIX_RMW_SUM";
    case ReduceOp::land: return "MPIX_RMW_LAND";
    case ReduceOp::lor: return "MPIX_RMW_LOR";
    case ReduceOp::lxor: return "MPIX_RMW_LXOR";
    case ReduceOp::band: return "MPIX_RMW_BAND";
    case ReduceOp::bor: return "MPIX_RMW_BOR";
    case ReduceOp::bxor: return "MPIX_RMW_BXOR";
    case ReduceOp::replace: return "MPIX_RMW_SWAP";
    case ReduceOp::no_op: return "MPIX_RMW_NO_OP";
    case ReduceOp::min: return "MPIX_RMW_MIN";
    case ReduceOp::max: return "MPIX_RMW_MAX";
    case ReduceOp::mask_swap: return "MPIX_RMW2_MASK_SWAP";
    case ReduceOp::compare_swap_lt: return "MPIX_RMW2_COMP_SWAP_LT";
    case ReduceOp::compare_swap_le: return "MPIX_RMW2_COMP_SWAP_LE";
    case ReduceOp::compare_swap_eq: return "MPIX_RMW2_COMP_SWAP_E";
    case ReduceOp::compare_swap_ge: return "MPIX_RMW2_COMP_SWAP_GE";
    case ReduceOp::compare_swap_gt: return "MPIX_RMW2_COMP_SWAP_GT";
    case ReduceOp::compare_swap_ne: return "MPIX_RMW2_COMP_SWAP_NE";
    default: return "op";
  }
}

/// The operation and its buffers, as a call has them.
template <typename Op>
struct Operands {
  Op op;
  void const* operand;
  void const* operand2;
  void* result;
};

constexpr bool has_fast_path(ReduceOp operation) noexcept {
  return operation == ReduceOp::sum || operation == ReduceOp::increment || operation == ReduceOp::replace ||
         operation == ReduceOp::compare_swap_eq;
}

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

/// Executes the common case in a few instructions, with the cached result of the thread's latest operation to
/// this rank. Returns false in every other case, without side effects; the caller must then check all
/// arguments. `Count` is a template parameter so that an int count is widened only if needed.
template <typename Op, typename Count>
inline bool try_cached_target(Operands<Op> const& call, Count count, MPI_Datatype datatype, int rank,
                              MPI_Aint displacement, MPI_Request const* request, MPI_Comm const* comm,
                              void const* attributes) {
  if (comm == nullptr || request != nullptr || count != 1) return false;
  CachedTarget const* const recent = find_cached_target(*comm, datatype, rank);
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

/// Caches the target memory for the next operation.
void cache_word_target(RmwCall const& call, Communicator& communicator, RemoteAddress address) {
  Datatype const* const type = Datatype::find_known(call.datatype);
  Target* const target = communicator.known_target(call.rank);
  if (type == nullptr || target == nullptr || type->atomic_word() == 0 || !has_fast_path(call.operation))
    return;
  bool const traced = direct_recorder() != nullptr;
  if ((traced ? target->peer->translate_traced(address, type->atomic_word())
              : target->peer->translate(address, type->atomic_word())) != nullptr)
    cache_target(communicator, *type, *target, address);
}

/// Checks that do not need the target.
int check_arguments(Site const& site, RmwCall const& call, Communicator const& communicator) {
  if (call.operation == unknown)
    return raise(site, MPI_ERR_OP, "op %d is not an operation of this call", call.op);
  Datatype const* const type = Datatype::find(call.datatype);
  if (type == nullptr) return raise_datatype(site, "datatype", call.datatype);
  if (int const code = check_count(site, "count", call.count, call.datatype); code != MPI_SUCCESS)
    return code;
  // The padding of a pair type is not a gap.
  bool const is_pair =
      type->defines(ReduceOp::minloc) && type->size() == engine::element_size(type->flat().element);
  bool const gaps = !type->is_contiguous() && !is_pair;
  if (gaps || type->flat().mixed)
    return raise(site, MPI_ERR_TYPE, "datatype (%s) has gaps or is not built of one predefined datatype",
                 TypeName(call.datatype).text);
  if (!type->defines(call.operation))
    return raise(site, MPI_ERR_OP, "%s is not defined for datatype (%s)", name_of(call.operation),
                 TypeName(call.datatype).text);
  auto const* const attributes = static_cast<MPIX_RMA_Attributes const*>(call.attributes);
  if (!are_known(attributes)) return raise_attributes(site, attributes);
  bool const known = call.rank == MPI_PROC_NULL || (call.rank >= 0 && call.rank < communicator.size());
  return known ? MPI_SUCCESS : raise_rank(site, call.rank, communicator.size());
}

/// Checks buffers and address. `bytes` is the size of each of them, including gaps between elements.
int check_memory(Site const& site, RmwCall const& call, engine::RmaOp const& update, std::size_t bytes) {
  if (call.operand == nullptr && engine::operand_count(call.operation) > 0)
    return raise(site, MPI_ERR_BUFFER, "operand_addr is a null pointer");
  if (call.operand2 == nullptr && engine::operand_count(call.operation) > 1)
    return raise(site, MPI_ERR_BUFFER, "operand2_addr is a null pointer");
  if (overlap(call.result, update.origin, bytes) || overlap(call.result, update.operand2, bytes))
    return raise(site, MPI_ERR_BUFFER, "result_addr %p overlaps an operand within %zu bytes", call.result,
                 bytes);
  std::size_t const alignment = alignment_of(update.type);
  auto const address = static_cast<unsigned long long>(update.target);
  if (address == 0)
    return raise(site, MPI_ERR_ARG, "target_disp names the null address of rank %d", call.rank);
  if ((address & (alignment - 1)) == 0) return MPI_SUCCESS;
  return raise(site, MPI_ERR_ARG, "target_disp names address 0x%llx of rank %d, not a multiple of %zu",
               address, call.rank, alignment);
}

int rmw_general_path(RmwCall const& call, RequestSlot request, Communicator& communicator) {
  Site const site{call.name, communicator.handle()};
  if (int const refused = check_arguments(site, call, communicator); refused != MPI_SUCCESS) return refused;
  MPIX_RMA_Attributes attributes{};
  int code = join_attributes(site, static_cast<MPIX_RMA_Attributes const*>(call.attributes), request,
                             communicator, &attributes);
  if (code != MPI_SUCCESS) return code;
  if (call.rank == MPI_PROC_NULL) {
    request.complete(site, communicator);
    return MPI_SUCCESS;
  }
  Datatype const& type = *Datatype::find(call.datatype);
  engine::Dimension dimensions[engine::max_dimensions];
  Layout const layout = type.layout(static_cast<std::size_t>(call.count), dimensions);
  auto const bytes = static_cast<std::size_t>(layout.extent().end);
  unsigned const operands = engine::operand_count(call.operation);
  RmaOp update = engine::update_with(call.operation, type.flat().element);
  update.flags = op_flags_of(attributes.set) | OpFlags::element_atomic | OpFlags::read_modify_write;
  if (operands > 0) update.origin = engine::read_only(call.operand);
  if (operands > 1) update.operand2 = static_cast<std::byte const*>(call.operand2);
  update.result = static_cast<std::byte*>(call.result);
  update.origin_layout = update.result_layout = update.target_layout = layout;
  update.target = static_cast<RemoteAddress>(call.displacement);
  if (bytes != 0) code = check_memory(site, call, update, bytes);
  if (code == MPI_SUCCESS) code = find_counter(site, attributes, communicator, call.rank, &update.notify);
  if (code != MPI_SUCCESS) return code;
  Target* const target = communicator.target(call.rank);
  if (target == nullptr) return raise(site, failure(engine::Status::unreachable, {call.rank}));
  if (engine_of_process().is_checking() && bytes != 0) {
    // Only one buffer is checked; the result takes precedence, because it is written after the update has
    // taken effect.
    void const* const origin = call.result != nullptr ? call.result : call.operand;
    std::uint64_t const side = origin != nullptr ? ~std::uint64_t{0} : ~MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE;
    code =
        verify_communicatable(site, attributes.set & side, *target, {origin, bytes}, {update.target, bytes});
    if (code != MPI_SUCCESS) return code;
  }
  code = submit(site, communicator, *target, update, bytes, attributes.set, request);
  if (code == MPI_SUCCESS && call.count == 1) cache_word_target(call, communicator, update.target);
  return code;
}

/// The common implementation of all forms.
template <typename Request>
__attribute__((noinline)) int rmw(RmwCall const& call, Request* request) try {
  constexpr bool is_native = std::is_same_v<Request, MPI_Request>;
  if constexpr (!is_native) {
    if (request == nullptr) return rmw(call, static_cast<MPI_Request*>(nullptr));
  }
  engine::Recorder* const recorder = direct_recorder();
  if (recorder != nullptr && request == nullptr && try_traced_rmw(*recorder, call)) [[unlikely]]
    return MPI_SUCCESS;
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

/// A call with a native request.
struct NativeForm {
  char const* name;
  NativeUse use;
};

template <typename Op, typename Count>
inline int rmw(NativeForm const& form, Operands<Op> const& one, Count count, MPI_Datatype datatype,
               int target_rank, MPI_Aint target_disp, MPI_Request* request, MPI_Comm* communicator,
               MPIX_RMA_Attributes const* attributes) {
  if (try_cached_target(one, count, datatype, target_rank, target_disp, request, communicator, attributes))
    return MPI_SUCCESS;
  return rmw({form.name, one.op, operation_of(one.op), one.operand, one.operand2, count, datatype, one.result,
              target_rank, target_disp, communicator, attributes, form.use},
             request);
}

}  // namespace
}  // namespace mpixrma

int MPIX_RMA_rmw(MPIX_RMW_Op op, void const* operand_addr, int count, MPI_Datatype datatype,
                 void* result_addr, int target_rank, MPI_Aint target_disp, MPI_Request* request,
                 MPI_Comm* communicator, MPIX_RMA_Attributes const* rmw_attr_val) {
  return mpixrma::rmw<MPIX_RMW_Op>({"MPIX_RMA_rmw", mpixrma::NativeUse::out},
                                   {op, operand_addr, nullptr, result_addr}, count, datatype, target_rank,
                                   target_disp, request, communicator, rmw_attr_val);
}

int MPIX_RMA_rmw_req(MPIX_RMW_Op op, void const* operand_addr, int count, MPI_Datatype datatype,
                     void* result_addr, int target_rank, MPI_Aint target_disp, MPI_Request* request,
                     MPI_Comm* communicator) {
  return mpixrma::rmw<MPIX_RMW_Op>({"MPIX_RMA_rmw_req", mpixrma::NativeUse::object},
                                   {op, operand_addr, nullptr, result_addr}, count, datatype, target_rank,
                                   target_disp, request, communicator, nullptr);
}

int MPIX_RMA_rmw_rma(MPIX_RMW_Op op, void const* operand_addr, int count, MPI_Datatype datatype,
                     void* result_addr, int target_rank, MPI_Aint target_disp, MPIX_Rmw_request* request,
                     MPI_Comm* communicator, MPIX_RMA_Attributes const* rmw_attr_val) {
  return mpixrma::rmw({"MPIX_RMA_rmw_rma", op, mpixrma::operation_of(op), operand_addr, nullptr, count,
                       datatype, result_addr, target_rank, target_disp, communicator, rmw_attr_val},
                      request);
}

int MPIX_RMA_rmw2(MPIX_RMW2_Op op, void const* operand_addr, int count, MPI_Datatype datatype,
                  void const* operand2_addr, void* result_addr, int target_rank, MPI_Aint target_disp,
                  MPI_Request* request, MPI_Comm* communicator, MPIX_RMA_Attributes const* rmw_attr_val) {
  return mpixrma::rmw<MPIX_RMW2_Op>({"MPIX_RMA_rmw2", mpixrma::NativeUse::out},
                                    {op, operand_addr, operand2_addr, result_addr}, count, datatype,
                                    target_rank, target_disp, request, communicator, rmw_attr_val);
}

int MPIX_RMA_rmw2_req(MPIX_RMW2_Op op, void const* operand_addr, int count, MPI_Datatype datatype,
                      void const* operand2_addr, void* result_addr, int target_rank, MPI_Aint target_disp,
                      MPI_Request* request, MPI_Comm* communicator) {
  return mpixrma::rmw<MPIX_RMW2_Op>({"MPIX_RMA_rmw2_req", mpixrma::NativeUse::object},
                                    {op, operand_addr, operand2_addr, result_addr}, count, datatype,
                                    target_rank, target_disp, request, communicator, nullptr);
}

int MPIX_RMA_rmw2_rma(MPIX_RMW2_Op op, void const* operand_addr, int count, MPI_Datatype datatype,
                      void const* operand2_addr, void* result_addr, int target_rank, MPI_Aint target_disp,
                      MPIX_Rmw_request* request, MPI_Comm* communicator,
                      MPIX_RMA_Attributes const* rmw_attr_val) {
  return mpixrma::rmw({"MPIX_RMA_rmw2_rma", op, mpixrma::operation_of(op), operand_addr, operand2_addr, count,
                       datatype, result_addr, target_rank, target_disp, communicator, rmw_attr_val},
                      request);
}

int MPIX_RMA_rmw_c(MPIX_RMW_Op op, void const* operand_addr, MPI_Count count, MPI_Datatype datatype,
                   void* result_addr, int target_rank, MPI_Aint target_disp, MPI_Request* request,
                   MPI_Comm* communicator, MPIX_RMA_Attributes const* rmw_attr_val) {
  return mpixrma::rmw<MPIX_RMW_Op>({"MPIX_RMA_rmw_c", mpixrma::NativeUse::out},
                                   {op, operand_addr, nullptr, result_addr}, count, datatype, target_rank,
                                   target_disp, request, communicator, rmw_attr_val);
}

int MPIX_RMA_rmw_req_c(MPIX_RMW_Op op, void const* operand_addr, MPI_Count count, MPI_Datatype datatype,
                       void* result_addr, int target_rank, MPI_Aint target_disp, MPI_Request* request,
                       MPI_Comm* communicator) {
  return mpixrma::rmw<MPIX_RMW_Op>({"MPIX_RMA_rmw_req_c", mpixrma::NativeUse::object},
                                   {op, operand_addr, nullptr, result_addr}, count, datatype, target_rank,
                                   target_disp, request, communicator, nullptr);
}

int MPIX_RMA_rmw_rma_c(MPIX_RMW_Op op, void const* operand_addr, MPI_Count count, MPI_Datatype datatype,
                       void* result_addr, int target_rank, MPI_Aint target_disp, MPIX_Rmw_request* request,
                       MPI_Comm* communicator, MPIX_RMA_Attributes const* rmw_attr_val) {
  return mpixrma::rmw({"MPIX_RMA_rmw_rma_c", op, mpixrma::operation_of(op), operand_addr, nullptr, count,
                       datatype, result_addr, target_rank, target_disp, communicator, rmw_attr_val},
                      request);
}

int MPIX_RMA_rmw2_c(MPIX_RMW2_Op op, void const* operand_addr, MPI_Count count, MPI_Datatype datatype,
                    void const* operand2_addr, void* result_addr, int target_rank, MPI_Aint target_disp,
                    MPI_Request* request, MPI_Comm* communicator, MPIX_RMA_Attributes const* rmw_attr_val) {
  return mpixrma::rmw<MPIX_RMW2_Op>({"MPIX_RMA_rmw2_c", mpixrma::NativeUse::out},
                                    {op, operand_addr, operand2_addr, result_addr}, count, datatype,
                                    target_rank, target_disp, request, communicator, rmw_attr_val);
}

int MPIX_RMA_rmw2_req_c(MPIX_RMW2_Op op, void const* operand_addr, MPI_Count count, MPI_Datatype datatype,
                        void const* operand2_addr, void* result_addr, int target_rank, MPI_Aint target_disp,
                        MPI_Request* request, MPI_Comm* communicator) {
  return mpixrma::rmw<MPIX_RMW2_Op>({"MPIX_RMA_rmw2_req_c", mpixrma::NativeUse::object},
                                    {op, operand_addr, operand2_addr, result_addr}, count, datatype,
                                    target_rank, target_disp, request, communicator, nullptr);
}

int MPIX_RMA_rmw2_rma_c(MPIX_RMW2_Op op, void const* operand_addr, MPI_Count count, MPI_Datatype datatype,
                        void const* operand2_addr, void* result_addr, int target_rank, MPI_Aint target_disp,
                        MPIX_Rmw_request* request, MPI_Comm* communicator,
                        MPIX_RMA_Attributes const* rmw_attr_val) {
  return mpixrma::rmw({"MPIX_RMA_rmw2_rma_c", op, mpixrma::operation_of(op), operand_addr, operand2_addr,
                       count, datatype, result_addr, target_rank, target_disp, communicator, rmw_attr_val},
                      request);
}
