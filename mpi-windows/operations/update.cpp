/// The accumulate family: one update of elements, with or without their previous values.
#include <cstring>
#include <optional>

#include "datatype/predefined.hpp"
#include "mpi-windows/operations/appended.hpp"
#include "mpi-windows/operations/operation.hpp"

namespace mpixrma::windows {

namespace {

using engine::ElementType;
using engine::Fetch;
using engine::ReduceOp;

/// The arguments of an update.
struct UpdateCall {
  ReduceOp operation;
  mpix_window_buffer const* origin;  ///< operand of the update; of MPI_Compare_and_swap: its compare_addr
  void const* operand2;  ///< of MPI_Compare_and_swap: its origin_addr, laid out as `origin`; else null
  mpix_window_buffer const* result;
  mpix_window_place const* target;
  int notification = no_notification;
  /// Name of a call on one element; null: the name follows from the other arguments.
  char const* name = nullptr;

  char const* name_with(MPI_Request const* request) const noexcept {
    if (name != nullptr) return name;
    return call_name(result != nullptr ? CallKind::get_accumulate : CallKind::accumulate, request,
                     notification);
  }
};

/// Returns ReduceOp::count_ for an operation that is not predefined.
inline ReduceOp operation_of(MPI_Op op) noexcept {
  if (op == MPI_SUM) [[likely]]
    return ReduceOp::sum;
  return mpixrma::operation_of(op).value_or(ReduceOp::count_);
}

/// Whether MPI_Compare_and_swap is defined: for one integer, logical or byte, and `element` is its type.
inline bool can_compare_swap(FlatType const& flat, ElementType element, std::size_t bytes) noexcept {
  return element != ElementType::none && engine::has_cpu_atomics(element) && flat.base != MPI_WCHAR &&
         bytes == engine::element_size(element);
}

/// Determines the element type of an update from the datatype. Returns an error class.
int element_for(ReduceOp operation, Datatype const& type, ElementType* element) {
  FlatType const& flat = type.flat();
  if (flat.mixed) return MPI_ERR_TYPE;
  *element = flat.element;
  bool const swap = operation == ReduceOp::compare_swap_eq;
  bool const bits = operation == ReduceOp::band || operation == ReduceOp::bor || operation == ReduceOp::bxor;
  if (flat.base == MPI_BYTE && (bits || swap)) *element = ElementType::uint8;
  if (swap) return can_compare_swap(flat, *element, flat.size) ? MPI_SUCCESS : MPI_ERR_TYPE;
  return type.defines(operation) ? MPI_SUCCESS : MPI_ERR_OP;
}

/// Contiguous elements of a predefined type, or of a derived type that consists of one predefined type, at a
/// target that was used recently and that loads and stores reach.
struct Elements {
  std::byte* mapped = nullptr;  ///< null: not such elements
  std::size_t bytes = 0;
  engine::RemoteAddress address = 0;  ///< in the process that has the memory
  Datatype const* type = nullptr;
  Target const* target = nullptr;

  engine::StripeTable& stripes() const noexcept { return *target->stripes; }
};

/// The result of an attempt to update elements by load and store.
struct Updated {
  Target const* target = nullptr;  ///< null: nothing was done
  std::size_t bytes = 0;

