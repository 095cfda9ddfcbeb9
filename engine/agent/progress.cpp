#include "engine/agent/progress.hpp"

#include "engine/path/rdma.hpp"

namespace mpix::engine {

void Progress::settle_losses() {
  for (Connections::Loss const& loss : connections.take_losses()) {
    // Remote keys go before the endpoint that they were made for.
    if (Peer* const peer = agent_path.lose(loss)) RdmaPath::forget_all(*peer);
    executor.forget(loss.process);
    connections.close(loss.process);
  }
}

}  // namespace mpix::engine
