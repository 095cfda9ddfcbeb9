/// Window: order and completion of what was issued, in epochs of passive targets.
#include <algorithm>
#include <memory>
#include <span>

#include "windows/request.hpp"
#include "windows/window.hpp"

namespace mpix::windows {

namespace {

/// A flush with a request, which is complete when the last of its targets is.
struct PendingFlush {
  struct Part : engine::Completion {
    PendingFlush* flush = nullptr;
  };
  PendingFlush(std::size_t targets, RequestCompletion& told, std::atomic<std::size_t>& of_window);

  RequestCompletion& request;
  std::atomic<std::size_t>& pending;  ///< flushes of the window
  std::vector<Part> parts;
  std::atomic<std::size_t> missing;  ///< parts
  std::atomic<engine::Status> first{engine::Status::ok};
};

void end_part(engine::Completion& self, engine::Status status, std::size_t) noexcept {
  PendingFlush* const flush = static_cast<PendingFlush::Part&>(self).flush;
  engine::Status none = engine::Status::ok;
  flush->first.compare_exchange_strong(none, status, std::memory_order_relaxed);
  // Who ends the last part sees what the others have done.
  if (flush->missing.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  std::unique_ptr<PendingFlush> const owned(flush);
  flush->request.done(flush->request, flush->first.load(std::memory_order_relaxed), 0);
  // Release: pairs with the acquire in Window::close(), after which there is no window.
  flush->pending.fetch_sub(1, std::memory_order_release);
}

PendingFlush::PendingFlush(std::size_t targets, RequestCompletion& told, std::atomic<std::size_t>& of_window)
    : request(told), pending(of_window), parts(targets), missing(targets) {
  for (Part& part : parts) {
    part.flush = this;
    part.done = &end_part;
  }
}

}  // namespace

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

/// Begins to wait for targets with outstanding messages.
int Window::iflush(std::span<Target* const> targets, Level level, MPI_Request* request) {
  if (level == Level::remote) settle();
  if (targets.empty()) {
    *request = completed_request();
    return MPI_SUCCESS;
  }
  RequestCompletion* const told = open_request(handle_);
  if (told == nullptr) return MPI_ERR_NO_MEM;
  *request = told->handle;
  PendingFlush::Part* part = nullptr;
  try {
    part = (new PendingFlush(targets.size(), *told, flushes_))->parts.data();
  } catch (std::bad_alloc const&) {
    drop_request(told);
    return MPI_ERR_NO_MEM;
  }
  flushes_.fetch_add(1, std::memory_order_relaxed);
  // The last part may take the flush with it.
  for (Target* const target : targets) {
    std::uint64_t const sequence = target->outstanding.get();
    engine::Completion& completion = *part++;
    level == Level::local ? engine_.watch_local(*target->memory, sequence, completion)
                          : engine_.watch(*target->memory, sequence, context_, completion);
  }
  return MPI_SUCCESS;
}

int Window::iflush(int rank, Level level, MPI_Request* request) {
  Target* used = nullptr;
  if (int const error = find_passive(rank, &used); error != MPI_SUCCESS) return error;
  bool const pending = used != nullptr && used->outstanding.is_set();
  return iflush(std::span(&used, pending ? 1 : 0), level, request);
}

int Window::iflush_all(Level level, MPI_Request* request) {
  if (!is_passive()) return MPI_ERR_RMA_SYNC;
  std::vector<Target*> pending;
  for_each_target([&](Target& target) {
    if (target.outstanding.is_set()) pending.push_back(&target);
  });
  return iflush(pending, level, request);
}

/// Waits until no request of a flush is told any more.
void Window::end_flushes() {
  // Acquire: pairs with the release in end_part().
  engine_.wait_until([this] { return flushes_.load(std::memory_order_acquire) == 0; });
}

}  // namespace mpix::windows
