/// Completion at the origin only, and completion by a request.
#include <atomic>
#include <vector>

#include "engine/op/aggregate_completion.hpp"
#include "include/mpix_rma.h"
#include "mpix/completion/targets.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/request/native_request.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/runtime/profiling.hpp"
#include "mpix/runtime/runtime.hpp"

MPIX_PROFILED(MPIX_RMA_Complete_local)
MPIX_PROFILED(MPIX_RMA_Icomplete)
MPIX_PROFILED(MPIX_RMA_Icomplete_local)

namespace mpixrma {

namespace {

enum class Level { at_origin, at_target };

void watch(Target& target, Level level, engine::AggregateCompletion::Part& completion) {
  std::uint64_t const sequence = target.outstanding.get();
  engine::Engine& engine = engine_of_process();
  level == Level::at_origin
      ? engine.order.watch_local(*target.peer, sequence, completion)
      : engine.order.watch(*target.peer, sequence, target.context, completion, &completion.error);
}

int with_request(Site const& site, std::vector<Target*> const& targets, Level level, MPI_Request* request) {
  std::atomic_thread_fence(std::memory_order_seq_cst);  // stores to all targets, as in complete_stores()
  if (targets.empty()) {
    *request = completed_request();
    return MPI_SUCCESS;
  }
  NativeCompletion* const completion = start_native(site, Subject{});
  if (completion == nullptr) return raise(site, MPI_ERR_NO_MEM, "no memory for a request");
  completion->communicator = Communicator::find(site.comm);
  completion->context = targets.front()->context;
  engine::AggregateCompletion* const aggregate =
      engine::AggregateCompletion::open(*completion, nullptr, &completion->first);
  if (aggregate == nullptr) {
    cancel_native(completion);
    return raise(site, MPI_ERR_NO_MEM, "no memory for a request");
  }
  *request = completion->handle;
  for (Target* const target : targets) {
    engine::AggregatedTarget const named{target->rank, target->peer->process()};
    engine::AggregateCompletion::Part* const part = aggregate->add(named);
    part != nullptr ? watch(*target, level, *part) : aggregate->record(engine::Status::out_of_memory, named);
  }
  aggregate->close();
  return MPI_SUCCESS;
}

int complete_by_request(char const* call, MPI_Comm* communicator, int rank, Level level,
                        MPI_Request* request) {
  if (request == nullptr) {
    Communicator* const state = communicator != nullptr ? Communicator::find(*communicator) : nullptr;
    if (state == nullptr) return raise_unusable(call, communicator);
    return raise({call, state->handle()}, MPI_ERR_REQUEST, "request is a null pointer");
  }
  auto const one = [&](Site const& site, Target& target) {
    std::vector<Target*> targets;
    if (target.outstanding.is_set()) targets.push_back(&target);
    return with_request(site, targets, level, request);
  };
  auto const all = [&](Site const& site, Communicator& state) {
    std::vector<Target*> targets;
    state.for_each_target([&](Target& target) {
      if (target.outstanding.is_set()) targets.push_back(&target);
    });
    return with_request(site, targets, level, request);
  };
  auto const none = [&] {
    *request = completed_request();
    return MPI_SUCCESS;
  };
  return for_targets(call, communicator, rank, one, all, none);
}

}  // namespace
}  // namespace mpixrma

using namespace mpixrma;

int MPIX_RMA_Complete_local(MPI_Comm* communicator, int target_rank) try {
  auto const complete = [](Target& target) {
    if (target.outstanding.is_set())
      engine_of_process().order.complete_local(*target.peer, target.outstanding.get());
  };
  auto const one = [&](Site const&, Target& target) {
    complete(target);
    return MPI_SUCCESS;
  };
  auto const all = [&](Site const&, Communicator& state) {
    state.for_each_target(complete);
    return MPI_SUCCESS;
  };
  return for_targets("MPIX_RMA_Complete_local", communicator, target_rank, one, all);
} catch (...) {
  return raise_exception(communicator);
}

int MPIX_RMA_Icomplete(MPI_Comm* communicator, int target_rank, MPI_Request* request) try {
  return complete_by_request("MPIX_RMA_Icomplete", communicator, target_rank, Level::at_target, request);
} catch (...) {
  return raise_exception(communicator);
}

int MPIX_RMA_Icomplete_local(MPI_Comm* communicator, int target_rank, MPI_Request* request) try {
  return complete_by_request("MPIX_RMA_Icomplete_local", communicator, target_rank, Level::at_origin,
                             request);
} catch (...) {
  return raise_exception(communicator);
}
