#include "mpi-windows/state/unreported_failures.hpp"

#include <cstdio>
#include <map>
#include <mutex>
#include <string>

#include "hosts/common/hosted.hpp"
#include "mpi-windows/state/error.hpp"
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

}  // namespace

void begin_reporting(Window& window) {
  std::lock_guard const held(unreported().lock);
  unreported().reporting[window.context] = &window;
}

void end_reporting(std::uint32_t context) noexcept {
  std::lock_guard const held(unreported().lock);
  unreported().reporting.erase(context);
}

void keep_unreported(std::uint32_t context, engine::LateError const& error) noexcept {
  std::lock_guard const held(unreported().lock);
  auto const found = unreported().reporting.find(context);
  if (found == unreported().reporting.end()) return unreported().orphan.add({error, 1});
  hosted_engine()->failures.keep(context, error);
  found->second->targets.for_each([&](Target& target) {
    if (error.rank >= 0 && target.rank != error.rank) return;
    target.outstanding.raise(1);  // else synchronisations would find nothing to do
    for_each_part(target, [](Target& part) { part.outstanding.raise(1); });
  });
}

void print_unreported() {
  (void)mpix_host_operations()->deliver_completions();  // ends freed requests, which record their failures
  std::lock_guard const held(unreported().lock);
  auto const& [first, count] = unreported().orphan;
  if (count == 0) return;
  ReportedTarget const subject{first.kind, first.rank, static_cast<MPI_Aint>(first.memory.address),
                               first.memory.bytes};
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::fprintf(
      stderr,
      "[rank %d] MPI_Finalize: %llu operation%s failed without being reported; the first: %s failed: %s\n",
      rank, static_cast<unsigned long long>(count), count == 1 ? "" : "s", describe(subject).c_str(),
      engine::to_string(first.status));
}

}  // namespace mpixrma::windows
