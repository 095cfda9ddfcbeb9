/// Player: calls beyond MPI's.
#include <chrono>

#include "tests/support/slowness.hpp"
#include "tests/windows/random/extensions.hpp"
#include "tests/windows/random/player.hpp"

namespace mpixrma::random_windows {

/// Makes each rank's counters of all windows. Collective call.
void Player::make_counters() {
  for (std::size_t i = 0; i < plan_.windows.size(); ++i) {
    std::vector<int> const& wanted = plan_.windows[i].counters;
    counts_.emplace_back();
    for (int const number : wanted) counts_.back().emplace_back(static_cast<std::size_t>(number));
    if (wanted.empty()) continue;
    Window const& target_window = *windows_[i];
    require(set_counters(target_window.handle(), wanted[static_cast<std::size_t>(rank_)]), nullptr,
            "MPIX_Win_set_num_notify");
    for (int rank = 0; rank < size_; ++rank) {
      int number = -1;
      require(count_counters(target_window.handle(), target_window.rank_of(rank), &number), nullptr,
              "MPIX_Win_get_num_notify");
      if (number != wanted[static_cast<std::size_t>(rank)])
        fail("window " + std::to_string(i) + " has " + std::to_string(number) + " counters at rank " +
             std::to_string(rank));
    }
  }
}

void Player::count(Step const& step) {
  if (step.notification < 0 || step.target == MPI_PROC_NULL) return;
  ++counts_[static_cast<std::size_t>(step.window)][static_cast<std::size_t>(step.target)]
           [static_cast<std::size_t>(step.notification)];
}

/// Calls use(index of the window, of the counter, expected value) for this rank's counters.
template <typename Use>
void Player::for_own_counters(Episode const& episode, Use use) {
  for (Epoch const& epoch : episode.epochs) {
    auto const window = static_cast<std::size_t>(epoch.window);
    if (plan_.windows[window].counters.empty()) continue;
    auto& own = counts_[window][static_cast<std::size_t>(rank_)];
    for (std::size_t i = 0; i < own.size(); ++i) use(epoch.window, static_cast<int>(i), own[i]);
  }
}

/// Waits with a time limit, so that a missing notification is a failure that can be shrunk.
void Player::await_counter(int index, int counter, MPI_Count expected) {
  using Clock = std::chrono::steady_clock;
  MPI_Request request = MPI_REQUEST_NULL;
  require(wait_for_counter(window(index).handle(), counter, expected, &request), nullptr,
          "MPIX_Win_wait_notify_value");
  auto const end = Clock::now() + std::chrono::seconds(10) * test::slowness;
  int done = 0;
  while (done == 0 && failures_ == 0 && Clock::now() < end)
    require(MPI_Test(&request, &done, MPI_STATUS_IGNORE), nullptr, "MPI_Test for a counter");
  if (done != 0) return;
  fail("counter " + std::to_string(counter) + " of window " + std::to_string(index) + " did not reach " +
       std::to_string(expected));
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
}

/// Expects all notifications of the episode, and no others. Collective call.
void Player::check_counters(Episode const& episode) {
  bool any = false;
  for (Epoch const& epoch : episode.epochs)
    any = any || !plan_.windows[static_cast<std::size_t>(epoch.window)].counters.empty();
  if (!any) return;
  for_own_counters(episode, [this](int index, int counter, MPI_Count expected) {
    await_counter(index, counter, expected);
  });
  MPI_Barrier(comm_);
  for_own_counters(episode, [this](int index, int counter, MPI_Count& expected) {
    CounterRead const mode = (plan_.seed + static_cast<std::uint64_t>(index + counter)) % 3 == 0
                                 ? CounterRead::reset
                                 : CounterRead::keep;
    MPI_Count value = -1;
    require(read_counter(window(index).handle(), counter, mode, &value), nullptr, "reading a counter");
    if (value != expected)
      fail("counter " + std::to_string(counter) + " of window " + std::to_string(index) + " is " +
           std::to_string(value) + " instead of " + std::to_string(expected));
    expected = value;
  });
  // Every rank models the resets at all ranks.
  for (Epoch const& epoch : episode.epochs) {
    for (auto& of_rank : counts_[static_cast<std::size_t>(epoch.window)]) {
      for (std::size_t counter = 0; counter < of_rank.size(); ++counter) {
        if ((plan_.seed + static_cast<std::uint64_t>(epoch.window) + counter) % 3 == 0) of_rank[counter] = 0;
      }
    }
  }
}

int Player::issue_notification(Pending& pending, int target, MPI_Aint at) {
  Step const& step = *pending.step;
  bool const empty = is_without_origin(step);
  Notified operation{step.call,
                     empty ? nullptr : pending.origin->address(),
                     empty ? 0 : step.origin.count,
                     step.origin.shape->type,
                     nullptr,
                     0,
                     MPI_DATATYPE_NULL,
                     target,
                     at,
                     step.target_side.count,
                     step.target_side.shape->type,
                     step.call >= Call::accumulate ? stress::handle_of(step.op) : MPI_OP_NULL,
                     step.notification,
                     window(step.window).handle(),
                     step.request ? &pending.request : nullptr};
  if (step.call == Call::get_accumulate) {
    operation.result = pending.result->address();
    operation.result_count = step.result.count;
    operation.result_type = step.result.shape->type;
  }
  return issue_notified(operation);
}

/// Makes one call for several windows: all operations on these windows are complete afterwards.
int Player::flush_several(Step const& step) {
  std::vector<MPI_Win> handles;
  for (int const index : step.windows) handles.push_back(window(index).handle());
  int const code = flush_windows(handles);
  for (int const index : step.windows) check_buffers(index, all_targets);
  return code;
}

/// Whether the call applies to operations to all targets.
bool applies_to_all_targets(Call call) {
  switch (call) {
    case Call::lock_all:
    case Call::unlock_all:
    case Call::flush_all:
    case Call::flush_local_all:
    case Call::order_all:
    case Call::iflush_all:
    case Call::iflush_local_all:
    case Call::flush_thread_all:
    case Call::flush_windows:
    case Call::sync: return true;
    default: return false;
  }
}

int Player::play_extension(Step const& step) {
  if (step.call == Call::flush_windows) return flush_several(step);
  Window& target_window = window(step.window);
  int const target = applies_to_all_targets(step.call) ? -1 : step.target;
  MPI_Request request = MPI_REQUEST_NULL;
  int const code =
      order_or_flush(step.call, target_window.rank_of(step.target), target_window.handle(), &request);
  if (code != MPI_SUCCESS || step.call == Call::order || step.call == Call::order_all) return code;
  if (step.call >= Call::flush_thread) {
    check_buffers(step.window, target);
    return code;
  }
  flushes_.push_back({request, {}});
  for (Pending& pending : pending_) {
    if (pending.step->window == step.window && (target < 0 || pending.step->target == target))
      flushes_.back().covered.push_back(&pending);
  }
  if (step.needed) wait_for_flushes();
  return code;
}

/// Completes the requests of flushes.
void Player::wait_for_flushes() {
  for (PendingFlush& flush : flushes_) {
    require(MPI_Wait(&flush.request, MPI_STATUS_IGNORE), nullptr, "MPI_Wait for a flush");
    for (Pending* const pending : flush.covered) check(*pending);
  }
  flushes_.clear();
}

}  // namespace mpixrma::random_windows
