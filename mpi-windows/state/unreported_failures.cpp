#include "mpi-windows/state/unreported_failures.hpp"

#include <cstdio>
#include <map>
#include <mutex>
#include <string>

#include "hosts/common/hosted.hpp"
#include "mpi-windows/state/error.hpp"
#include "mpi-windows/state/failure.hpp"
#include "mpi-windows/state/targets.hpp"
#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

namespace {

struct UnreportedFailures {
  std::mutex lock;
  std::map<std::uint32_t, Window*> reporting;  ///< by context number
  engine::LateErrors::Failures orphan;         ///< failures of windows that no longer exist
};

UnreportedFailures& unreported() {
  static UnreportedFailures instance;
  return instance;
}

ReportedTarget subject_of(engine::LateError const& error) noexcept {
  return {error.kind, error.rank, static_cast<MPI_Aint>(error.memory.address), error.memory.bytes};
}

int code_of(Window const& window, engine::LateError const& error) noexcept {
  int const error_class = class_of(window, error.status);
  try {
    return code_with(error_class, "%s failed: %s", describe(subject_of(error)).c_str(),
                     engine::to_string(error.status));
  } catch (...) {  // no memory for a text
    return error_class;
  }
}

}  // namespace

void begin_reporting(Window& window) {
  std::lock_guard const held(unreported().lock);
  unreported().reporting[window.context] = &window;
}

void end_reporting(std::uint32_t context) noexcept {
  std::lock_guard const held(unreported().lock);
  unreported().reporting.erase(context);
}

void keep_unreported(std::uint32_t context, engine::LateError const& error, int code) noexcept {
  std::lock_guard const held(unreported().lock);
  auto const found = unreported().reporting.find(context);
  if (found == unreported().reporting.end()) return unreported().orphan.add({error, 1});
  Window& window = *found->second;
  std::atomic<int>& stored = window.cold->freed_failure;
  // Release: pairs with the acquire in take_unreported(), for the text of the code.
  if (stored.load(std::memory_order_relaxed) == MPI_SUCCESS)
    stored.store(code != MPI_SUCCESS ? code : code_of(window, error), std::memory_order_release);
  window.targets.for_each([&](Target& target) {
    if (error.rank >= 0 && target.rank != error.rank) return;
    target.outstanding.raise(1);  // else synchronisations would find nothing to do
  });
}

int take_unreported(Window& window) noexcept {
  std::atomic<int>& stored = window.cold->freed_failure;
  if (stored.load(std::memory_order_relaxed) == MPI_SUCCESS) return MPI_SUCCESS;
  return stored.exchange(MPI_SUCCESS, std::memory_order_acquire);
}

void print_unreported() {
  (void)mpix_host_operations()->deliver_completions();  // ends freed requests, which record their failures
  std::lock_guard const held(unreported().lock);
  auto const& [first, count] = unreported().orphan;
  if (count == 0) return;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::fprintf(
      stderr,
      "[rank %d] MPI_Finalize: %llu operation%s failed without being reported; the first: %s failed: %s\n",
      rank, static_cast<unsigned long long>(count), count == 1 ? "" : "s",
      describe(subject_of(first)).c_str(), engine::to_string(first.status));
}

}  // namespace mpixrma::windows
