#include "mpi-windows/state/unasked.hpp"

#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include "hosts/common/hosted.hpp"
#include "mpi-windows/state/error.hpp"

namespace mpixrma::windows {

namespace {

struct Unasked {
  std::mutex lock;
  std::set<std::uint32_t> reporting;    ///< context numbers of windows
  engine::LateErrors::Failures orphan;  ///< failures of windows that no longer exist
};

Unasked& unasked() {
  static Unasked instance;
  return instance;
}

}  // namespace

void begin_reporting(std::uint32_t context) {
  std::lock_guard const held(unasked().lock);
  unasked().reporting.insert(context);
}

void end_reporting(std::uint32_t context) noexcept {
  std::lock_guard const held(unasked().lock);
  unasked().reporting.erase(context);
}

void keep_unasked(std::uint32_t context, engine::LateError const& error) noexcept {
  std::lock_guard const held(unasked().lock);
  if (unasked().reporting.contains(context)) return hosted_engine()->failures.keep(context, error);
  unasked().orphan.add({error, 1});
}

void print_unasked() {
  (void)mpix_host_operations()->deliver_completions();  // ends freed requests
  std::lock_guard const held(unasked().lock);
  auto const& [first, count] = unasked().orphan;
  if (count == 0) return;
  Subject const subject{first.kind, first.rank, static_cast<MPI_Aint>(first.memory.address),
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
