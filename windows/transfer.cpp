/// Put and get.
#include "windows/operation.hpp"

namespace mpix::windows {

namespace {

using engine::Direction;

using Buffer = mpix_window_buffer;
using Place = mpix_window_place;

/// Contiguous memory of one type on both sides, by load and store. False, with nothing done: any other.
template <Direction direction>
bool try_contiguous(Window const& window, Buffer const& origin, Place const& place) noexcept {
  Datatype const* const type = Datatype::find_known(origin.type);
  if (type == nullptr || !type->is_contiguous()) return false;
  if (origin.type != place.type || origin.count != place.count || origin.count > type->max_count())
    return false;
  std::size_t const bytes = type->size() * static_cast<std::size_t>(origin.count);
  std::byte* const remote = reach(window, place.rank, place.disp, bytes).mapped;
  if (remote == nullptr) return false;
  auto* const local = static_cast<std::byte*>(origin.address);
  if constexpr (direction == Direction::put) {
    engine::copy_bytes(remote, local, bytes);
  } else {
    engine::copy_bytes(local, remote, bytes);
  }
  return true;
}

int transfer_any(Window& window, Direction direction, Buffer const& origin, Place const& place,
                 MPI_Request* request) {
  Target* target = nullptr;
  if (int const error = access(window, place.rank, request, &target); error != MPI_SUCCESS) return error;
  Side local;
  Side remote;
  if (int const error = local.describe(origin.type, origin.count); error != MPI_SUCCESS) return error;
  if (int const error = remote.describe(place.type, place.count); error != MPI_SUCCESS) return error;
  if (local.bytes() != remote.bytes()) return MPI_ERR_TYPE;
  if (local.bytes() == 0) return finish_empty(request);
  engine::Transfer transfer;
  transfer.direction = direction;
  transfer.origin = static_cast<std::byte*>(origin.address);
  transfer.origin_layout = local.layout();
  transfer.target_layout = remote.layout();
  if (int const error = locate(window, *target, place.disp, &transfer); error != MPI_SUCCESS) return error;
  return issue(window, *target, transfer, request);
}

template <Direction direction>
int transfer(mpix_window_t* handle, Buffer const* origin, Place const* place, MPI_Request* request) {
  Window& window = *static_cast<Window*>(handle);
  if (request == nullptr && try_contiguous<direction>(window, *origin, *place)) return MPI_SUCCESS;
  return transfer_any(window, direction, *origin, *place, request);
}

}  // namespace
}  // namespace mpix::windows

using namespace mpix::windows;

int mpix_window_put(mpix_window_t* window, const struct mpix_window_buffer* origin,
                    const struct mpix_window_place* target, MPI_Request* request) try {
  return transfer<mpix::engine::Direction::put>(window, origin, target, request);
} catch (...) {
  return class_of_exception();
}

int mpix_window_get(mpix_window_t* window, const struct mpix_window_buffer* origin,
                    const struct mpix_window_place* target, MPI_Request* request) try {
  return transfer<mpix::engine::Direction::get>(window, origin, target, request);
} catch (...) {
  return class_of_exception();
}
