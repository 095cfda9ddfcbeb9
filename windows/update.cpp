/// The accumulate family: one update of elements, with or without their previous values.
#include <optional>

#include "datatype/predefined.hpp"
#include "windows/operation.hpp"

namespace mpix::windows {

namespace {

using engine::ElementType;
using engine::Operation;

/// What is updated with what.
struct UpdateCall {
  Operation operation;
  mpix_window_buffer const* origin;
  void const* operand2;  ///< laid out as `origin`
  mpix_window_buffer const* result;
  mpix_window_place const* target;
};

/// What the elements of a type are to an operation. Error class.
int element_for(Operation operation, FlatType const& flat, ElementType* element) {
  if (flat.mixed) return MPI_ERR_TYPE;
  *element = flat.element;
  bool const swap = operation == Operation::compare_swap_eq;
  bool const bits =
      operation == Operation::band || operation == Operation::bor || operation == Operation::bxor;
  if (flat.base == MPI_BYTE && (bits || swap)) *element = ElementType::uint8;
  if (swap)
    return *element != ElementType::none && engine::has_cpu_atomics(*element) ? MPI_SUCCESS : MPI_ERR_TYPE;
  return engine::is_defined(operation, *element) ? MPI_SUCCESS : MPI_ERR_OP;
}

/// One word by one instruction, where that is how its memory is updated. False, with nothing done: not so.
template <typename Word>
bool try_word(Window const& window, Operation operation, void const* operand, void const* operand2,
              void* result, int rank, MPI_Aint disp) noexcept {
  auto const [target, mapped, address] = reach(window, rank, disp, sizeof(Word));
  if (mapped == nullptr || address % sizeof(Word) != 0) return false;
  if (!target->stripes->modes.by_element(address)) return false;
  auto* const word = reinterpret_cast<Word*>(mapped);
  auto* const before = static_cast<Word*>(result);
  if (operation == Operation::no_op) {
    *before = __atomic_load_n(word, __ATOMIC_SEQ_CST);
    return true;
  }
  Word const second = operand2 != nullptr ? *static_cast<Word const*>(operand2) : Word{};
  return engine::update_word(word, operation, *static_cast<Word const*>(operand), second, before);
}

bool try_fetching_word(Window const& window, UpdateCall const& call) noexcept {
  Datatype const* const type = Datatype::find_known(call.target->type);
  if (type == nullptr) return false;
  auto const attempt = [&]<typename Word>(Word) {
    return try_word<Word>(window, call.operation, call.origin->address, call.operand2, call.result->address,
                          call.target->rank, call.target->disp);
  };
  if (type->atomic_word() == sizeof(std::uint64_t)) return attempt(std::uint64_t{});
  return type->atomic_word() == sizeof(std::uint32_t) && attempt(std::uint32_t{});
}

/// Contiguous memory of one type on all sides, by load and store. False, with nothing done: any other.
bool try_contiguous(Window const& window, UpdateCall const& call) noexcept {
  mpix_window_place const& place = *call.target;
  auto const is_alike = [&](mpix_window_buffer const& side) {
    return side.type == place.type && side.count == place.count;
  };
  Datatype const* const type = Datatype::find_known(place.type);
  if (type == nullptr || !type->is_contiguous() || place.count > type->max_count()) return false;
  if (engine::operand_count(call.operation) != 0 && !is_alike(*call.origin)) return false;
  if (call.result != nullptr && !is_alike(*call.result)) return false;
  engine::Reduction reduction{ElementType::none, call.operation, true, nullptr};
  if (element_for(call.operation, type->flat(), &reduction.type) != MPI_SUCCESS) return false;
  std::size_t const bytes = type->size() * static_cast<std::size_t>(place.count);
  auto const [target, mapped, address] = reach(window, place.rank, place.disp, bytes);
  if (mapped == nullptr || bytes == 0) return false;
  engine::StripeTable& table = *target->stripes;
  if (call.result == nullptr && engine::operand_count(call.operation) == 1) {
    if (engine::has_cpu_atomics(reduction.type)) {
      engine::accumulate_elements(reduction, call.origin->address, mapped, table, address, bytes,
                                  place.count == 1 && bytes <= sizeof(std::uint64_t));
    } else {
      engine::StripeGuard const guard(table, engine::stripes_of(address, address + bytes));
      engine::accumulate_contiguous(reduction, mapped, static_cast<std::byte const*>(call.origin->address),
                                    bytes);
    }
    return true;
  }
  bool const reads_origin = engine::operand_count(call.operation) != 0;
  engine::PackedSides const sides{
      reads_origin ? static_cast<std::byte const*>(call.origin->address) : nullptr,
      static_cast<std::byte const*>(call.operand2),
      call.result != nullptr ? static_cast<std::byte*>(call.result->address) : nullptr, bytes};
  return engine::try_update_elements(reduction, mapped, sides, table, address);
}

/// Describes `buffer`, whose data are to be as many as the target's. Error class.
int describe_like(Side const& target, mpix_window_buffer const& buffer, Side* side) {
  if (int const error = side->describe(buffer.type, buffer.count); error != MPI_SUCCESS) return error;
  return side->bytes() == target.bytes() ? MPI_SUCCESS : MPI_ERR_TYPE;
}

int update_any(Window& window, UpdateCall const& call, MPI_Request* request) {
  Target* target = nullptr;
  if (int const error = access(window, call.target->rank, request, &target); error != MPI_SUCCESS)
    return error;
  Side remote;
  Side origin;
  Side result;
  if (int const error = remote.describe(call.target->type, call.target->count); error != MPI_SUCCESS)
    return error;
  engine::Update update;
  update.operation = call.operation;
  update.guarantees = window.hints().accumulate_guarantees();
  update.target_layout = remote.layout();
  if (engine::operand_count(call.operation) != 0) {
    if (int const error = describe_like(remote, *call.origin, &origin); error != MPI_SUCCESS) return error;
    update.origin = static_cast<std::byte const*>(call.origin->address);
    update.operand2 = static_cast<std::byte const*>(call.operand2);
    update.origin_layout = origin.layout();
  }
  if (call.result != nullptr) {
    if (int const error = describe_like(remote, *call.result, &result); error != MPI_SUCCESS) return error;
    update.result = static_cast<std::byte*>(call.result->address);
    update.result_layout = result.layout();
  }
  if (remote.bytes() == 0) return finish_empty(request);
  if (int const error = element_for(call.operation, remote.type().flat(), &update.type); error != MPI_SUCCESS)
    return error;
  if (int const error = locate(window, *target, call.target->disp, &update); error != MPI_SUCCESS)
    return error;
  return issue(window, *target, update, request);
}

int update(mpix_window_t* handle, UpdateCall const& call, MPI_Request* request) {
  Window& window = *static_cast<Window*>(handle);
  if (request == nullptr && try_contiguous(window, call)) return MPI_SUCCESS;
  return update_any(window, call, request);
}

}  // namespace
}  // namespace mpix::windows

