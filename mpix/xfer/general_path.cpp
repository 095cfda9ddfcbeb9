/// Transfers of every kind: argument checks, attributes, layouts.
#include <cstring>

#include "datatype/absolute.hpp"
#include "datatype/predefined.hpp"
#include "mpix/error/error.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/runtime/runtime.hpp"
#include "mpix/xfer/call.hpp"
#include "mpix/xfer/submit.hpp"
#include "mpix/xfer/transfer.hpp"

namespace mpixrma {

namespace {

/// Whether the address is null and data would be in the first page. A null address (MPI_BOTTOM) is valid only
/// with absolute displacements.
bool is_null_buffer(void const* address, std::uintptr_t base, Layout const& layout) noexcept {
  constexpr std::intptr_t page = 4096;
  if (address != nullptr || layout.size() == 0) return false;
  return static_cast<std::intptr_t>(base) + layout.extent().begin < page;
}

OpKind kind_of(MPIX_RMA_Op operation) noexcept {
  switch (operation) {
    case MPIX_RMA_PUT: return OpKind::put;
    case MPIX_RMA_GET: return OpKind::get;
    default: return OpKind::update;
  }
}

bool is_usable(MPI_Datatype datatype) { return Datatype::find(datatype) != nullptr; }

int check(Site const& site, XferCall const& call) {
  if (int const code = check_fixed_arguments(site, call); code != MPI_SUCCESS) return code;
  int const code = check_count(site, "origin_count", call.origin_count, call.origin_type);
  return code != MPI_SUCCESS ? code : check_count(site, "target_count", call.target_count, call.target_type);
}

/// Fills in the element type, the operation and the scale of an accumulate.
int choose_operation(Site const& site, XferCall const& call, MPIX_RMA_Attributes const& attributes,
                     engine::RmaOp* update) {
  Datatype const& type = *Datatype::find(call.origin_type);
  FlatType const& origin = type.flat();
  FlatType const& target = Datatype::find(call.target_type)->flat();
  bool const alike =
      origin.element == target.element && origin.element != engine::ElementType::none &&
      permitted_operations(origin.base, origin.element) == permitted_operations(target.base, target.element);
  bool const same = origin.base == target.base || alike;
  if (origin.mixed || target.mixed || !same)
    return raise(
        site, MPI_ERR_TYPE,
        "origin_datatype (%s) and target_datatype (%s) of an accumulate are not built of one and the "
        "same predefined datatype",
        TypeName(call.origin_type).text, TypeName(call.target_type).text);
  auto const operation = (attributes.set & MPIX_RMA_ATTR_ACCUMULATE_OP) != 0
                             ? operation_of(attributes.accumulate_op)
                             : engine::ReduceOp::sum;
  if (!operation) return raise(site, MPI_ERR_OP, "accumulate_op is not a predefined operation");
  bool const scaled = (attributes.set & MPIX_RMA_ATTR_ACCUMULATE_SCALE) != 0;
  if (scaled && attributes.accumulate_scale == nullptr)
    return raise(site, MPI_ERR_ARG, "accumulate_scale is a null pointer");
  update->type = origin.element;
  update->reduce_op = *operation;
  update->scale = scaled ? attributes.accumulate_scale : nullptr;
  bool const defined =
      type.defines(*operation) &&
      engine::is_valid({.type = update->type, .operation = update->reduce_op, .scale = update->scale});
  if (defined) return MPI_SUCCESS;
  return raise(site, MPI_ERR_OP, "%s is not defined for origin_datatype (%s)%s", name_of(update->reduce_op),
               TypeName(call.origin_type).text, scaled ? " with a scale" : "");
}

bool lies_in_segment(engine::Peer& peer, RemoteAddress begin, std::size_t bytes) {
  engine::SegmentInfo info{};
  if (engine::failed(engine_of_process().peer_memory.find_segment(peer, begin, &info))) return false;
  return bytes <= info.length - (begin - info.base);
}

/// The layouts of both sides of the call.
struct TransferSides {
  TransferSides(Datatype const& origin_type, Datatype const& target_type, XferCall const& call)
      : origin(origin_type.layout(static_cast<std::size_t>(call.origin_count), origin_dimensions)),
        target(target_type.layout(static_cast<std::size_t>(call.target_count), target_dimensions)),
        origin_address(absolute.rebase(call.origin, &origin)) {}
  TransferSides(TransferSides const&) = delete;
  TransferSides& operator=(TransferSides const&) = delete;

