/// The calls of notified communication at the target.
#include <cstring>

#include "include/mpix_rma.h"
#include "mpix/comm/collective.hpp"
#include "mpix/comm/communicator.hpp"
#include "mpix/error/error.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/notify/reset.hpp"
#include "mpix/notify/watch.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/runtime/profiling.hpp"
#include "mpix/runtime/runtime.hpp"
#include "mpix/xfer/transfer.hpp"

MPIX_PROFILED(MPIX_RMA_Set_num_notify)
MPIX_PROFILED(MPIX_RMA_Get_num_notify)
MPIX_PROFILED(MPIX_RMA_Get_notify_value)
MPIX_PROFILED(MPIX_RMA_Reset_notify_value)
MPIX_PROFILED(MPIX_RMA_Wait_notify_value)

namespace mpixrma {

namespace {

/// The common part of the local calls: calls use(Site, counter) with one of the communicator's counters.
template <typename Use>
int with_counter(char const* call, MPI_Comm comm, int index, Use use) {
  Communicator* const state = Communicator::find(comm);
  if (state == nullptr) return raise_unusable(call, &comm);
  std::uint64_t* const counter = state->counters().own(index);
  Site const site{call, state->handle()};
  if (counter == nullptr)
    return raise(site, MPI_ERR_ARG, "notification_idx %d is out of range; this process has %lld counters",
                 index, static_cast<long long>(state->counters().count()));
  return use(site, *counter);
}

/// Allocates this process's counters, all zero.
Failure allocate_counters(int num, Counters::Place* place) {
  if (num < 0) return failure(MPI_ERR_ARG, "num %d is negative", num);
  if (num > engine::EngineCounters::most)
    return failure(MPI_ERR_ARG, "num %d is more than the %d counters that a process can have", num,
                   engine::EngineCounters::most);
  if (num == 0) return {};
  std::size_t const bytes = static_cast<std::size_t>(num) * sizeof(std::uint64_t);
  void* base = nullptr;
  engine::Status const status = engine_of_process().memory.allocate_internal(bytes, &base);
  if (engine::failed(status))
    return failure(class_of(status), "%d counters cannot be allocated: %s", num, engine::to_string(status));
  std::memset(base, 0, bytes);
  *place = {reinterpret_cast<RemoteAddress>(base), num};
  return {};
}

}  // namespace
}  // namespace mpixrma

int MPIX_RMA_Set_num_notify(MPI_Comm communicator, int num) try {
  using namespace mpixrma;
  Communicator* const state = Communicator::find(communicator);
  char const* const call = "MPIX_RMA_Set_num_notify";
  if (state == nullptr)
    return raise_unusable_together(call, &communicator,
                                   [](MPI_Comm comm) { (void)agree_on_class(comm, no_engine_class); });
  Site const site{call, state->handle()};
  Counters::Place own;
  Failure const failed = allocate_counters(num, &own);
  int const code = raise_agreed(site, failed, agree_on_class(site.comm, failed.error_class));
  if (code != MPI_SUCCESS) {
    if (own.base != 0) (void)engine_of_process().memory.free(reinterpret_cast<void*>(own.base));
    return code;
  }
  state->counters().adopt(own, exchange(site.comm, own, state->size()));
  return MPI_SUCCESS;
} catch (...) {
  return mpixrma::raise_exception(&communicator);
}

int MPIX_RMA_Get_num_notify(MPI_Comm communicator, int* num) try {
  using namespace mpixrma;
  Communicator* const state = Communicator::find(communicator);
  if (state == nullptr) return raise_unusable("MPIX_RMA_Get_num_notify", &communicator);
  if (num == nullptr)
    return raise({"MPIX_RMA_Get_num_notify", state->handle()}, MPI_ERR_ARG, "num is a null pointer");
  *num = static_cast<int>(state->counters().count());
  return MPI_SUCCESS;
} catch (...) {
  return mpixrma::raise_exception(&communicator);
}

int MPIX_RMA_Get_notify_value(MPI_Comm communicator, int notification_idx, MPI_Count* value) try {
  using namespace mpixrma;
  return with_counter("MPIX_RMA_Get_notify_value", communicator, notification_idx,
                      [&](Site const& site, std::uint64_t const& counter) {
                        if (value == nullptr) return raise(site, MPI_ERR_ARG, "value is a null pointer");
                        *value = static_cast<MPI_Count>(__atomic_load_n(&counter, __ATOMIC_ACQUIRE));
                        return MPI_SUCCESS;
                      });
} catch (...) {
  return mpixrma::raise_exception(&communicator);
}

int MPIX_RMA_Reset_notify_value(MPI_Comm communicator, int notification_idx, MPI_Count* value) try {
  using namespace mpixrma;
  return with_counter("MPIX_RMA_Reset_notify_value", communicator, notification_idx,
                      [&](Site const&, std::uint64_t& counter) {
                        auto const before = reset_counter(engine_of_process(), counter);
                        if (value != nullptr) *value = static_cast<MPI_Count>(before);
                        return MPI_SUCCESS;
                      });
} catch (...) {
  return mpixrma::raise_exception(&communicator);
}

int MPIX_RMA_Wait_notify_value(MPI_Comm communicator, int notification_idx, MPI_Count threshold,
                               MPI_Request* request) try {
  using namespace mpixrma;
  return with_counter("MPIX_RMA_Wait_notify_value", communicator, notification_idx,
                      [&](Site const& site, std::uint64_t const& counter) {
                        Failure const failed =
                            watch_counter(site, counter, notification_idx, threshold, request);
                        return failed ? raise(site, failed) : MPI_SUCCESS;
                      });
} catch (...) {
  return mpixrma::raise_exception(&communicator);
}
