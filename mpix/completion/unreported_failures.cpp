#include "mpix/completion/unreported_failures.hpp"

#include <cstdint>
#include <vector>

#include "datatype/handle.hpp"
#include "mpix/comm/communicator.hpp"
#include "mpix/error/error.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/xfer/transfer.hpp"

namespace mpixrma {

namespace {

struct UnreportedFailures {
  MPI_Comm comm = MPI_COMM_NULL;
  LateFailure first;
  std::uint64_t count = 0;
};

UnreportedFailures unreported_of(Communicator& communicator) {
  engine::Engine& engine = engine_of_process();
  UnreportedFailures all{communicator.handle(), {}, 0};
  communicator.for_each_target([&](Target& target) {
    auto const failures = engine.failures.take_all(*target.peer, communicator.context());
    if (failures.count != 0 && all.count == 0)
      all.first = {target.rank, target.peer->process(), failures.first};
    all.count += failures.count;
  });
  return all;
}

/// Returns the rank of a process, or MPI_PROC_NULL if it belongs to another job.
int rank_in_world(std::uint64_t process) {
  int size = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int rank = 0; rank < size; ++rank) {
    std::uint64_t other = 0;
    if (host().process_of_rank(word_of(MPI_COMM_WORLD), rank, &other) == 0 && other == process) return rank;
  }
  return MPI_PROC_NULL;
}

void raise_unreported(UnreportedFailures const& unreported) {
  if (unreported.count == 0) return;
  Failure const first = late_failure(unreported.first);
  Failure const summary =
      failure(first.error_class, "%llu operation%s failed without being reported; the first: %s",
              static_cast<unsigned long long>(unreported.count), unreported.count == 1 ? "" : "s",
              first.reason.c_str());
  report("MPI_Finalize", summary);
  if (unreported.comm != MPI_COMM_NULL) (void)invoke_handler({"MPI_Finalize", unreported.comm}, summary);
}

}  // namespace

void complete_and_raise_unreported() {
  for_each_communicator([](Communicator& communicator) {
    communicator.for_each_target(
        [](Target& target) { engine_of_process().order.complete(*target.peer, target.outstanding.get()); });
  });
  (void)host().deliver_completions();     // records the failures of freed requests
  std::vector<UnreportedFailures> found;  // handlers must not be called with a lock held
  for_each_communicator([&](Communicator& communicator) { found.push_back(unreported_of(communicator)); });
  // Failures of freed communicators, whose error handlers and ranks no longer exist.
  auto const others = engine_of_process().complete_everything();
  if (others.all.count != 0)
    found.push_back({MPI_COMM_NULL,
                     {rank_in_world(others.process), others.process, others.all.first, " of MPI_COMM_WORLD"},
                     others.all.count});
  for (UnreportedFailures const& unreported : found) raise_unreported(unreported);
}

}  // namespace mpixrma
