/// The steps that put, get and the accumulate family have in common, from the arguments of a call to the
/// engine's operation.
#pragma once

#include <mpi.h>

#include "datatype/absolute.hpp"
#include "datatype/datatype.hpp"
#include "engine/proto/direct.hpp"
#include "engine/runtime/blocking_completion.hpp"
#include "mpi-windows/epochs/access.hpp"
#include "mpi-windows/epochs/queue.hpp"
#include "mpi-windows/operations/notified.hpp"
#include "mpi-windows/operations/queued.hpp"
#include "mpi-windows/operations/striped_region.hpp"
#include "mpi-windows/state/failure.hpp"
#include "mpi-windows/state/request.hpp"
#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

/// The buffer of one side of an operation, as the engine describes it. Not copied: the layout refers to its
/// dimensions.
class Side {
 public:
  /// Sets the datatype and the layout. Returns an error class.
  int describe(MPI_Datatype type, MPI_Count count) {
    type_ = Datatype::find(type);
    if (type_ == nullptr) return MPI_ERR_TYPE;
    if (count < 0 || count > type_->max_count()) return MPI_ERR_COUNT;
    layout_ = type_->layout(static_cast<std::size_t>(count), dimensions_);
    bytes_ = type_->size() * static_cast<std::size_t>(count);
    return MPI_SUCCESS;
  }
  /// As describe(), for the target's side: memory beyond all addresses is not inside the window.
  int describe_target(mpix_window_place const& place) {
    int const error = describe(place.type, place.count);
    if (error != MPI_ERR_COUNT || place.count <= 0) [[likely]]
      return error;
    return code_with(MPI_ERR_RMA_RANGE, "%lld elements of the target's datatype exceed the window",
                     static_cast<long long>(place.count));
  }
  Side() = default;
  Side(Side const&) = delete;
  Side& operator=(Side const&) = delete;

  /// Returns the address to which layout() is relative from here on.
  std::byte* rebase(void* address) { return absolute_.rebase(address, &layout_); }

  Datatype const& type() const noexcept { return *type_; }
  engine::Layout const& layout() const noexcept { return layout_; }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  Datatype const* type_ = nullptr;
  engine::Layout layout_;
  std::size_t bytes_ = 0;
  engine::Dimension dimensions_[engine::max_dimensions];
  AbsoluteBuffer absolute_;
};

/// Finds the target of an operation, opening the target if necessary. Returns an error class or code.
inline int find_and_open(Window& window, int rank, MPI_Request const* request, Target** target) {
  if (request != nullptr && !window.epoch.is_passive()) return MPI_ERR_RMA_SYNC;
  *target = window.targets.find_open(rank);
  int const error = *target != nullptr ? MPI_SUCCESS : open_target(window, rank, target);
  if (error == MPI_SUCCESS) window.note_use(**target);
  return error;
}

/// Checks that the operation's target memory is communicatable, in one segment or several; may query the
/// target. Returns an error class.
inline int check_address(Window const& window, Target const& target, engine::RmaOp const& operation) {
  engine::SegmentInfo found{};
  engine::LayoutCursor cursor(operation.target_layout);
  while (cursor.remaining() != 0) {
    engine::LayoutRun const run = cursor.next();
    engine::RemoteAddress address = operation.target + static_cast<std::uint64_t>(run.offset);
    engine::RemoteAddress const end = address + run.length;
    while (address < end) {
      auto const is_found = [&] { return address - found.base < found.length; };
      if (!is_found()) {
        auto const status = window.engine.peer_memory.find_segment(*target.memory_owner, address, &found);
        if (engine::failed(status)) return class_of(window, status);
      }
      if (!is_found()) return MPI_ERR_RMA_RANGE;
      address = found.base + found.length;
    }
  }
  return MPI_SUCCESS;
}

