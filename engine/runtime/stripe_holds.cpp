#include "engine/runtime/stripe_holds.hpp"

#include <utility>

#include "engine/base/backoff.hpp"
#include "engine/runtime/state.hpp"
#include "engine/sync/footprint.hpp"

namespace mpixrma::engine {

template <typename Hold>
void EngineStripes::acquire(Hold& hold) {
  // Most holders release soon; some wait for messages that this process must handle.
  constexpr unsigned relaxed_spins = 64;
  for (unsigned spins = 0; spins < relaxed_spins; ++spins) {
    if (hold.acquire()) return;
    cpu_relax();
  }
  waits_.until([&] { return hold.acquire(); });
}

Holds EngineStripes::needed(Peer const& peer, Footprint const& footprint) noexcept {
  StripeTable& own = state_.segments.stripes();
  if (peer.stripes() == &own) return {StripeHold(own, footprint.origin | footprint.target), {}};
  StripeHold origin(own, footprint.origin);
  StripeHold target(*peer.stripes(), footprint.target);
  if (peer.process() < state_.bootstrap.process) return {std::move(target), std::move(origin)};
  return {std::move(origin), std::move(target)};
}

Holds EngineStripes::hold(Peer& peer, Footprint const& footprint) {
  if (footprint.origin.empty() && footprint.target.empty()) return {};
  Holds holds = needed(peer, footprint);
  acquire(holds);
  return holds;
}

StripeHold EngineStripes::hold_origin(Peer const& peer, Footprint const& footprint) {
  // An operation of this process on itself is executed by its own agent, so all stripes are acquired here.
  bool const self = peer.process() == state_.bootstrap.process && !footprint.origin.empty();
  StripeSets const wanted = self ? footprint.origin | footprint.target : footprint.origin;
  if (wanted.empty()) return {};
  StripeHold hold(state_.segments.stripes(), wanted);
  acquire(hold);
  return hold;
}

}  // namespace mpixrma::engine