using namespace mpix::windows;

int mpix_window_accumulate(mpix_window_t* window, const struct mpix_window_buffer* origin,
                           const struct mpix_window_buffer* result, const struct mpix_window_place* target,
                           MPI_Op op, MPI_Request* request) try {
  auto const operation = mpix::operation_of(op);
  if (!operation) return MPI_ERR_OP;
  return update(window, {*operation, origin, nullptr, result, target}, request);
} catch (...) {
  return class_of_exception();
}

int mpix_window_fetch_and_op(mpix_window_t* window, const void* origin, void* result, MPI_Datatype type,
                             int rank, MPI_Aint disp, MPI_Op op) try {
  auto const operation = mpix::operation_of(op);
  if (!operation) return MPI_ERR_OP;
  mpix_window_buffer const from{const_cast<void*>(origin), 1, type};
  mpix_window_buffer const to{result, 1, type};
  mpix_window_place const place{rank, disp, 1, type};
  UpdateCall const call{*operation, &from, nullptr, &to, &place};
  if (try_fetching_word(*static_cast<Window*>(window), call)) return MPI_SUCCESS;
  return update(window, call, nullptr);
} catch (...) {
  return class_of_exception();
}

int mpix_window_compare_and_swap(mpix_window_t* window, const void* origin, const void* compare, void* result,
                                 MPI_Datatype type, int rank, MPI_Aint disp) try {
  mpix_window_buffer const from{const_cast<void*>(compare), 1, type};
  mpix_window_buffer const to{result, 1, type};
  mpix_window_place const place{rank, disp, 1, type};
  UpdateCall const call{mpix::engine::Operation::compare_swap_eq, &from, origin, &to, &place};
  if (try_fetching_word(*static_cast<Window*>(window), call)) return MPI_SUCCESS;
  return update(window, call, nullptr);
} catch (...) {
  return class_of_exception();
}
