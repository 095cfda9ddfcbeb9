#include "mpi-windows/state/notification_counters.hpp"

namespace mpixrma::windows {

void NotificationCounters::release(engine::Engine& engine) {
  if (base == nullptr) return;
  engine.waits.progress();  // completes requests whose threshold is reached, before the others fail
  engine.counters.forget(base, base + count);
  (void)engine.memory.free(base);
  base = nullptr;
  count = 0;
}

}  // namespace mpixrma::windows
