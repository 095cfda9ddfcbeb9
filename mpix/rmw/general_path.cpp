/// The general path of all forms of MPIX_RMA_rmw and MPIX_RMA_rmw2: every argument is checked.
#include <algorithm>

#include "datatype/datatype.hpp"
#include "include/mpix_rma.h"
#include "mpix/comm/communicator.hpp"
#include "mpix/error/error.hpp"
#include "mpix/rmw/call.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/xfer/call.hpp"
#include "mpix/xfer/submit.hpp"
#include "mpix/xfer/target_cache.hpp"

namespace mpixrma {

namespace {

using engine::ReduceOp;

/// Returns the name that the interface gives an operation of either call.
char const* interface_name_of(ReduceOp operation) noexcept {
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

constexpr bool has_fast_path(ReduceOp operation) noexcept {
  return operation == ReduceOp::sum || operation == ReduceOp::increment || operation == ReduceOp::replace ||
         operation == ReduceOp::compare_swap_eq;
}

/// Caches the target memory for the next operation.
void cache_word_target(RmwCall const& call, Communicator& communicator, RemoteAddress address) {
  Datatype const* const type = Datatype::find_known(call.datatype);
  Target* const target = communicator.known_target(call.rank);
  if (type == nullptr || target == nullptr || type->atomic_word() == 0 || !has_fast_path(call.operation))
    return;
  if (target->peer->translate_traced(address, type->atomic_word()) != nullptr)
    cache_target(communicator, *type, *target, address);
}

/// Whether two layouts have the same bytes in the same order.
bool are_alike(Layout const& a, Layout const& b) noexcept {
  engine::LayoutCursor left(a);
  engine::LayoutCursor right(b);
  engine::LayoutRun run{};
  engine::LayoutRun other{};
  while (true) {
    if (run.length == 0) run = left.next();
    if (other.length == 0) other = right.next();
    if (run.length == 0 || other.length == 0) return run.length == other.length;
    if (run.offset != other.offset) return false;
    std::size_t const common = std::min(run.length, other.length);
    run = {run.offset + static_cast<std::ptrdiff_t>(common), run.length - common};
    other = {other.offset + static_cast<std::ptrdiff_t>(common), other.length - common};
  }
}

/// A datatype whose elements follow each other as MPI_Type_contiguous makes it.
struct Sequence {
  Datatype const* unit = nullptr;  ///< null: the datatype is another one
  std::size_t count = 0;           ///< of `unit` in one element of the datatype
};

/// The padding of a pair type (for MINLOC, MAXLOC) is not a gap.
Sequence sequence_of(Datatype const& type) {
  FlatType const& flat = type.flat();
  if (flat.mixed) return {};
  if (type.is_contiguous()) return {&type, 1};
  if (!type.defines(ReduceOp::minloc)) return {};
  Datatype const& pair = *Datatype::find(flat.base);
  std::size_t const count = flat.size / pair.size();
  if (flat.extent != static_cast<std::ptrdiff_t>(count) * pair.flat().extent) return {};
  engine::Dimension dimensions[engine::max_dimensions];
  return are_alike(flat.layout.view(), pair.layout(count, dimensions)) ? Sequence{&pair, count} : Sequence{};
}

/// Checks that do not need the target.
int check_arguments(Site const& site, RmwCall const& call, Communicator const& communicator) {
  if (call.operation == ReduceOp::count_)
    return raise(site, MPI_ERR_OP, "op %d is not an operation of this call", call.op);
  Datatype const* const type = Datatype::find(call.datatype);
  if (type == nullptr) return raise_datatype(site, "datatype", call.datatype);
  if (int const code = check_count(site, "count", call.count, call.datatype); code != MPI_SUCCESS)
    return code;
  if (sequence_of(*type).unit == nullptr)
    return raise(site, MPI_ERR_TYPE, "datatype (%s) has gaps or is not built of one predefined datatype",
                 TypeName(call.datatype).text);
  if (!type->defines(call.operation))
    return raise(site, MPI_ERR_OP, "%s is not defined for datatype (%s)", interface_name_of(call.operation),
                 TypeName(call.datatype).text);
  auto const* const attributes = static_cast<MPIX_RMA_Attributes const*>(call.attributes);
  if (!are_known(attributes)) return raise_attributes(site, attributes);
  bool const known = call.rank == MPI_PROC_NULL || (call.rank >= 0 && call.rank < communicator.size());
  return known ? MPI_SUCCESS : raise_rank(site, call.rank, communicator.size());
}

/// Checks the buffers and the target address. `bytes` is the size of each buffer, padding included.
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

/// As verify_communicatable(), for all buffers that the update has.
int verify_buffers(Site const& site, std::uint64_t set, Target& target, engine::RmaOp const& update,
                   std::size_t bytes) {
  constexpr std::uint64_t origin_side = MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE;
  std::byte const* const buffers[] = {update.origin, update.operand2, update.result};
  for (std::byte const* const buffer : buffers) {
    if (buffer == nullptr) continue;
    int const code =
        verify_communicatable(site, set & origin_side, target, {buffer, bytes}, {update.target, bytes});
    if (code != MPI_SUCCESS) return code;
  }
  return verify_communicatable(site, set & ~origin_side, target, {nullptr, bytes}, {update.target, bytes});
}

}  // namespace

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
  Sequence const elements = sequence_of(*Datatype::find(call.datatype));
  Datatype const& type = *elements.unit;
  engine::Dimension dimensions[engine::max_dimensions];
  Layout const layout = type.layout(static_cast<std::size_t>(call.count) * elements.count, dimensions);
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
    code = verify_buffers(site, attributes.set, *target, update, bytes);
    if (code != MPI_SUCCESS) return code;
  }
  code = submit(site, communicator, *target, update, bytes, attributes.set, request);
  if (code == MPI_SUCCESS && call.count == 1) cache_word_target(call, communicator, update.target);
  return code;
}

}  // namespace mpixrma