  explicit operator bool() const noexcept { return target != nullptr; }
};
template <Lookup lookup = Lookup::usual>
inline Elements find_elements(Window& window, ReduceOp operation, int rank, MPI_Aint disp, MPI_Count count,
                              MPI_Datatype type) noexcept {
  Datatype const* const known = window.recent_type.find(type);
  std::size_t const bytes = known != nullptr ? known->contiguous_bytes(count) : 0;
  if (bytes == 0) return {};
  Target const& target = window.targets.recent(rank);
  std::uint64_t offset = 0;
  std::byte* const mapped = target.translate<lookup>(disp, bytes, &offset);
  if (mapped == nullptr || !known->defines(operation)) return {};
  return {mapped, bytes, target.address_of(offset), known, &target};
}

/// Updates one word by one atomic instruction, if its memory is in mode `elements`. Returns false if nothing
/// was done.
template <typename Word>
inline bool try_word(Elements const& element, ReduceOp operation, void const* operand, void const* operand2,
                     void* result) noexcept {
  if (element.address % sizeof(Word) != 0 || !element.stripes().modes.is_by_element(element.address))
    return false;
  auto* const word = reinterpret_cast<Word*>(element.mapped);
  Word unwanted;
  auto* const before = result != nullptr ? static_cast<Word*>(result) : &unwanted;
  if (operation == ReduceOp::no_op) {
    *before = __atomic_load_n(word, __ATOMIC_SEQ_CST);
    return true;
  }
  Word const second = operand2 != nullptr ? *static_cast<Word const*>(operand2) : Word{};
  return engine::update_word(word, operation, *static_cast<Word const*>(operand), second, before);
}

inline bool try_one_word(Elements const& element, ReduceOp operation, void const* operand,
                         void const* operand2, void* result) noexcept {
  if (element.type->atomic_word() == sizeof(std::uint64_t))
    return try_word<std::uint64_t>(element, operation, operand, operand2, result);
  return element.type->atomic_word() == sizeof(std::uint32_t) &&
         try_word<std::uint32_t>(element, operation, operand, operand2, result);
}

/// Updates one element and fetches its previous value.
template <Lookup lookup = Lookup::usual>
inline Updated try_fetch(Window& window, ReduceOp operation, void const* operand, void const* operand2,
                         void* result, int rank, MPI_Aint disp, MPI_Datatype type) noexcept {
  Elements const element = find_elements<lookup>(window, operation, rank, disp, 1, type);
  bool const done = element.mapped != nullptr && try_one_word(element, operation, operand, operand2, result);
  return done ? Updated{element.target, element.bytes} : Updated{};
}

/// Accumulates elements of types without CPU atomics while it holds their stripe. Returns false for other
/// types, for elements in several stripes, or if the stripe is not free at once.
inline bool try_in_stripe(Window& window, Elements const& elements, ReduceOp operation,
                          void const* origin) noexcept {
  ElementType const type = elements.type->flat().element;
  if (engine::has_cpu_atomics(type)) return false;
  engine::SmallGuard const guard(elements.stripes(), elements.address, elements.address + elements.bytes,
                                 window.pid);
  if (!guard.is_held()) return false;
  window.stores.note();
  auto const* const from = static_cast<std::byte const*>(origin);
  if (elements.bytes == sizeof(double) && type == ElementType::float64 && operation == ReduceOp::sum) {
    double present = 0;
    double addend = 0;
    std::memcpy(&present, elements.mapped, sizeof present);
    std::memcpy(&addend, from, sizeof addend);
    present += addend;
    std::memcpy(elements.mapped, &present, sizeof present);
  } else {
    engine::accumulate_contiguous({type, operation}, elements.mapped, from, elements.bytes);
  }
  return true;
}

template <Lookup lookup = Lookup::usual>
inline Updated try_accumulate(Window& window, ReduceOp operation, void const* origin, int rank, MPI_Aint disp,
                              MPI_Count count, MPI_Datatype type) noexcept {
  Elements const elements = find_elements<lookup>(window, operation, rank, disp, count, type);
  if (elements.mapped == nullptr || operation == ReduceOp::no_op) return {};
  bool const done = count == 1 && elements.type->atomic_word() != 0
                        ? try_one_word(elements, operation, origin, nullptr, nullptr)
                        : try_in_stripe(window, elements, operation, origin);
  return done ? Updated{elements.target, elements.bytes} : Updated{};
}

/// Updates contiguous memory of one type on all sides by load and store.
template <Lookup lookup = Lookup::usual>
Updated try_contiguous(Window& window, UpdateCall const& call) noexcept {
  mpix_window_place const& place = *call.target;
  auto const is_alike = [&](mpix_window_buffer const& side) {
    return side.type == place.type && side.count == place.count;
  };
  bool const reads_origin = engine::operand_count(call.operation) != 0;
  if (reads_origin && !is_alike(*call.origin)) return {};
  if (call.result != nullptr && !is_alike(*call.result)) return {};
  auto const [mapped, bytes, address, type, target] =
      find_elements<lookup>(window, call.operation, place.rank, place.disp, place.count, place.type);
  if (mapped == nullptr) return {};
  ElementType const element = type->flat().element;
  bool const swap = call.operation == ReduceOp::compare_swap_eq;
  if (swap && !can_compare_swap(type->flat(), element, bytes)) return {};
  engine::Reduction const reduction{
      .type = element, .operation = call.operation, .element_atomic = true, .scale = nullptr};
  if (call.result == nullptr && engine::operand_count(call.operation) == 1) {
    if (engine::has_cpu_atomics(reduction.type)) {
      engine::accumulate_elements(
          reduction, call.origin->address, mapped, *target->stripes, address, bytes,
          place.count == 1 && bytes <= sizeof(std::uint64_t) && !window.hints.keeps_arrays());
    } else {
      engine::StripeGuard const guard(*target->stripes, engine::stripes_of(address, address + bytes));
      engine::accumulate_contiguous(reduction, mapped, static_cast<std::byte const*>(call.origin->address),
                                    bytes);
    }
    return {target, bytes};
  }
  engine::PackedSides const sides{
      reads_origin ? static_cast<std::byte const*>(call.origin->address) : nullptr,
      static_cast<std::byte const*>(call.operand2),
      call.result != nullptr ? static_cast<std::byte*>(call.result->address) : nullptr, bytes};
  bool const done = engine::try_update_elements(reduction, mapped, sides, *target->stripes, address,
                                                window.hints.accumulate_flags());
  return done ? Updated{target, bytes} : Updated{};
}

/// While a trace is written, calls `attempt` and records the update as `op()`. `attempt` executes an update
/// by load and store, and returns an Updated. Returns false if nothing was done.
template <typename Attempt, typename Op>
inline bool try_traced(Window& window, Attempt attempt, Op op) noexcept {
  engine::Recorder* const recorder = window.engine.direct_recorder();
  if (recorder == nullptr) [[likely]]
    return false;
  std::uint64_t const began = recorder->now();
  Updated const updated = attempt();
  if (!updated) return false;
  recorder->add_direct(began, updated.target->memory_owner->process(), op(), updated.bytes);
  return true;
}

__attribute__((noinline)) bool try_contiguous_traced(Window& window, UpdateCall const& call) noexcept {
  return try_traced(
      window, [&] { return try_contiguous<Lookup::traced>(window, call); },
      [&] { return engine::traced_update(call.operation, Fetch{call.result != nullptr}); });
}

/// As try_append().
bool append_accumulate(Window& window, UpdateCall const& call) {
  bool const has_one_operand =
      call.operation != ReduceOp::count_ && engine::operand_count(call.operation) == 1;
  if (call.result != nullptr || !has_one_operand) return false;
  return try_append(window, *call.origin, *call.target,
                    {.kind = engine::OpKind::update,
                     .reduce_op = call.operation,
                     .flags = window.hints.accumulate_flags()});
}

/// Describes `buffer`, which must have the target's bytes and type of elements. Returns an error class.
int describe_like(Side const& target, mpix_window_buffer const& buffer, Side* side) {
  if (int const error = side->describe(buffer.type, buffer.count); error != MPI_SUCCESS) return error;
  bool const has_elements = target.bytes() != 0;
  bool const alike = !has_elements || side->type().flat().element == target.type().flat().element;
  return alike && side->bytes() == target.bytes() ? MPI_SUCCESS : MPI_ERR_TYPE;
}

int update_checked(Window& window, UpdateCall const& call, MPI_Request* request) {
  Target* target = nullptr;
  if (int const error = find_and_open(window, call.target->rank, request, &target); error != MPI_SUCCESS)
    return error;
  Side remote;
  Side origin;
  Side result;
  if (int const error = remote.describe_target(*call.target); error != MPI_SUCCESS) return error;
  engine::RmaOp update = engine::update_with(call.operation, ElementType::none);
  update.flags = window.hints.accumulate_flags();
  update.target_layout = remote.layout();
  if (engine::operand_count(call.operation) != 0) {
    if (int const error = describe_like(remote, *call.origin, &origin); error != MPI_SUCCESS) return error;
    update.origin = origin.rebase(call.origin->address);
    update.operand2 = static_cast<std::byte const*>(call.operand2);
    update.origin_layout = origin.layout();
  }
  if (call.result != nullptr) {
    if (int const error = describe_like(remote, *call.result, &result); error != MPI_SUCCESS) return error;
    update.result = result.rebase(call.result->address);
    update.result_layout = result.layout();
  }
  bool const notified = call.notification != no_notification;
  if (remote.bytes() == 0 && !notified) return finish_empty(request);
  // A datatype without data has no elements either.
  int const typed =
      remote.bytes() != 0 ? element_for(call.operation, remote.type(), &update.type) : MPI_SUCCESS;
  if (typed != MPI_SUCCESS) return typed;
  if (int const error = locate(window, *target, call.target->disp, &update); error != MPI_SUCCESS)
    return error;
  return issue_or_queue(window, *target, update, call.notification, request);
}

__attribute__((noinline)) int update(mpix_window_t* handle, UpdateCall const& call,
                                     MPI_Request* request) noexcept try {
  Window& window = *static_cast<Window*>(handle);
  bool const does_nothing = call.operation == ReduceOp::no_op && call.result == nullptr;
  if (call.operation == ReduceOp::count_ || does_nothing) return MPI_ERR_OP;
  window.stores.note();
  bool const plain = request == nullptr && call.notification == no_notification;
  if (plain && (try_contiguous(window, call) || try_contiguous_traced(window, call))) return MPI_SUCCESS;
  int const error = update_checked(window, call, request);
  if (error == MPI_SUCCESS) [[likely]]
    return MPI_SUCCESS;
  bool const fetches = call.result != nullptr;
  return report(
      window, error, call.name_with(request),
      {fetches ? engine::ReportedOperation::read_modify_write : engine::ReportedOperation::accumulate,
       call.target->rank, call.target->disp, bytes_of(*call.target)});
} catch (...) {
  return class_of_exception();
}

/// Accumulates by a batch, or by the general path. The arguments are those of the caller, in the same order.
__attribute__((noinline)) int accumulate_general_path(void const* origin, MPI_Count origin_count,
                                                      MPI_Datatype origin_type, int rank, MPI_Aint disp,
                                                      MPI_Count count, MPI_Datatype type, ReduceOp operation,
                                                      mpix_window_t* window) noexcept try {
  mpix_window_buffer const from{const_cast<void*>(origin), origin_count, origin_type};
  mpix_window_place const place{rank, disp, count, type};
  UpdateCall const call{operation, &from, nullptr, nullptr, &place};
  if (append_accumulate(*static_cast<Window*>(window), call)) return MPI_SUCCESS;  // most of a stream
  return update(window, call, nullptr);
} catch (...) {
  return class_of_exception();
}

__attribute__((noinline)) int accumulate_traced_or_general(void const* origin, MPI_Count origin_count,
                                                           MPI_Datatype origin_type, int rank, MPI_Aint disp,
                                                           MPI_Count count, MPI_Datatype type,
                                                           ReduceOp operation,
                                                           mpix_window_t* window) noexcept {
  bool const alike = origin_type == type && origin_count == count;
  auto& state = *static_cast<Window*>(window);
  auto const attempt = [&] {
    return try_accumulate<Lookup::traced>(state, operation, origin, rank, disp, count, type);
  };
  if (alike && try_traced(state, attempt, [] { return engine::TracedOp::accumulate; })) [[unlikely]]
    return MPI_SUCCESS;
  return accumulate_general_path(origin, origin_count, origin_type, rank, disp, count, type, operation,
                                 window);
}

/// Fetches and updates one element while a trace is written, or by the general path.
inline int fetch_traced_or_general(char const* name, ReduceOp operation, void const* operand,
                                   void const* operand2, void* result, MPI_Datatype type, int rank,
                                   MPI_Aint disp, mpix_window_t* window) noexcept {
  auto& state = *static_cast<Window*>(window);
  auto const attempt = [&] {
    return try_fetch<Lookup::traced>(state, operation, operand, operand2, result, rank, disp, type);
  };
  if (try_traced(state, attempt, [&] { return engine::traced_update(operation, Fetch::yes); })) [[unlikely]]
    return MPI_SUCCESS;
  mpix_window_buffer const from{const_cast<void*>(operand), 1, type};
  mpix_window_buffer const to{result, 1, type};
  mpix_window_place const place{rank, disp, 1, type};
  return update(window, {operation, &from, operand2, &to, &place, no_notification, name}, nullptr);
}

// The arguments of these functions are those of the calls, in the same order: the calls end in a jump there,
// and save fewer registers.

__attribute__((noinline)) int fetch_slow_path(void const* origin, void* result, MPI_Datatype type, int rank,
                                              MPI_Aint disp, MPI_Op op, mpix_window_t* window) noexcept {
  return fetch_traced_or_general("MPI_Fetch_and_op", operation_of(op), origin, nullptr, result, type, rank,
                                 disp, window);
}

__attribute__((noinline)) int swap_slow_path(void const* origin, void const* compare, void* result,
                                             MPI_Datatype type, int rank, MPI_Aint disp,
                                             mpix_window_t* window) noexcept {
  return fetch_traced_or_general("MPI_Compare_and_swap", ReduceOp::compare_swap_eq, compare, origin, result,
                                 type, rank, disp, window);
}

}  // namespace
}  // namespace mpixrma::windows