  engine::Dimension origin_dimensions[engine::max_dimensions];
  engine::Dimension target_dimensions[engine::max_dimensions];
  Layout origin;
  Layout target;
  AbsoluteBuffer absolute;
  std::byte* origin_address;  ///< base of the layout `origin`
};

/// A call whose arguments except the buffers have been checked, and the attributes that apply to it.
struct PreparedCall {
  Site const& site;
  XferCall const& call;
  MPIX_RMA_Attributes const& attributes;  ///< of the call, the request and the communicator
  Communicator& communicator;
  Target& target;
  TransferSides const& sides;
};

int check_sides(PreparedCall const& checked) {
  XferCall const& call = checked.call;
  std::size_t const bytes = checked.sides.origin.size();
  if (bytes != checked.sides.target.size())
    return raise(checked.site, MPI_ERR_TYPE, "origin data of %zu bytes do not fit target data of %zu bytes",
                 bytes, checked.sides.target.size());
  auto const origin = reinterpret_cast<std::uintptr_t>(checked.sides.origin_address);
  if (is_null_buffer(call.origin, origin, checked.sides.origin))
    return raise(checked.site, MPI_ERR_BUFFER, "origin_addr is a null pointer, for %zu bytes", bytes);
  if (is_null_buffer(call.target, 0, checked.sides.target))
    return raise(checked.site, MPI_ERR_ARG, "target_addr is a null pointer, for %zu bytes of rank %d", bytes,
                 call.rank);
  return MPI_SUCCESS;
}

int check_communicatable(PreparedCall const& checked) {
  if (!engine_of_process().is_checking() || checked.sides.origin.size() == 0) return MPI_SUCCESS;
  engine::Extent const here = checked.sides.origin.extent();
  engine::Extent const there = checked.sides.target.extent();
  return verify_communicatable(
      checked.site, checked.attributes.set, checked.target,
      {checked.sides.origin_address + here.begin, static_cast<std::size_t>(here.end - here.begin)},
      {reinterpret_cast<RemoteAddress>(checked.call.target) + static_cast<std::uint64_t>(there.begin),
       static_cast<std::size_t>(there.end - there.begin)});
}

/// Adds the members that operations of all kinds have in common, and issues the operation.
int fill_and_issue(PreparedCall const& checked, engine::RmaOp& operation, RequestSlot& request) {
  operation.flags = op_flags_of(checked.attributes.set);
  operation.origin = checked.sides.origin_address;
  operation.origin_layout = checked.sides.origin;
  operation.target = reinterpret_cast<RemoteAddress>(checked.call.target);
  operation.target_layout = checked.sides.target;
  int code = find_counter(checked.site, checked.attributes, checked.communicator, checked.call.rank,
                          &operation.notify);
  if (code == MPI_SUCCESS) code = check_communicatable(checked);
  if (code != MPI_SUCCESS) return code;
  return submit(checked.site, checked.communicator, checked.target, operation, operation.target_layout.size(),
                checked.attributes.set, request);
}

int issue_checked(Site const& site, XferCall const& call, MPIX_RMA_Attributes const& attributes,
                  RequestSlot& request, Communicator& communicator, Target& target) {
  Datatype const& origin_type = *Datatype::find(call.origin_type);
  Datatype const& target_type = *Datatype::find(call.target_type);
  TransferSides const sides(origin_type, target_type, call);
  PreparedCall const checked{site, call, attributes, communicator, target, sides};
  if (int const code = check_sides(checked); code != MPI_SUCCESS) return code;
  RmaOp operation;
  operation.kind = kind_of(call.operation);
  if (operation.is_update() && sides.origin.size() != 0) {
    int const code = choose_operation(site, call, attributes, &operation);
    if (code != MPI_SUCCESS) return code;
  }
  return fill_and_issue(checked, operation, request);
}

}  // namespace

std::uint64_t slow_path_attributes = ~std::uint64_t{0};

TypeName::TypeName(MPI_Datatype datatype) {
  int length = 0;
  PMPI_Type_get_name(datatype, text, &length);
  if (length == 0) std::strcpy(text, "derived");
}

int check_count(Site const& site, char const* argument, MPI_Count count, MPI_Datatype datatype) {
  if (count < 0)
    return raise(site, MPI_ERR_COUNT, "%s %lld is negative", argument, static_cast<long long>(count));
  if (count <= Datatype::find(datatype)->max_count()) return MPI_SUCCESS;
  return raise(site, MPI_ERR_COUNT, "%s %lld is more elements of datatype (%s) than memory can hold",
               argument, static_cast<long long>(count), TypeName(datatype).text);
}

int raise_datatype(Site const& site, char const* argument, MPI_Datatype datatype) {
  if (datatype == MPI_Datatype{} || datatype == MPI_DATATYPE_NULL)
    return raise(site, MPI_ERR_TYPE, "%s is MPI_DATATYPE_NULL", argument);
  return raise(site, MPI_ERR_TYPE, "%s (%s) is not committed", argument, TypeName(datatype).text);
}

int raise_origin(Site const& site, engine::RmaOp const& operation) {
  engine::Extent const extent = operation.origin_layout.extent();
  return raise(site, MPI_ERR_BUFFER, "%s %p (%zu bytes)", engine::to_string(engine::Status::bad_origin),
               static_cast<void const*>(operation.origin + extent.begin),
               static_cast<std::size_t>(extent.end - extent.begin));
}

int raise_attributes(Site const& site, MPIX_RMA_Attributes const* attributes) {
  if (is_mask(attributes))
    return raise(
        site, MPI_ERR_ARG,
        "the attributes of the call are %p: pass the address of an MPIX_RMA_Attributes with these bits in "
        "its member set, or NULL",
        static_cast<void const*>(attributes));
  return raise(site, MPI_ERR_ARG, "the attributes of the call have unknown bits, 0x%llx",
               static_cast<unsigned long long>(attributes->set & ~known_attributes()));
}

int check_fixed_arguments(Site const& site, XferCall const& call) {
  if (call.operation < MPIX_RMA_PUT || call.operation > MPIX_RMA_ACCUMULATE)
    return raise(site, MPI_ERR_OP, "op %d is none of MPIX_RMA_PUT, MPIX_RMA_GET, MPIX_RMA_ACCUMULATE",
                 static_cast<int>(call.operation));
  if (!is_usable(call.origin_type)) return raise_datatype(site, "origin_datatype", call.origin_type);
  if (!is_usable(call.target_type)) return raise_datatype(site, "target_datatype", call.target_type);
  return are_known(call.attributes) ? MPI_SUCCESS : raise_attributes(site, call.attributes);
}

int join_attributes(Site const& site, MPIX_RMA_Attributes const* call, RequestSlot& request,
                    Communicator& communicator, MPIX_RMA_Attributes* joined) {
  if (call != nullptr) {
    joined->set = call->set;
    for (auto const& entry : attribute_table) {
      if ((call->set & entry.bits) != 0) entry.inherit(*joined, *call);
    }
  }
  if (int const code = request.read_argument(site, *joined); code != MPI_SUCCESS) return code;
  std::uint64_t const word = communicator.attribute_word();
  // Switches are in the word; values have to be fetched.
  constexpr std::uint64_t switches = MPIX_RMA_ATTR_ATOMICITY | MPIX_RMA_ATTR_ORDERING |
                                     MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_REMOTE_COMPLETION |
                                     MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE |
                                     MPIX_RMA_ATTR_TARGET_COMMUNICATABLE;
  if ((word & ~switches) != 0) {
    join(*joined, communicator.attributes());
  } else {
    joined->set |= word;
  }
  return MPI_SUCCESS;
}

int find_counter(Site const& site, MPIX_RMA_Attributes const& attributes, Communicator& communicator,
                 int rank, RemoteAddress* counter) {
  if ((attributes.set & MPIX_RMA_ATTR_NOTIFY) == 0) return MPI_SUCCESS;
  Counters const& counters = communicator.counters();
  *counter = counters.at(rank, attributes.notify_index);
  if (*counter != 0) return MPI_SUCCESS;
  auto const count = static_cast<long long>(counters.count(rank));
  return raise(site, MPI_ERR_ARG, "notify_index %d is no counter of rank %d, which has %lld counter%s",
               attributes.notify_index, rank, count, count == 1 ? "" : "s");
}

int verify_communicatable(Site const& site, std::uint64_t set, Target& target,
                          MemoryRange<void const*> origin, MemoryRange<RemoteAddress> there) {
  engine::Engine& engine = engine_of_process();
  bool const origin_said = (set & MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE) != 0;
  bool const target_said = (set & MPIX_RMA_ATTR_TARGET_COMMUNICATABLE) != 0;
  if (origin_said && !lies_in_segment(*engine.peers.find(engine.process()),
                                      reinterpret_cast<RemoteAddress>(origin.begin), origin.bytes))
    return raise(site, MPI_ERR_BUFFER, "origin memory %p, %zu bytes, is said to be communicatable and is not",
                 origin.begin, origin.bytes);
  if (target_said && !lies_in_segment(*target.peer, there.begin, there.bytes))
    return raise(site, keys().address_class,
                 "target memory 0x%llx of rank %d, %zu bytes, is said to be communicatable and is not",
                 static_cast<unsigned long long>(there.begin), target.rank, there.bytes);
  return MPI_SUCCESS;
}

int xfer_general_path(XferCall const& call, RequestSlot request, Communicator& communicator) {
  Site const site{call.name, communicator.handle()};
  if (int const code = check(site, call); code != MPI_SUCCESS) return code;
  MPIX_RMA_Attributes attributes{};
  int const code = join_attributes(site, call.attributes, request, communicator, &attributes);
  if (code != MPI_SUCCESS) return code;
  if (call.rank == MPI_PROC_NULL) {
    request.complete(site, communicator);
    return MPI_SUCCESS;
  }
  if (call.rank < 0 || call.rank >= communicator.size())
    return raise_rank(site, call.rank, communicator.size());
  Target* const target = communicator.target(call.rank);
  if (target == nullptr) return raise(site, failure(engine::Status::unreachable, {call.rank}));
  return issue_checked(site, call, attributes, request, communicator, *target);
}

}  // namespace mpixrma
