#include "mpi-windows/state/notification_counters.hpp"

namespace mpixrma::windows {

void NotificationCounters::release(engine::Engine& engine) {
  if (base == nullptr) return;
  engine.progress();  // completes requests whose threshold is reached, before the others fail
  engine.forget_counters(base, base + count);
  (void)engine.free(base);
  base = nullptr;
  count = 0;
}

}  // namespace mpixrma::windows
