/// The common implementation of all transfers: contiguous, strided and vector, blocking and non-blocking.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "armci/handles.hpp"
#include "armci/modes.hpp"
#include "armci/state.hpp"
#include "engine/sync/access_order.hpp"
#include "mpix/runtime/process_engine.hpp"

namespace armci {

using mpixrma::engine::Layout;

enum class Direction { put, get, accumulate };

/// The engine's OpKind of a put and of a get. That of an accumulate is OpKind::update.
template <Direction direction>
inline constexpr auto op_kind =
    direction == Direction::put ? mpixrma::engine::OpKind::put : mpixrma::engine::OpKind::get;

/// Whether a call returns on completion or leaves the operation to a handle.
struct Blocking {};
struct NonBlocking {
  int* handle;
};

/// The datatype and scale of an accumulate; the defaults for put and get.
struct Scaled {
  int datatype = -1;
  void const* scale = nullptr;
};

/// Whether the program promised exclusive access (an access mode) to all memory at `process` that the layout
/// spans from `remote` on.
bool is_exclusive(int process, void const* remote, mpixrma::engine::Extent spanned);
inline bool is_exclusive(int process, void const* remote, Layout const& layout) {
  return !modes.all_default() && is_exclusive(process, remote, layout.extent());
}
inline bool is_exclusive(int process, void const* remote, std::size_t bytes) {
  return !modes.all_default() && is_exclusive(process, remote, {0, static_cast<std::ptrdiff_t>(bytes)});
}

/// Returns the reduction of an ARMCI_ACC_ type on memory of `process`. It is atomic unless the access is
/// exclusive. A scale of one is omitted. Throws a Failure for an unknown type or a null scale.
mpixrma::engine::Reduction reduction_of(char const* call, int process, void const* remote,
                                        Scaled const& scaled, bool exclusive);

inline void run(char const* call, mpixrma::Target& target, mpixrma::engine::RmaOp& operation, Blocking) {
  check_operation(call, target, operation, mpixrma::issue_and_wait(target, operation));
}
inline void run(char const* call, mpixrma::Target& target, mpixrma::engine::RmaOp& operation,
                NonBlocking mode) {
  issue_nonblocking(call, target, operation, mode.handle);
}

/// Checks the flag of a put with a flag before the put. Throws a Failure if the flag's address is null.
void check_flag(char const* call, int const* flag, int process);
/// Writes the flag of a put with a flag. The flag is not written if the target rejected the data.
int put_flag(char const* call, int* flag, int value, int process);

/// Fills in the members of `operation` that describe an accumulate.
inline void describe_accumulate(char const* call, int process, void const* remote, Scaled const& scaled,
                                mpixrma::engine::RmaOp& operation) {
  operation.kind = mpixrma::engine::OpKind::update;
  mpixrma::engine::Reduction const reduction =
      reduction_of(call, process, remote, scaled, is_exclusive(process, remote, operation.target_layout));
  operation.reduce_op = reduction.operation;
  operation.type = reduction.type;
  operation.scale = reduction.scale;
  if (reduction.element_atomic) operation.flags = operation.flags | mpixrma::OpFlags::element_atomic;
  std::size_t const element = mpixrma::engine::element_size(reduction.type);
  if (!operation.origin_layout.has_whole(element) || !operation.target_layout.has_whole(element)) [[unlikely]]
    fail_at(call, process, remote, "a segment is not a multiple of the element's %zu bytes", element);
}

/// Transfers between `local` here and `remote` at `process`; both layouts have the same size.
template <Direction direction, typename Mode>
void transfer(char const* call, void* local, Layout const& local_layout, void* remote,
              Layout const& remote_layout, int process, Scaled const& scaled, Mode mode) {
  using namespace mpixrma::engine;
  mpixrma::Target& target = target_of(call, process);
  RmaOp operation;
  // Operations to one process take effect in issue order.
  operation.flags = OpFlags::ordered;
  operation.origin = static_cast<std::byte*>(local);
  operation.origin_layout = local_layout;
  operation.target = reinterpret_cast<RemoteAddress>(remote);
  operation.target_layout = remote_layout;
  if constexpr (direction == armci::Direction::accumulate) {
    describe_accumulate(call, process, remote, scaled, operation);
  } else {
    operation.kind = op_kind<direction>;
  }
  if (mpixrma::try_direct(target, operation)) return;
  run(call, target, operation, mode);
}

/// Calls `attempt`, which transfers `bytes` bytes by load and store or returns false, and returns its result.
/// Records the transfer if it was made.
template <Direction direction, typename Attempt>
[[gnu::always_inline]] inline bool record_if(mpixrma::engine::Recorder& recorder, mpixrma::Target& target,
                                             std::size_t bytes, Attempt&& attempt) {
  using mpixrma::engine::TracedOp;
  constexpr TracedOp op = direction == Direction::put   ? TracedOp::put
                          : direction == Direction::get ? TracedOp::get
                                                        : TracedOp::accumulate;
  std::uint64_t const began = recorder.now();
  if (!attempt()) return false;
  recorder.add_direct(began, target.peer->process(), op, bytes);
  return true;
}

/// Accumulates by load and store while a trace is written, and records that. Not inlined, so that the common
/// case stays short.
[[gnu::noinline]] inline bool accumulate_traced(mpixrma::Target& target, mpixrma::engine::Reduction reduction,
                                                void const* local, mpixrma::RemoteAddress address,
                                                std::size_t bytes) {
  return record_if<Direction::accumulate>(*mpixrma::direct_recorder(), target, bytes, [&] {
    return mpixrma::try_direct_accumulate<mpixrma::Lookup::traced>(target, reduction, local, address, bytes);
  });
}

/// As mpixrma::try_direct_accumulate; also returns false if the size is not a multiple of the element.
inline bool accumulate_directly(char const* call, void const* local, void const* remote, std::size_t bytes,
                                int process, Scaled const& scaled) {
  mpixrma::Target& target = target_of(call, process);
  mpixrma::engine::Reduction const reduction =
      reduction_of(call, process, remote, scaled, is_exclusive(process, remote, bytes));
  // The element size is a power of two, so no division is needed.
  if ((bytes & (mpixrma::engine::element_size(reduction.type) - 1)) != 0) return false;
  auto const address = reinterpret_cast<mpixrma::RemoteAddress>(remote);
  mpixrma::engine::order_before_store();
  if (mpixrma::try_direct_accumulate(target, reduction, local, address, bytes)) [[likely]]
    return true;
  return mpixrma::direct_recorder() != nullptr && accumulate_traced(target, reduction, local, address, bytes);
}

/// Transfers by load and store within the call. Returns false without side effects if that is impossible. A
/// put or get finds large segments only, and returns false for others: its look-up is inlined and calls no
/// function.
template <Direction direction>
bool move_directly(char const* call, void* local, void* remote, std::size_t bytes, int process,
                   Scaled const& scaled) {
  if constexpr (direction == Direction::accumulate) {
    return accumulate_directly(call, local, remote, bytes, process, scaled);
  } else {
    if constexpr (direction == Direction::put) mpixrma::engine::order_before_store();
    mpixrma::Target* const target = known_target(process);
    auto const address = reinterpret_cast<mpixrma::RemoteAddress>(remote);
    bool const done =
        target != nullptr && mpixrma::try_direct_inline<op_kind<direction>>(*target, local, address, bytes);
    if constexpr (direction == Direction::get) mpixrma::engine::order_after_load();
    return done;
  }
}

/// The uncommon cases of contiguous(). Not inlined: these need registers that the common case would then have
/// to save.
template <Direction direction, typename Mode>
[[gnu::noinline]] int contiguous_slow_path(char const* call, void* local, void* remote, int bytes,
                                           int process, Scaled const& scaled, Mode mode) {
  mpixrma::Target& target = target_of(call, process);
  if (bytes == 0) return 0;
  if (bytes < 0) fail_at(call, process, remote, "size %d is negative", bytes);
  if (local == nullptr || remote == nullptr)
    fail_at(call, process, remote, "the %s address is null", local == nullptr ? "local" : "remote");
  auto const size = static_cast<std::size_t>(bytes);
  if constexpr (direction != Direction::accumulate) {
    auto const address = reinterpret_cast<mpixrma::RemoteAddress>(remote);
    mpixrma::engine::order_before_store(direction == Direction::put);
    if (mpixrma::try_direct<op_kind<direction>>(target, local, address, size)) {
      mpixrma::engine::order_after_load(direction == Direction::get);
      return 0;
    }
  }
  Layout const layout = Layout::contiguous(size);
  transfer<direction>(call, local, layout, remote, layout, process, scaled, mode);
  return 0;
}

/// A put or get while a trace is written: by load and store, and recorded, if that is possible.
template <Direction direction, typename Mode>
[[gnu::noinline]] int contiguous_traced(char const* call, void* local, void* remote, int bytes, int process,
                                        mpixrma::engine::Recorder& recorder, Scaled const& scaled,
                                        Mode mode) {
  mpixrma::Target* const target = known_target(process);
  bool const is_possible = target != nullptr && bytes > 0 && local != nullptr && remote != nullptr;
  auto const size = static_cast<std::size_t>(bytes);
  if (is_possible && record_if<direction>(recorder, *target, size, [&] {
        mpixrma::engine::order_before_store(direction == Direction::put);
        bool const done = mpixrma::try_direct<op_kind<direction>, mpixrma::Lookup::traced>(
            *target, local, reinterpret_cast<mpixrma::RemoteAddress>(remote), size);
        mpixrma::engine::order_after_load(direction == Direction::get);
        return done;
      })) [[likely]]
    return 0;
  return contiguous_slow_path<direction>(call, local, remote, bytes, process, scaled, mode);
}

template <Direction direction, typename Mode>
int contiguous(char const* call, void* local, void* remote, int bytes, int process, Scaled const& scaled,
               Mode mode) {
  bool const is_possible = bytes > 0 && local != nullptr && remote != nullptr;
  if (is_possible && move_directly<direction>(call, local, remote, static_cast<std::size_t>(bytes), process,
                                              scaled)) [[likely]]
    return 0;
  if constexpr (direction != Direction::accumulate) {
    if (mpixrma::engine::Recorder* const recorder = mpixrma::direct_recorder()) [[unlikely]]
      return contiguous_traced<direction>(call, local, remote, bytes, process, *recorder, scaled, mode);
  }
  return contiguous_slow_path<direction>(call, local, remote, bytes, process, scaled, mode);
}

}  // namespace armci
