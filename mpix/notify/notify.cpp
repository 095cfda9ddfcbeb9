/// The calls of notified communication at the target.
#include <cstring>

#include "include/mpix_rma.h"
#include "mpix/comm/collective.hpp"
#include "mpix/comm/communicator.hpp"
#include "mpix/error/error.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/request/native_request.hpp"
#include "mpix/runtime/runtime.hpp"
#include "mpix/xfer/transfer.hpp"

namespace mpix {

namespace {

/// What the local calls have in common: the communicator's state and one of its counters.
template <typename Use>
int with_counter(char const* call, MPI_Comm* comm, int index, Use use) {
  Communicator* const state = comm != nullptr ? Communicator::find(*comm) : nullptr;
  if (state == nullptr) return raise_unusable(call, comm);
  std::uint64_t* const counter = state->counters().own(index);
  if (counter == nullptr) return raise(state->handle(), MPI_ERR_ARG);
  return use(*state, *counter);
}

/// This process's new counters, all zero.
int allocate(int num, Counters::Place* place) {
  if (num == 0) return MPI_SUCCESS;
  std::size_t const bytes = static_cast<std::size_t>(num) * sizeof(std::uint64_t);
  void* base = nullptr;
  engine::Status const status = engine::Engine::running()->allocate(bytes, &base);
  if (engine::failed(status)) return code_of(status);
  std::memset(base, 0, bytes);
  *place = {reinterpret_cast<RemoteAddress>(base), num};
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace mpix

int MPIX_RMA_Set_num_notify(MPI_Comm* communicator, int num) try {
  using namespace mpix;
  Communicator* const state = communicator != nullptr ? Communicator::find(*communicator) : nullptr;
  if (state == nullptr) return raise_unusable("MPIX_RMA_Set_num_notify", communicator);
  MPI_Comm const comm = state->handle();
  Counters::Place own;
  int code = num < 0 ? MPI_ERR_ARG : allocate(num, &own);
  code = agree(comm, code);
  if (code != MPI_SUCCESS) {
    if (own.base != 0) (void)engine::Engine::running()->free(reinterpret_cast<void*>(own.base));
    return raise(comm, code);
  }
  state->counters().adopt(own, exchange(comm, own, state->size()));
  return MPI_SUCCESS;
} catch (...) {
  return mpix::raise_exception(communicator);
}

int MPIX_RMA_Get_num_notify(MPI_Comm* communicator, int* num) try {
  using namespace mpix;
  Communicator* const state = communicator != nullptr ? Communicator::find(*communicator) : nullptr;
  if (state == nullptr) return raise_unusable("MPIX_RMA_Get_num_notify", communicator);
  if (num == nullptr) return raise(state->handle(), MPI_ERR_ARG);
  *num = static_cast<int>(state->counters().count());
  return MPI_SUCCESS;
} catch (...) {
  return mpix::raise_exception(communicator);
}

int MPIX_RMA_Get_notify_value(MPI_Comm* communicator, int notification_idx, MPI_Count* value) try {
  using namespace mpix;
  return with_counter("MPIX_RMA_Get_notify_value", communicator, notification_idx,
                      [&](Communicator& state, std::uint64_t const& counter) {
                        if (value == nullptr) return raise(state.handle(), MPI_ERR_ARG);
                        *value = static_cast<MPI_Count>(__atomic_load_n(&counter, __ATOMIC_ACQUIRE));
                        return MPI_SUCCESS;
                      });
} catch (...) {
  return mpix::raise_exception(communicator);
}

int MPIX_RMA_Reset_notify_value(MPI_Comm* communicator, int notification_idx, MPI_Count* value) try {
  using namespace mpix;
  return with_counter("MPIX_RMA_Reset_notify_value", communicator, notification_idx,
                      [&](Communicator&, std::uint64_t& counter) {
                        auto const before = __atomic_exchange_n(&counter, 0, __ATOMIC_ACQ_REL);
                        if (value != nullptr) *value = static_cast<MPI_Count>(before);
                        return MPI_SUCCESS;
                      });
} catch (...) {
  return mpix::raise_exception(communicator);
}

int MPIX_RMA_Wait_notify_value(MPI_Comm* communicator, int notification_idx, MPI_Count threshold,
                               MPI_Request* request) try {
  using namespace mpix;
  return with_counter("MPIX_RMA_Wait_notify_value", communicator, notification_idx,
                      [&](Communicator& state, std::uint64_t const& counter) {
                        if (request == nullptr) return raise(state.handle(), MPI_ERR_REQUEST);
                        if (threshold < 0) return raise(state.handle(), MPI_ERR_ARG);
                        NativeCompletion* const completion = open_native(state);
                        if (completion == nullptr) return raise(state.handle(), MPI_ERR_NO_MEM);
                        *request = static_cast<MPI_Request>(completion->request);
                        engine::Engine::running()->watch(&counter, static_cast<std::uint64_t>(threshold),
                                                         *completion);
                        return MPI_SUCCESS;
                      });
} catch (...) {
  return mpix::raise_exception(communicator);
}
