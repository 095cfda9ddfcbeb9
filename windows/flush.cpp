/// Window: order and completion of what was issued, in epochs of passive targets.
#include "windows/window.hpp"

namespace mpix::windows {

/// The target of a passive epoch. `*used` is nullptr where no operation of the epoch has been there.
int Window::find_passive(int rank, Target** used) const noexcept {
  if (rank < 0 || rank >= size_) return MPI_ERR_RANK;
  *used = open_target(rank);
  bool const permitted =
      *used != nullptr ? is_passive() : epoch_.load(std::memory_order_relaxed) == Epoch::lock_all;
  return permitted ? MPI_SUCCESS : MPI_ERR_RMA_SYNC;
}

int Window::flush_any(int rank, Level level) {
  Target* used = nullptr;
  if (int const error = find_passive(rank, &used); error != MPI_SUCCESS || used == nullptr) return error;
  return level == Level::local ? complete_locally(*used) : complete(*used);
}

int Window::flush_all(Level level) {
  if (!is_passive()) return MPI_ERR_RMA_SYNC;
  if (level == Level::remote) return complete_all();
  for_each_target([this](Target& target) { complete_locally(target); });
  return MPI_SUCCESS;
}

int Window::order(Target& target) {
  std::uint64_t const sequence = target.outstanding.get();
  if (sequence == 0) return MPI_SUCCESS;
  // Who reaches the memory without asking the engine does not look whether messages come first.
  if (target.view.local != nullptr) return complete_messages(target);
  engine_.fence(*target.memory, sequence);
  return MPI_SUCCESS;
}

int Window::order(int rank) {
  Target* used = nullptr;
  int error = find_passive(rank, &used);
  if (error == MPI_SUCCESS && used != nullptr) error = order(*used);
  settle();  // a load must not come before the stores that were made
  return error;
}

int Window::order_all() {
  if (!is_passive()) return MPI_ERR_RMA_SYNC;
  int error = MPI_SUCCESS;
  for_each_target([&](Target& target) { error = first_of(error, order(target)); });
  settle();
  return error;
}

int Window::begin_flush_all() {
  if (!is_passive()) return MPI_ERR_RMA_SYNC;
  for_each_target([this](Target& target) {
    if (std::uint64_t const sequence = target.outstanding.get(); sequence != 0)
      (void)engine_.test(*target.memory, sequence);
  });
  return MPI_SUCCESS;
}

}  // namespace mpix::windows