/// Sets `operation->target` and `exposed` to the location of the target memory. Returns an error of class
/// MPI_ERR_RMA_RANGE if this memory is not within the window, as far as this process knows.
inline int locate(Window const& window, Target const& target, MPI_Aint disp, engine::RmaOp* operation) {
  if (window.is_dynamic()) {
    operation->target = static_cast<engine::RemoteAddress>(disp);
    return window.engine.is_checking() ? check_address(window, target, *operation) : MPI_SUCCESS;
  }
  std::int64_t offset = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  engine::Extent const extent = operation->target_layout.extent();
  bool const wraps = __builtin_mul_overflow(disp, std::int64_t{target.disp_unit}, &offset) ||
                     __builtin_add_overflow(offset, extent.begin, &begin) ||
                     __builtin_add_overflow(offset, extent.end, &end);
  if (wraps || begin < 0 || static_cast<std::uint64_t>(end) > target.size) [[unlikely]]
    return range_failure(target,
                         {reported_kind(*operation), target.rank, disp, operation->target_layout.size()});
  operation->target = target.offset + static_cast<std::uint64_t>(offset);
  operation->exposed.target = target.exposure;
  return MPI_SUCCESS;
}

/// Executes an operation without notification by load and store if its target memory is mapped. The flags of
/// the operation require no more than atomic elements. `operation` then refers to the target memory by
/// address. Returns false if nothing was done.
inline bool try_load_store(Window const& window, Target const& target, engine::RmaOp& operation) {
  if (operation.notify != 0) return false;
  engine::Extent const extent = operation.target_layout.extent();
  auto const bytes = static_cast<std::size_t>(extent.end - extent.begin);
  engine::RemoteAddress begin = operation.target + static_cast<std::uint64_t>(extent.begin);
  std::byte* mapped = nullptr;
  if (!window.is_dynamic()) {
    std::uint64_t const offset = begin - target.offset;
    begin = target.view.exposure.base + offset;
    mapped = target.view.translate(offset, bytes, engine::Rights::all);
  } else if (!window.engine.issues_all() && !target.outstanding.is_set()) {
    // With messages outstanding, the engine checks whether the operation has to wait for them.
    mapped = target.memory_owner->translate(begin, bytes);
  }
  if (mapped == nullptr) return false;
  // Stripes and update modes are selected by address, also for memory that the operation names by exposure.
  operation.target = begin - static_cast<std::uint64_t>(extent.begin);
  operation.exposed.target = engine::ExposureId::none;
  engine::execute_with_stripes(operation, mapped - extent.begin, *target.stripes, begin, begin + bytes);
  return true;
}

/// Sets the context of an operation and issues it to the process that has the target's memory.
inline engine::Issued issue_to_engine(Window& window, Target& target, engine::RmaOp& operation) {
  operation.context = window.context;
  engine::Issued const issued = window.engine.issue(*target.memory_owner, operation);
  if (issued.sequence != 0) target.outstanding.raise(issued.sequence);
  return issued;
}

/// Issues an operation with a completion of its own, and waits until it is complete at the target: late
/// errors of other operations stay for the calls that report them.
inline engine::Status issue_alone(Window& window, engine::Peer& peer, engine::RmaOp operation) {
  engine::BlockingCompletion completion;
  operation.context = window.context;
  operation.completion = &completion;
  operation.flags = operation.flags | engine::OpFlags::remote_completion;
  engine::Issued const issued = window.engine.issue(peer, operation);
  if (engine::failed(issued.status) || issued.complete) return issued.status;
  window.engine.waits.until(peer, [&] { return completion.is_done.load(std::memory_order_acquire); });
  return completion.status;
}

/// Issues an operation by load and store, by issue_without_peer(), or to the engine. Sets the context and the
/// completion of the operation. Returns an error class or code.
inline int issue_operation(Window& window, Target& target, engine::RmaOp& operation, MPI_Request* request) {
  engine::Recorder* const recorder = target.is_traced ? window.engine.direct_recorder() : nullptr;
  std::uint64_t const began = recorder != nullptr ? recorder->now() : 0;
  if (try_load_store(window, target, operation)) {
    if (recorder != nullptr) [[unlikely]]
      recorder->add_operation(began, target.memory_owner->process(), engine::Protocol::direct, operation, {});
    if (request != nullptr) *request = completed_request();
    return MPI_SUCCESS;
  }
  if (target.memory_owner == nullptr) return issue_without_peer(window, target, operation, request);
  RequestCompletion* completion = nullptr;
  MPI_Request pending = MPI_REQUEST_NULL;
  if (request != nullptr) {
    completion = open_request(window.handle, window.context);
    if (completion == nullptr) return MPI_ERR_NO_MEM;
    completion->subject = subject_of(window, target, operation);
    // Read before the operation can complete: its completion object goes back to the pool then.
    pending = completion->handle;
    operation.completion = completion;
  }
  engine::Issued const issued = issue_to_engine(window, target, operation);
  if (engine::failed(issued.status)) {
    if (completion != nullptr) drop_request(completion);
    if (issued.status == engine::Status::busy) {
      queue_behind_lock(window, target);
      return queue_operation(window, target, operation, no_notification, request);
    }
    return failure_of(window, target, issued.status, operation);
  }
  if (completion != nullptr && issued.complete) (void)finish_request(completion);
  if (request != nullptr) *request = pending;
  return MPI_SUCCESS;
}

