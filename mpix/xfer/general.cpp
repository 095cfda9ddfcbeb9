/// Transfers of every kind: argument checks, attributes, layouts.
#include <cstdio>

#include "mpix/datatype/predefined.hpp"
#include "mpix/error/error.hpp"
#include "mpix/runtime/runtime.hpp"
#include "mpix/xfer/call.hpp"
#include "mpix/xfer/submit.hpp"
#include "mpix/xfer/transfer.hpp"

namespace mpix {

namespace {

/// MPI_BOTTOM is an address for a datatype with absolute displacements only.
bool is_null_buffer(void const* address, Datatype const& type, std::size_t bytes) noexcept {
  return address == nullptr && bytes != 0 && type.is_contiguous();
}

/// Error class of the arguments.
int check(XferCall const& call) {
  if (call.operation < MPIX_RMA_PUT || call.operation > MPIX_RMA_ACCUMULATE) return MPI_ERR_OP;
  if (call.origin_count < 0 || call.target_count < 0) return MPI_ERR_COUNT;
  if (Datatype::find(call.origin_type) == nullptr || Datatype::find(call.target_type) == nullptr)
    return MPI_ERR_TYPE;
  return are_known(call.attributes) ? MPI_SUCCESS : MPI_ERR_ARG;
}

/// Fills in what an accumulate does; error class if the types and the operation do not fit.
int choose_reduction(MPIX_RMA_Attributes const& attributes, FlatType const& origin, FlatType const& target,
                     engine::Reduction* reduction) {
  bool const same = origin.base == target.base ||
                    (origin.element == target.element && origin.element != engine::ElementType::none);
  if (origin.mixed || target.mixed || !same) return MPI_ERR_TYPE;
  auto const operation = (attributes.set & MPIX_RMA_ATTR_ACCUMULATE_OP) != 0
                             ? operation_of(attributes.accumulate_op)
                             : engine::Operation::sum;
  if (!operation) return MPI_ERR_OP;
  bool const scaled = (attributes.set & MPIX_RMA_ATTR_ACCUMULATE_SCALE) != 0;
  if (scaled && attributes.accumulate_scale == nullptr) return MPI_ERR_ARG;
  reduction->type = origin.element;
  reduction->operation = *operation;
  reduction->scale = scaled ? attributes.accumulate_scale : nullptr;
  return engine::is_valid(*reduction) ? MPI_SUCCESS : MPI_ERR_OP;
}

constexpr Direction direction_of(MPIX_RMA_Op operation) noexcept {
  return operation == MPIX_RMA_PUT   ? Direction::put
         : operation == MPIX_RMA_GET ? Direction::get
                                     : Direction::accumulate;
}

bool lies_in_segment(engine::Peer& peer, RemoteAddress begin, std::size_t bytes) {
  engine::SegmentInfo info{};
  if (engine::failed(engine::Engine::running()->find_segment(peer, begin, &info))) return false;
  return bytes <= info.length - (begin - info.base);
}

/// A transfer whose arguments are sound: `attributes` are the joined ones.
int issue_checked(XferCall const& call, MPIX_RMA_Attributes const& attributes, RequestSlot& request,
                  Communicator& communicator, Target& target) {
  MPI_Comm const comm = communicator.handle();
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

  transfer.direction = direction_of(call.operation);
  transfer.guarantees = guarantees_of(attributes.set);
  transfer.origin = static_cast<std::byte*>(call.origin);
  transfer.target = reinterpret_cast<RemoteAddress>(call.target);
  if (transfer.direction == Direction::accumulate && bytes != 0) {
    int const code =
        choose_reduction(attributes, origin_type.flat(), target_type.flat(), &transfer.reduction);
    if (code != MPI_SUCCESS) return raise(comm, code);
  }
  if (int const code = find_counter(attributes, communicator, call.rank, &transfer.notify);
      code != MPI_SUCCESS)
    return raise(comm, code);
  if (engine::Engine::running()->is_checking() && bytes != 0) {
    engine::Extent const here = transfer.origin_layout.extent();
    engine::Extent const there = transfer.target_layout.extent();
    int const code = verify_communicatable(attributes.set, target, transfer.origin + here.begin,
                                           static_cast<std::size_t>(here.end - here.begin),
                                           transfer.target + static_cast<std::uint64_t>(there.begin),
                                           static_cast<std::size_t>(there.end - there.begin));
    if (code != MPI_SUCCESS) return raise(comm, code);
  }
  return submit(communicator, target, transfer, attributes.set, request);
}

}  // namespace

std::uint64_t free_when_direct = 0;

int join_attributes(MPIX_RMA_Attributes const* call, RequestSlot& request, Communicator& communicator,
                    MPIX_RMA_Attributes* joined) {
  if (call != nullptr) {
    joined->set = call->set;
    for (auto const& entry : attribute_table) {
      if ((call->set & entry.bits) != 0) entry.inherit(*joined, *call);
    }
  }
  if (int const code = request.look(*joined); code != MPI_SUCCESS) return code;
  std::uint64_t const word = communicator.attribute_word();
  // Switches are in the word; values have to be fetched.
  constexpr std::uint64_t switches = MPIX_RMA_ATTR_ACCUMULATE_OP - 1;
  if ((word & ~switches) != 0) {
    join(*joined, communicator.attributes());
  } else {
    joined->set |= word;
  }
  return MPI_SUCCESS;
}

int find_counter(MPIX_RMA_Attributes const& attributes, Communicator& communicator, int rank,
                 RemoteAddress* counter) {
  if ((attributes.set & MPIX_RMA_ATTR_NOTIFY) == 0) return MPI_SUCCESS;
  *counter = communicator.counters().at(rank, attributes.notify_index);
  return *counter != 0 ? MPI_SUCCESS : MPI_ERR_ARG;
}

int verify_communicatable(std::uint64_t set, Target& target, void const* origin, std::size_t origin_bytes,
                          RemoteAddress target_begin, std::size_t target_bytes) {
  engine::Engine& engine = *engine::Engine::running();
  if ((set & MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE) != 0 &&
      !lies_in_segment(*engine.peer(engine.process()), reinterpret_cast<RemoteAddress>(origin),
                       origin_bytes)) {
    std::fprintf(stderr, "MPIX_RMA: origin memory %p, %zu bytes, is said to be communicatable and is not\n",
                 origin, origin_bytes);
    return MPI_ERR_BUFFER;
  }
  if ((set & MPIX_RMA_ATTR_TARGET_COMMUNICATABLE) != 0 &&
      !lies_in_segment(*target.peer, target_begin, target_bytes)) {
    std::fprintf(
        stderr,
        "MPIX_RMA: target memory 0x%llx of rank %d, %zu bytes, is said to be communicatable and is not\n",
        static_cast<unsigned long long>(target_begin), target.rank, target_bytes);
    return keys().address_class;
  }
  return MPI_SUCCESS;
}

int xfer_generally(XferCall const& call, RequestSlot request, Communicator& communicator) {
  MPI_Comm const comm = communicator.handle();
  if (int const code = check(call); code != MPI_SUCCESS) return raise(comm, code);
  MPIX_RMA_Attributes attributes{};
  if (int const code = join_attributes(call.attributes, request, communicator, &attributes);
      code != MPI_SUCCESS)
    return raise(comm, code);
  if (call.rank == MPI_PROC_NULL) {
    request.complete(communicator);
    return MPI_SUCCESS;
  }
  if (call.rank < 0 || call.rank >= communicator.size()) return raise(comm, MPI_ERR_RANK);
  Target* const target = communicator.target(call.rank);
  if (target == nullptr) return raise(comm, keys().transport_class);
  return issue_checked(call, attributes, request, communicator, *target);
}

}  // namespace mpix
