/// Put and get.
#include <cstring>

#include "mpi-windows/operations/appended.hpp"
#include "mpi-windows/operations/operation.hpp"

namespace mpixrma::windows {

namespace {

using engine::OpKind;

using Buffer = mpix_window_buffer;
using Place = mpix_window_place;

/// Last step of a transfer: a tail call.
__attribute__((noinline)) int copy_and_succeed(std::byte* to, std::byte const* from,
                                               std::size_t bytes) noexcept {
  engine::copy_bytes(to, from, bytes);
  return MPI_SUCCESS;
}

int transfer_checked(Window& window, OpKind direction, Buffer const& origin, Place const& place,
                     MPI_Request* request, int notification) {
  Target* target = nullptr;
  if (int const error = find_and_open(window, place.rank, request, &target); error != MPI_SUCCESS)
    return error;
  Side local;
  Side remote;
  if (int const error = local.describe(origin.type, origin.count); error != MPI_SUCCESS) return error;
  if (int const error = remote.describe_target(place); error != MPI_SUCCESS) return error;
  if (local.bytes() != remote.bytes()) return MPI_ERR_TYPE;
  if (local.bytes() == 0 && notification == no_notification) return finish_empty(request);
  engine::RmaOp transfer;
  transfer.kind = direction;
  transfer.flags = window.hints.transfer_flags();
  transfer.origin = local.rebase(origin.address);
  transfer.origin_layout = local.layout();
  transfer.target_layout = remote.layout();
  if (int const error = locate(window, *target, place.disp, &transfer); error != MPI_SUCCESS) return error;
  return issue_or_queue(window, *target, transfer, notification, request);
}

int transfer(mpix_window_t* handle, OpKind direction, Buffer const& origin, Place const& place,
             MPI_Request* request, int notification = no_notification) noexcept try {
  Window& window = *static_cast<Window*>(handle);
  bool const plain_put = direction == OpKind::put && request == nullptr && notification == no_notification;
  if (plain_put &&
      try_append(window, origin, place, {.kind = OpKind::put, .flags = window.hints.transfer_flags()}))
    return MPI_SUCCESS;
  int const error = transfer_checked(window, direction, origin, place, request, notification);
  if (error == MPI_SUCCESS) [[likely]]
    return MPI_SUCCESS;
  bool const puts = direction == OpKind::put;
  return report(window, error, call_name(puts ? CallKind::put : CallKind::get, request, notification),
                {puts ? engine::ReportedOperation::put : engine::ReportedOperation::get, place.rank,
                 place.disp, bytes_of(place)});
} catch (...) {
  return class_of_exception();
}

/// Contiguous memory of one type on both sides, at a target that was used recently.
struct MappedTransfer {
  std::byte* remote = nullptr;  ///< null: not such memory, or loads and stores cannot access it
  std::size_t bytes = 0;
};
template <Lookup lookup>
inline MappedTransfer find_mapped(Window& window, MPI_Count origin_count, MPI_Datatype origin_type, int rank,
                                  MPI_Aint disp, MPI_Count count, MPI_Datatype type) noexcept {
  if (origin_type != type || origin_count != count) [[unlikely]]
    return {};
  Datatype const* const known = window.recent_type.find(type);
  std::size_t const bytes = known != nullptr ? known->contiguous_bytes(count) : 0;
  std::uint64_t offset = 0;
  std::byte* const remote = window.targets.recent(rank).translate<lookup>(disp, bytes, &offset);
  return {bytes != 0 ? remote : nullptr, bytes};
}

/// Transfers by load and store while a trace is written, and records the transfer. Returns false if nothing
/// was done.
template <OpKind direction>
bool transfer_traced(engine::Recorder& recorder, Window& window, void* origin, MPI_Count origin_count,
                     MPI_Datatype origin_type, int rank, MPI_Aint disp, MPI_Count count,
                     MPI_Datatype type) noexcept {
  std::uint64_t const began = recorder.now();
  auto const [remote, bytes] =
      find_mapped<Lookup::traced>(window, origin_count, origin_type, rank, disp, count, type);
  if (remote == nullptr) return false;
  constexpr bool puts = direction == OpKind::put;
  auto* const local = static_cast<std::byte*>(origin);
  if constexpr (puts) window.stores.note();
  engine::copy_bytes(puts ? remote : local, puts ? local : remote, bytes);
  recorder.add_direct(began, window.targets.recent(rank).memory_owner->process(),
                      puts ? engine::TracedOp::put : engine::TracedOp::get, bytes);
  return true;
}

template <OpKind direction>
__attribute__((noinline)) int transfer_slow_path(void* origin, MPI_Count origin_count,
                                                 MPI_Datatype origin_type, int rank, MPI_Aint disp,
                                                 MPI_Count count, MPI_Datatype type,
                                                 mpix_window_t* handle) noexcept {
  Window& window = *static_cast<Window*>(handle);
  engine::Recorder* const recorder = window.engine.direct_recorder();
  if (recorder != nullptr && transfer_traced<direction>(*recorder, window, origin, origin_count, origin_type,
                                                        rank, disp, count, type)) [[unlikely]]
    return MPI_SUCCESS;
  return transfer(handle, direction, {origin, origin_count, origin_type}, {rank, disp, count, type}, nullptr);
}

/// Transfers contiguous memory of one type on both sides by load and store, at a target that was used
/// recently; all other transfers take the general path.
template <OpKind direction>
inline int transfer_fast_path(void* origin, MPI_Count origin_count, MPI_Datatype origin_type, int rank,
                              MPI_Aint disp, MPI_Count count, MPI_Datatype type,
                              mpix_window_t* handle) noexcept {
  auto& window = *static_cast<Window*>(handle);
  auto const [remote, bytes] =
      find_mapped<Lookup::usual>(window, origin_count, origin_type, rank, disp, count, type);
  if (remote != nullptr) [[likely]] {
    constexpr bool puts = direction == OpKind::put;
    auto* const local = static_cast<std::byte*>(origin);
    if constexpr (puts) window.stores.note();
    std::byte* const to = puts ? remote : local;
    std::byte const* const from = puts ? local : remote;
    if (bytes != sizeof(std::uint64_t)) return copy_and_succeed(to, from, bytes);
    std::memcpy(to, from, sizeof(std::uint64_t));
    return MPI_SUCCESS;
  }
  return transfer_slow_path<direction>(origin, origin_count, origin_type, rank, disp, count, type, handle);
}

}  // namespace
}  // namespace mpixrma::windows

