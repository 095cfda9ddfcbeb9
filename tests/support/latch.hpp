/// Holds up calls of the process, so that a test sees what goes on meanwhile: by the order of events, not by
/// times.
#pragma once

#include <unistd.h>

#include <atomic>

#include "tests/support/slowness.hpp"

namespace mpixrma::test {

/// A gate at which calls of the process wait until the test opens the gate, or for a limited time if the test
/// hangs.
class Latch {
 public:
  void close() { is_open_.store(false); }
  void open() { is_open_.store(true); }
  void pass() {
    constexpr int longest_ms = 30000 * slowness;
    if (is_open_.load()) return;
    arrived_.store(true);
    for (int waited = 0; !is_open_.load(); ++waited) {
      if (waited == longest_ms) {
        was_forced_.store(true);
        open();
      }
      ::usleep(1000);
    }
  }
  bool is_waited_at() const { return arrived_.load() && !is_open_.load(); }
  bool was_forced() const { return was_forced_.load(); }

 private:
  std::atomic<bool> is_open_{true};
  std::atomic<bool> arrived_{false};
  std::atomic<bool> was_forced_{false};
};

bool eventually(auto const& predicate) {
  for (int waited = 0; waited < 20000 * slowness; ++waited) {
    if (predicate()) return true;
    ::usleep(1000);
  }
  return false;
}

}  // namespace mpixrma::test