using namespace mpixrma::windows;
using mpixrma::engine::ReduceOp;

int mpix_window_accumulate(const void* origin, MPI_Count origin_count, MPI_Datatype origin_type, int rank,
                           MPI_Aint disp, MPI_Count count, MPI_Datatype type, MPI_Op op,
                           mpix_window_t* window) {
  ReduceOp const operation = operation_of(op);
  if (origin_type == type && origin_count == count &&
      try_accumulate(*static_cast<Window*>(window), operation, origin, rank, disp, count, type)) [[likely]]
    return MPI_SUCCESS;
  return accumulate_traced_or_general(origin, origin_count, origin_type, rank, disp, count, type, operation,
                                      window);
}

int mpix_window_update(mpix_window_t* window, const struct mpix_window_buffer* origin,
                       const struct mpix_window_buffer* result, const struct mpix_window_place* target,
                       MPI_Op op, MPI_Request* request) {
  return update(window, {operation_of(op), origin, nullptr, result, target}, request);
}

int mpix_window_accumulate_notify(mpix_window_t* window, const struct mpix_window_buffer* origin,
                                  const struct mpix_window_buffer* result,
                                  const struct mpix_window_place* target, MPI_Op op, int notification,
                                  MPI_Request* request) {
  if (notification < 0) return MPI_ERR_ARG;
  return update(window, {operation_of(op), origin, nullptr, result, target, notification}, request);
}

int mpix_window_fetch_and_op(const void* origin, void* result, MPI_Datatype type, int rank, MPI_Aint disp,
                             MPI_Op op, mpix_window_t* window) {
  if (try_fetch(*static_cast<Window*>(window), operation_of(op), origin, nullptr, result, rank, disp, type))
      [[likely]]
    return MPI_SUCCESS;
  return fetch_slow_path(origin, result, type, rank, disp, op, window);
}

int mpix_window_compare_and_swap(const void* origin, const void* compare, void* result, MPI_Datatype type,
                                 int rank, MPI_Aint disp, mpix_window_t* window) {
  constexpr ReduceOp swap = ReduceOp::compare_swap_eq;
  if (try_fetch(*static_cast<Window*>(window), swap, compare, origin, result, rank, disp, type)) [[likely]]
    return MPI_SUCCESS;
  return swap_slow_path(origin, compare, result, type, rank, disp, window);
}