using namespace mpixrma::windows;
using mpixrma::engine::OpKind;

int mpix_window_put(const void* origin, MPI_Count origin_count, MPI_Datatype origin_type, int rank,
                    MPI_Aint disp, MPI_Count count, MPI_Datatype type, mpix_window_t* window) {
  return transfer_fast_path<OpKind::put>(const_cast<void*>(origin), origin_count, origin_type, rank, disp,
                                         count, type, window);
}

int mpix_window_get(void* origin, MPI_Count origin_count, MPI_Datatype origin_type, int rank, MPI_Aint disp,
                    MPI_Count count, MPI_Datatype type, mpix_window_t* window) {
  return transfer_fast_path<OpKind::get>(origin, origin_count, origin_type, rank, disp, count, type, window);
}

int mpix_window_rput(mpix_window_t* window, const struct mpix_window_buffer* origin,
                     const struct mpix_window_place* target, MPI_Request* request) {
  return transfer(window, OpKind::put, *origin, *target, request);
}

int mpix_window_rget(mpix_window_t* window, const struct mpix_window_buffer* origin,
                     const struct mpix_window_place* target, MPI_Request* request) {
  return transfer(window, OpKind::get, *origin, *target, request);
}

int mpix_window_put_notify(mpix_window_t* window, const struct mpix_window_buffer* origin,
                           const struct mpix_window_place* target, int notification, MPI_Request* request) {
  if (notification < 0) return MPI_ERR_ARG;
  return transfer(window, OpKind::put, *origin, *target, request, notification);
}

int mpix_window_get_notify(mpix_window_t* window, const struct mpix_window_buffer* origin,
                           const struct mpix_window_place* target, int notification, MPI_Request* request) {
  if (notification < 0) return MPI_ERR_ARG;
  return transfer(window, OpKind::get, *origin, *target, request, notification);
}
