/// The lock of a stripe against the memory model of the language, with two readers of one process.
#include <gtest/gtest.h>

#include "engine/sync/stripe_lock.hpp"
#include "tests/engine/lock_free_model.hpp"

namespace mpixrma::engine::model {

/// Readers and a writer of one stripe. The readers search for a free entry from the last one on and continue
/// at the first one, which the writer reads before the last. Relacy reports an access of the writer to `data`
/// that is not ordered with the accesses of a reader.
template <template <typename> class Atomic>
struct StripeLockModel : rl::test_suite<StripeLockModel<Atomic>, 3> {
  static constexpr std::size_t entries = 3;
  static constexpr pid_t reader = entries - 1;
  static constexpr pid_t writer = entries;
  using Lock = BasicStripeLock<Atomic, entries>;

  Lock lock;
  rl::var<int> data;

  void before() { data($) = 0; }
  void read() {
    if (!lock.try_lock_shared(reader)) return;
    RL_ASSERT(int(data($)) <= 2);
    RL_ASSERT(int(data($)) <= 2);
    lock.unlock_shared(reader);
  }
  void write() {
    auto const state = lock.announce_writer(writer);
    if (state == Lock::Writer::refused) return;
    if (state == Lock::Writer::announced && !lock.has_no_readers() && !lock.has_no_readers())
      return lock.withdraw_writer();
    data($) = int(data($)) + 1;
    lock.unlock();
  }
  void thread(unsigned index) {
    for (int i = 0; i < 2; ++i) index == 0 ? write() : read();
  }
};

TEST(StripeLockModel, WriterIsAloneBesideReadersOfOneProcess) {
  expect_that_order_matters<StripeLockModel>(200000);
}

}  // namespace mpixrma::engine::model
