/// Direct protocol: operations by load and store.
#include "engine/op/kernel/whole_elements.hpp"
#include "engine/proto/direct.hpp"
#include "engine/proto/direct_run.hpp"
#include "engine/runtime/dispatch.hpp"

namespace mpixrma::engine {

namespace {

RemoteAddress add_offset(RemoteAddress address, std::ptrdiff_t offset) noexcept {
  return address + static_cast<std::uint64_t>(offset);
}

/// Whether a run of the target's layout may end within an element.
bool cuts_elements(RmaOp const& operation) noexcept {
  return operation.is_update() && has_inner_gap(operation.type);
}

/// Executes an operation whose target lies in several mapped segments, run by run. Returns false without side
/// effects if a run is not mapped; `*refused` as by EnginePeerMemory::map_range.
bool execute_piecewise(Dispatch& dispatch, Status* refused) {
  RmaOp const& operation = dispatch.operation();
  if (cuts_elements(operation)) return false;
  std::size_t const total = operation.target_layout.size();
  LayoutCursor check(operation.target_layout);
  while (check.remaining() != 0) {
    LayoutRun const run = check.next();
    if (dispatch.map(add_offset(operation.target, run.offset), run.length, refused) == nullptr) return false;
  }
  LayoutCursor cursor(operation.target_layout);
  for (std::size_t position = 0; position < total;) {
    LayoutRun const run = cursor.next();
    std::byte* const target = dispatch.map(add_offset(operation.target, run.offset), run.length, refused);
    if (target == nullptr) {  // freed while in use
      if (!failed(*refused)) *refused = Status::bad_address;
      return false;
    }
    direct_run(operation, run, position, target, dispatch.peer().stripes()->modes);
    position += run.length;
  }
  return true;
}

}  // namespace

/// Also true for a range that issue() rejects: the error needs no wait either.
bool direct::can_execute(Dispatch& dispatch) {
  if (!dispatch.may_use(MPIX_ENGINE_PROTOCOL_DIRECT)) return false;
  auto const [begin, bytes] = dispatch.target();
  Status refused = Status::ok;
  return dispatch.map(begin, bytes, &refused) != nullptr || failed(refused);
}

std::optional<Issued> direct::issue(Dispatch& dispatch) {
  if (!dispatch.may_use(MPIX_ENGINE_PROTOCOL_DIRECT)) return std::nullopt;
  RmaOp const& operation = dispatch.operation();
  auto const [begin, bytes] = dispatch.target();
  Status refused = Status::ok;
  if (std::byte* const mapped = dispatch.map(begin, bytes, &refused)) {
    execute_directly(operation, mapped - (begin - operation.target), dispatch.peer().stripes()->modes);
    return Issued{};
  }
  if (failed(refused) && !operation.target_layout.is_contiguous()) {
    refused = Status::ok;
    if (execute_piecewise(dispatch, &refused)) return Issued{};
  }
  return failed(refused) ? std::optional(Issued::ended(refused)) : std::nullopt;
}

}  // namespace mpixrma::engine
