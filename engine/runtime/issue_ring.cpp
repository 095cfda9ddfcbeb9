/// Ring protocol: operations on unmapped memory of a process of this host that polls its ring.
#include <chrono>
#include <functional>

#include "engine/proto/ring.hpp"
#include "engine/runtime/dispatch.hpp"

namespace mpixrma::engine {

bool ring::can_execute(Dispatch& dispatch) {
  return dispatch.follows_all_messages() &&  // it would overtake messages in flight
         dispatch.config().ring_us >= 0 && dispatch.may_use(MPIX_ENGINE_PROTOCOL_RING);
}

std::optional<Issued> ring::issue(Dispatch& dispatch) {
  if (!can_execute(dispatch)) return std::nullopt;
  std::chrono::microseconds const timeout(dispatch.config().ring_us);
  std::function<void()> const serve = [&dispatch] { dispatch.serve_ring(); };
  RingRoute const route{dispatch.engine().process(),
                        dispatch.peer(),
                        dispatch.holds_target_stripes(),
                        cross_memory::process_vm_can_transfer(dispatch),
                        timeout,
                        serve};
  auto const status = deliver(dispatch.original(), route, &dispatch.unexecuted());
  return status ? std::optional(Issued::ended(*status)) : std::nullopt;
}

}  // namespace mpixrma::engine
