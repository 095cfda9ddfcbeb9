#include "mpi-windows/epochs/completion.hpp"
#include "hosts/common/hosted.hpp"
#include "mpi-windows/state/failure.hpp"
#include "mpi-windows/state/unreported_failures.hpp"

namespace mpixrma::windows {

namespace {

/// Returns the first late error of operations to the peer that has the memory, or MPI_SUCCESS.
int take_late_error(Window& window, Target const& part) {
  engine::LateError error;
  if (part.memory_owner == nullptr ||
      !engine::failed(window.engine.failures.take(*part.memory_owner, window.context, &error)))
    return MPI_SUCCESS;
  return failure_of(window, part, error);
}

}  // namespace

int complete_messages(Window& window, Target& target) {
  // Waits for the operations that are outstanding now. If other threads issue more meanwhile, clear() leaves
  // `outstanding` set, so that the next completion waits for the later operations.
  std::uint64_t const mark = target.outstanding.get();
  int error = MPI_SUCCESS;
  for_each_outstanding(target, [&](Target& part, std::uint64_t sequence) {
    window.engine.order.complete(*part.memory_owner, sequence);
    if (&part == &target) return;
    part.outstanding.clear(sequence);
    error = first_of(error, take_late_error(window, part));
  });
  if (mark == 0 || target.memory_owner == nullptr) window.stores.complete();
  target.outstanding.clear(mark);
  return first_of(error, take_failure(window, target));
}

void wait_for_messages(Window& window, Target& target) {
  for_each_outstanding(target, [&window](Target& part, std::uint64_t sequence) {
    window.engine.order.complete(*part.memory_owner, sequence);
  });
  window.stores.complete();
}

int take_failure(Window& window, Target& target) {
  (void)mpix_host_operations()->deliver_completions();  // first, to report failures of freed requests too
  int const error = take_late_error(window, target);
  return error != MPI_SUCCESS ? error : take_unreported(window);
}

void complete_locally(Window& window, Target& target) {
  for_each_outstanding(target, [&window](Target& part, std::uint64_t sequence) {
    window.engine.order.complete_local(*part.memory_owner, sequence);
  });
}

int complete_all(Window& window) {
  int error = MPI_SUCCESS;
  window.targets.for_each([&](Target& target) {
    if (target.outstanding.is_set()) error = first_of(error, complete_messages(window, target));
  });
  window.stores.complete();
  return error;
}

int loss_of(Window const& window, Target const& target) {
  if (!target.is_lost()) [[likely]]
    return MPI_SUCCESS;
  return code_with(class_of(window, engine::Status::unreachable),
                   "the process with the memory of rank %d has ended, or is out of reach", target.rank);
}

int loss_of_process(Window const& window, int rank) {
  return code_with(class_of(window, engine::Status::unreachable),
                   "the process of rank %d has ended, or is out of reach", rank);
}

int report_losses(Window& window) {
  int error = MPI_SUCCESS;
  window.targets.for_each([&](Target& target) {
    if (!target.is_lost() || target.loss_reported.exchange(true, std::memory_order_relaxed)) return;
    error = first_of(error, loss_of(window, target));
  });
  return error;
}

int take_failures(Window& window) {
  int error = take_unreported(window);
  window.targets.for_each([&](Target& target) {
    for_each_part(target, [&](Target& part) { error = first_of(error, take_late_error(window, part)); });
  });
  return error;
}

void forget_executed(Window& window) {
  window.targets.for_each([&](Target& target) {
    if (target.process != nullptr) window.engine.failures.forget(*target.process, window.context);
  });
}

}  // namespace mpixrma::windows
