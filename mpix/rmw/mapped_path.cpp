/// Read-modify-write in mapped memory, without the engine: arrays, and single words while a trace is written.
#include <cstring>

#include "datatype/datatype.hpp"
#include "engine/proto/direct.hpp"
#include "engine/sync/access_order.hpp"
#include "mpix/attrs/attributes.hpp"
#include "mpix/request/native_attributes.hpp"
#include "mpix/request/native_request.hpp"
#include "mpix/rmw/call.hpp"
#include "mpix/xfer/call.hpp"
#include "mpix/xfer/target_cache.hpp"

namespace mpixrma {

namespace {

/// Returns the element type if the operation supports `call.count` elements of it; else none.
engine::ElementType element_of(RmwCall const& call, Datatype const* type) noexcept {
  using engine::ElementType;
  if (type == nullptr || !type->is_contiguous() || type->flat().mixed) return ElementType::none;
  if (call.count <= 0 || call.count > type->max_count()) return ElementType::none;
  return type->defines(call.operation) ? type->flat().element : ElementType::none;
}

bool are_buffers(RmwCall const& call, std::size_t bytes) noexcept {
  unsigned const operands = engine::operand_count(call.operation);
  if (operands > 0 && (call.operand == nullptr || overlap(call.result, call.operand, bytes))) return false;
  return operands < 2 || (call.operand2 != nullptr && !overlap(call.result, call.operand2, bytes));
}

template <typename Word>
bool try_traced_word(CachedTarget const& recent, RmwCall const& call, RemoteAddress address) noexcept {
  if (address % sizeof(Word) != 0 || recent.peer->direct_access_is_deferred() ||
      !are_buffers(call, sizeof(Word)))
    return false;
  auto* const word = reinterpret_cast<Word*>(recent.translate_word(address, sizeof(Word)));
  if (word == nullptr) return false;
  Word operand{};
  Word operand2{};
  Word previous{};
  if (call.operand != nullptr) std::memcpy(&operand, call.operand, sizeof operand);
  if (call.operand2 != nullptr) std::memcpy(&operand2, call.operand2, sizeof operand2);
  if (!engine::update_word(word, call.operation, operand, operand2, &previous)) return false;
  if (call.result != nullptr) std::memcpy(call.result, &previous, sizeof previous);
  return true;
}

}  // namespace

bool try_traced_rmw(engine::Recorder& recorder, RmwCall const& call) noexcept {
  std::uint64_t const began = recorder.now();
  if (call.communicator == nullptr || call.count != 1) return false;
  CachedTarget const* const recent =
      find_cached_target(*traced_target_cache, *call.communicator, call.datatype, call.rank);
  if (recent == nullptr) return false;
  std::uint64_t const set = recent->communicator->attribute_word() |
                            bits_of(static_cast<MPIX_RMA_Attributes const*>(call.attributes));
  if ((set & beyond_direct_path) != 0) return false;
  RemoteAddress const address = static_cast<RemoteAddress>(call.displacement);
  unsigned const word = recent->atomic_word;
  bool const done = word == sizeof(std::uint64_t)   ? try_traced_word<std::uint64_t>(*recent, call, address)
                    : word == sizeof(std::uint32_t) ? try_traced_word<std::uint32_t>(*recent, call, address)
                                                    : false;
  if (!done) return false;
  recorder.add_direct(began, recent->peer->process(),
                      engine::traced_update(call.operation, engine::Fetch{call.result != nullptr}), word);
  return true;
}

bool try_rmw_on_mapped(RmwCall const& call, MPI_Request* request, Communicator const& communicator) noexcept {
  std::uint64_t const set =
      communicator.attribute_word() | bits_of(static_cast<MPIX_RMA_Attributes const*>(call.attributes));
  if ((set & beyond_direct_path) != 0) return false;
  if (request != nullptr && call.use == NativeUse::object &&
      native_objects.load(std::memory_order_relaxed) != 0)
    return false;
  Datatype const* const type = Datatype::find_known(call.datatype);
  Target* const target = communicator.known_target(call.rank);
  engine::ElementType const element = element_of(call, type);
  if (target == nullptr || element == engine::ElementType::none) return false;
  std::size_t const bytes = type->size() * static_cast<std::size_t>(call.count);
  RemoteAddress const address = static_cast<RemoteAddress>(call.displacement);
  if (!are_buffers(call, bytes) || (address & (alignment_of(element) - 1)) != 0) return false;
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
