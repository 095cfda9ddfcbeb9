/// A pool of the states that the library attaches to MPI objects: created at first use, found through an
/// attribute of the object, reused when the object is freed, never deallocated (see HandleCache).
#pragma once

#include <deque>
#include <mutex>
#include <vector>

namespace mpixrma {

template <typename State>
class StatePool {
 public:
  State& take() {
    std::lock_guard const held(lock_);
    if (unused_.empty()) unused_.push_back(&states_.emplace_back());
    State* const state = unused_.back();
    unused_.pop_back();
    return *state;
  }

  /// Calls `retire(state)` and keeps the state for another object.
  template <typename Retire>
  void give_back(State& state, Retire retire) {
    std::lock_guard const held(lock_);
    retire(state);
    unused_.push_back(&state);
  }

  template <typename Visitor>
  void for_each(Visitor visit) {
    std::lock_guard const held(lock_);
    for (auto& state : states_) visit(state);
  }

  std::mutex& lock() noexcept { return lock_; }

 private:
  std::mutex lock_;
  std::deque<State> states_;
  std::vector<State*> unused_;
};

}  // namespace mpixrma
