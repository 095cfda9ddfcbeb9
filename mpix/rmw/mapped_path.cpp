/// Read-modify-write in mapped memory, without Engine::issue().
#include "datatype/datatype.hpp"
#include "engine/proto/direct.hpp"
#include "engine/sync/access_order.hpp"
#include "mpix/attrs/attributes.hpp"
#include "mpix/request/native_attributes.hpp"
#include "mpix/request/native_request.hpp"
#include "mpix/rmw/call.hpp"
#include "mpix/xfer/call.hpp"

namespace mpixrma {

namespace {

/// Returns the element type if the operation supports `call.count` elements of it; else none.
engine::ElementType element_of(RmwCall const& call, Datatype const* type) noexcept {
  using engine::ElementType;
  if (type == nullptr || !type->is_contiguous() || type->flat().mixed) return ElementType::none;
  if (call.count <= 0 || call.count > type->max_count()) return ElementType::none;
  return type->defines(call.operation) ? type->flat().element : ElementType::none;
}

bool are_valid_buffers(RmwCall const& call, std::size_t bytes) noexcept {
  unsigned const operands = engine::operand_count(call.operation);
  if (operands > 0 && (call.operand == nullptr || overlap(call.result, call.operand, bytes))) return false;
  return operands < 2 || (call.operand2 != nullptr && !overlap(call.result, call.operand2, bytes));
}

}  // namespace

bool try_rmw_on_mapped(RmwCall const& call, MPI_Request* request, Communicator const& communicator) noexcept {
  std::uint64_t const set =
      communicator.attribute_word() | bits_of(static_cast<MPIX_RMA_Attributes const*>(call.attributes));
  if ((set & slow_path_attributes) != 0) return false;
  if (request != nullptr && call.use == RequestArgument::inout &&
      native_objects.load(std::memory_order_relaxed) != 0)
    return false;
  Datatype const* const type = Datatype::find_known(call.datatype);
  Target* const target = communicator.known_target(call.rank);
  engine::ElementType const element = element_of(call, type);
  if (target == nullptr || element == engine::ElementType::none) return false;
  std::size_t const bytes = type->size() * static_cast<std::size_t>(call.count);
  RemoteAddress const address = static_cast<RemoteAddress>(call.displacement);
  if (!are_valid_buffers(call, bytes) || (address & (alignment_of(element) - 1)) != 0) return false;
  // The general path caches the target of a single word, so let it handle that case.
  if (call.count == 1 && type->atomic_word() != 0) return false;
  std::byte* const mapped = target->peer->translate(address, bytes);
  if (mapped == nullptr) return false;
  engine::PackedSides const sides{static_cast<std::byte const*>(call.operand),
                                  static_cast<std::byte const*>(call.operand2),
                                  static_cast<std::byte*>(call.result), bytes};
  bool const ordered = (set & MPIX_RMA_ATTR_ORDERING) != 0;
  engine::order_before_store(ordered);
  if (!engine::try_update_elements({element, call.operation}, mapped, sides, *target->peer->stripes(),
                                   address))
    return false;
  engine::order_after_load(ordered);
  finish_direct(set);
  if (request != nullptr) *request = completed_request();
  return true;
}

}  // namespace mpixrma