/// As issue_operation(), and increments the counter `notification` of the target after the last access to the
/// target's memory. May wait for an in-stream lock of the target.
inline int issue_with_notification(Window& window, Target& target, engine::RmaOp& operation, int notification,
                                   MPI_Request* request) {
  if (notification == no_notification) return issue_operation(window, target, operation, request);
  engine::RemoteAddress counter = 0;
  if (int const error = find_counter(window, target, notification, &counter); error != MPI_SUCCESS)
    return error;
  if (target.memory_owner == target.process && operation.target_layout.size() != 0) {
    operation.notify = counter;
    return issue_operation(window, target, operation, request);
  }
  // There are no data, or they belong to a process other than the one that has the counter.
  if (operation.target_layout.size() != 0 && target.memory_owner != nullptr) {
    engine::Status const status = issue_alone(window, *target.memory_owner, operation);
    if (engine::failed(status)) return failure_of(window, target, status, operation);
  } else if (operation.target_layout.size() != 0) {
    int const error = try_load_store(window, target, operation)
                          ? MPI_SUCCESS
                          : execute_without_peer(window, target, operation);
    if (error != MPI_SUCCESS) return error;
  }
  return complete_and_notify(window, target, counter, request);
}

/// Issues the operation, or queues it until the target's post or lock arrives.
inline int issue_or_queue(Window& window, Target& target, engine::RmaOp& operation, int notification,
                          MPI_Request* request) {
  if (notification != no_notification) {
    if (!window.epoch.is_passive()) return MPI_ERR_RMA_SYNC;
    // Reading the counter's address or incrementing the counter may wait for the target.
    queue_behind_lock(window, target);
  }
  if (!target.is_open()) [[unlikely]]
    return queue_operation(window, target, operation, notification, request);
  return issue_with_notification(window, target, operation, notification, request);
}

enum class CallKind { put, get, accumulate, get_accumulate };

/// Returns the name of the call, for an error text.
inline char const* call_name(CallKind kind, MPI_Request const* request, int notification) noexcept {
  static constexpr char const* names[][4] = {
      {"MPI_Put", "MPI_Rput", "MPIX_Put_notify", "MPIX_Rput_notify"},
      {"MPI_Get", "MPI_Rget", "MPIX_Get_notify", "MPIX_Rget_notify"},
      {"MPI_Accumulate", "MPI_Raccumulate", "MPIX_Accumulate_notify", "MPIX_Raccumulate_notify"},
      {"MPI_Get_accumulate", "MPI_Rget_accumulate", "MPIX_Get_accumulate_notify",
       "MPIX_Rget_accumulate_notify"}};
  std::size_t const form = (notification != no_notification ? 2U : 0U) + (request != nullptr ? 1U : 0U);
  return names[static_cast<std::size_t>(kind)][form];
}

/// Returns the number of bytes at the target for an error text; 0 for an invalid datatype.
inline std::uint64_t bytes_of(mpix_window_place const& place) {
  Datatype const* const type = place.count > 0 ? Datatype::find(place.type) : nullptr;
  return type != nullptr ? type->size() * static_cast<std::size_t>(place.count) : 0;
}

/// Completes an operation without data.
inline int finish_empty(MPI_Request* request) {
  if (request != nullptr) *request = completed_request();
  return MPI_SUCCESS;
}

}  // namespace mpixrma::windows
