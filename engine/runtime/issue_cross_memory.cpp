/// Cross-memory protocol: the kernel transfers data to and from a process of this host.
#include "engine/proto/cross_memory.hpp"
#include "engine/runtime/dispatch.hpp"
#include "engine/sync/footprint.hpp"

namespace mpixrma::engine {

namespace {

/// Whether the operation needs the CPU's atomics, which do not work across address spaces. Does not switch
/// the mode of the target's memory, because the stripes may not be held yet.
bool needs_cpu_atomics(RmaOp const& operation, UpdateModes const& modes) noexcept {
  return operation.is_update() && has_atomic_elements(operation, modes);
}

/// Whether a partly executed operation may be executed again as a whole. Not while the target's stripes are
/// held: the rest must be executed before their release, so that no other operation sees only a part.
bool may_be_repeated(Dispatch const& dispatch) noexcept {
  return !dispatch.operation().is_update() && !dispatch.holds_target_stripes();
}

/// Whether the target's memory was freed by its owner, although it is still mapped there.
bool is_freed(Dispatch const& dispatch) {
  if (dispatch.may_use(MPIX_ENGINE_PROTOCOL_DIRECT)) return false;  // the direct protocol has looked it up
  auto const [begin, bytes] = dispatch.target();
  return dispatch.peer_state().segments->in_region(begin, begin + bytes) && failed(dispatch.check_segment());
}

}  // namespace

bool cross_memory::process_vm_can_transfer(Dispatch& dispatch) noexcept {
  return dispatch.peer_state().cross_memory.load(std::memory_order_relaxed) &&
         !needs_cpu_atomics(dispatch.operation(), dispatch.peer().stripes()->modes);
}

bool cross_memory::can_execute(Dispatch& dispatch) {
  bool const by_message =
      is_scattered(dispatch.operation().target_layout) && dispatch.may_use(MPIX_ENGINE_PROTOCOL_MESSAGE);
  return !by_message && process_vm_can_transfer(dispatch);
}

std::optional<Issued> cross_memory::issue(Dispatch& dispatch) {
  return can_execute(dispatch) ? transfer(dispatch) : std::nullopt;
}

std::optional<Issued> cross_memory::transfer(Dispatch& dispatch) {
  if (is_freed(dispatch)) return std::nullopt;
  RmaOp const& operation = dispatch.operation();
  std::size_t done = 0;
  Status status =
      execute_across(operation, dispatch.peer_state().location.pid, cross_memory_call_bytes, &done);
  if (status == Status::bad_address && dispatch.check_segment() == Status::overrun) status = Status::overrun;
  if (status != Status::unsupported) return Issued::ended(status);
  // The kernel has begun to deny access.
  dispatch.peer_state().cross_memory.store(false, std::memory_order_relaxed);
  if (done != 0 && !may_be_repeated(dispatch))
    dispatch.unexecuted().push_back({done, operation.target_layout.size() - done});
  return std::nullopt;
}

}  // namespace mpixrma::engine
