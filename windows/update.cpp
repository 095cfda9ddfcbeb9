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
  return update_any(*static_cast<Window*>(handle), call, request);
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
  return update(window, {*operation, &from, nullptr, &to, &place}, nullptr);
} catch (...) {
  return class_of_exception();
}

int mpix_window_compare_and_swap(mpix_window_t* window, const void* origin, const void* compare, void* result,
                                 MPI_Datatype type, int rank, MPI_Aint disp) try {
  mpix_window_buffer const from{const_cast<void*>(compare), 1, type};
  mpix_window_buffer const to{result, 1, type};
  mpix_window_place const place{rank, disp, 1, type};
  return update(window, {mpix::engine::Operation::compare_swap_eq, &from, origin, &to, &place}, nullptr);
} catch (...) {
  return class_of_exception();
}
