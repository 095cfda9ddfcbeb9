#include "mpi-windows/state/failure.hpp"

#include <cinttypes>

#include "datatype/error_codes.hpp"

namespace mpixrma::windows {

namespace {

bool ends_job(MPI_Win win) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (PMPI_Win_get_errhandler(win, &handler) != MPI_SUCCESS) return false;
  return ends_job_and_free(handler);
}

}  // namespace

/// Returns MPI_ERR_WIN if the window's memory server has ended, because the window ends with its server.
int class_of(Window const& window, engine::Status status) noexcept {
  bool const is_lost = status == engine::Status::transport || status == engine::Status::unreachable;
  return is_lost && window.nam != nullptr ? MPI_ERR_WIN : windows::class_of(status);
}

ReportedTarget subject_of(Window const& window, Target const& target,
                          engine::LateError const& error) noexcept {
  engine::TargetMemory const& memory = error.memory;
  if (error.rank != engine::LateError::of_peer)
    return {error.kind, error.rank, static_cast<MPI_Aint>(memory.address), memory.bytes};
  bool const exposed = memory.exposure != engine::ExposureId::none && memory.exposure == target.exposure;
  bool const named = exposed || target.by_request != nullptr;
  ReportedTarget subject{error.kind, target.rank, 0, 0};
  if (window.is_dynamic()) {
    subject.disp = static_cast<MPI_Aint>(memory.address);
    subject.bytes = memory.bytes;
  } else if (named && target.disp_unit != 0) {
    auto const offset = static_cast<std::int64_t>(memory.address - target.offset);
    subject.disp = static_cast<MPI_Aint>(offset / target.disp_unit);
    subject.bytes = memory.bytes;
  }
  return subject;
}

ReportedTarget subject_of(Window const& window, Target const& target,
                          engine::RmaOp const& operation) noexcept {
  engine::TargetMemory const memory{operation.target, operation.target_layout.size(), true,
                                    operation.exposed.target};
  return subject_of(window, target, {engine::Status::ok, reported_kind(operation), memory});
}

int failure_of(Window const& window, Target const& target, engine::Status status,
               engine::RmaOp const& operation) {
  engine::TargetMemory const memory{operation.target, operation.target_layout.size(),
                                    operation.target_layout.is_contiguous(), operation.exposed.target};
  return failure_of(window, target, {status, reported_kind(operation), memory});
}

int failure_of(Window const& window, Target const& target, engine::LateError const& error) {
  std::string const what = describe(subject_of(window, target, error));
  bool const by_address = error.rank == engine::LateError::of_peer &&
                          error.memory.exposure == engine::ExposureId::none && window.is_dynamic();
  std::string const reason = by_address ? window.engine.peer_memory.reason(target.memory_owner->process(),
                                                                           error.status, error.memory)
                                        : engine::to_string(error.status);
  return code_with(class_of(window, error.status), "%s failed: %s", what.c_str(), reason.c_str());
}

int range_failure(Target const& target, ReportedTarget const& subject) {
  return code_with(
      MPI_ERR_RMA_RANGE, "%s is not inside the window: rank %d has %" PRIu64 " bytes, in units of %lld",
      describe(subject).c_str(), target.rank, target.size, static_cast<long long>(target.disp_unit));
}

char const* epoch_text(Window const& window) noexcept {
  switch (window.epoch.kind.load(std::memory_order_relaxed)) {
    case Epoch::none: break;
    case Epoch::fence: return "an epoch of MPI_Win_fence is open";
    case Epoch::group: return "an epoch of MPI_Win_start is open";
    case Epoch::locks: return "an epoch of MPI_Win_lock is open";
    case Epoch::lock_all: return "an epoch of MPI_Win_lock_all is open";
  }
  if (window.exposure_epoch.is_open) return "an exposure epoch of MPI_Win_post is open";
  return window.hints.no_locks() ? "no epoch is open, and the info key no_locks excludes locks"
                                 : "no epoch is open";
}

namespace {

/// Whether the rank's process has ended, or its address cannot be found.
bool is_lost(Window const& window, int rank) noexcept {
  Target const* const target = window.targets.find(rank);
  if (target == nullptr) return window.processes.contains(rank);
  return target->is_lost() || (target->process != nullptr && target->process->is_lost());
}

/// Returns the reason why a call is not permitted now. `rank`: its target, or negative.
std::string epoch_reason(Window const& window, int rank) {
  std::string reason = epoch_text(window);
  AccessEpoch const& epoch = window.epoch;
  if (epoch.is(Epoch::fence) || (epoch.is_none() && epoch.fence_open)) {
    reason =
        "an epoch of MPI_Win_fence is open, in which flushes and operations with requests are not permitted";
  } else if (rank >= 0 && (epoch.is(Epoch::locks) || epoch.is(Epoch::group))) {
    Target const* const target = window.targets.find(rank);
    bool const is_locks = epoch.is(Epoch::locks);
    bool const is_open =
        target != nullptr && target->access.load(std::memory_order_relaxed) != EpochAccess::closed;
    bool const is_in = is_locks ? is_open : target != nullptr && target->in_group;
    reason += ", and rank " + std::to_string(rank) + (is_in ? " is " : " is not ") +
              (is_locks ? "locked" : "in its group");
  }
  return reason;
}

/// Returns the reason of an error class that the checks of arguments return without a text; nullptr for
/// others.
char const* argument_reason(std::string_view call, int error) noexcept {
  if (call.starts_with("MPIX_")) return nullptr;
  switch (error) {
    case MPI_ERR_TYPE:
      return "a datatype is not committed, not permitted here, or the two sides differ in size or type";
    case MPI_ERR_OP: return "the operation is not predefined, or not defined for the datatype";
    case MPI_ERR_COUNT: return "a count is negative, or more elements than memory can hold";
    default: return nullptr;
  }
}

/// Returns the error with a text that begins with the name of the call.
int naming(char const* call, int error, int error_class) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  PMPI_Error_string(error, text, &length);
  return std::string_view(text).starts_with(call) ? error : code_with(error_class, "%s: %s", call, text);
}

}  // namespace

int report_failure(Window const& window, int error, char const* call, int rank) {
  return report_failure(window, error, call, ReportedTarget{{}, rank, 0, 0});
}

int report_failure(Window const& window, int error, char const* call, ReportedTarget const& subject) {
  bool const moves = subject.kind != engine::ReportedOperation::unknown;
  std::string what = call;
  if (subject.rank >= 0)
    what += moves ? ": " + describe(subject) : " of rank " + std::to_string(subject.rank);
  if (error == MPI_ERR_RMA_SYNC) {
    error = code_with(error, "%s is not permitted now: on this window, %s", what.c_str(),
                      epoch_reason(window, subject.rank).c_str());
  } else if (error == MPI_ERR_RMA_RANGE) {
    error = code_with(error, "%s: the target memory is not attached to the window", what.c_str());
  } else if (char const* const reason = argument_reason(call, error)) {
    error = code_with(error, "%s: %s", call, reason);
  } else if (error == class_of(window, engine::Status::unreachable) && is_lost(window, subject.rank)) {
    error = code_with(error, "%s: the process with its memory has ended, or is out of reach", what.c_str());
  }
  int error_class = error;
  PMPI_Error_class(error, &error_class);
  if (error_class != error) error = naming(call, error, error_class);
  if (error_class != error && ends_job(static_cast<MPI_Win>(window.handle))) print_error(error);
  return error;
}

}  // namespace mpixrma::windows
