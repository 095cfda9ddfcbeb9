#include "engine/runtime/stripe_locks.hpp"

#include <utility>

#include "engine/base/backoff.hpp"
#include "engine/runtime/state.hpp"
#include "engine/sync/footprint.hpp"

namespace mpixrma::engine {

template <typename Lock>
void EngineStripes::wait_for(Lock& lock) {
  // Most holders release soon; some wait for messages that this process must handle.
  constexpr unsigned relaxed_spins = 64;
  for (unsigned spins = 0; spins < relaxed_spins; ++spins) {
    if (lock.acquire()) return;
    cpu_relax();
  }
  waits_.until([&] { return lock.acquire(); });
}

StripeLockPair EngineStripes::make_locks(Peer const& peer, Footprint const& footprint) noexcept {
  StripeTable& own = state_.segments.stripes();
  if (peer.stripes() == &own) return {UniqueStripeLock(own, footprint.origin | footprint.target), {}};
  UniqueStripeLock origin(own, footprint.origin);
  UniqueStripeLock target(*peer.stripes(), footprint.target);
  if (peer.process() < state_.bootstrap.process) return {std::move(target), std::move(origin)};
  return {std::move(origin), std::move(target)};
}

StripeLockPair EngineStripes::acquire(Peer& peer, Footprint const& footprint) {
  if (footprint.origin.empty() && footprint.target.empty()) return {};
  StripeLockPair locks = make_locks(peer, footprint);
  wait_for(locks);
  return locks;
}

UniqueStripeLock EngineStripes::acquire_origin(Peer const& peer, RmaOp const& operation) {
  Footprint const footprint = footprint_of(operation);
  // The messages of an atomic operation of this process on itself say that the stripes are held.
  bool const self = peer.process() == state_.bootstrap.process && has(operation.flags, OpFlags::atomic);
  StripeSets const wanted = self ? footprint.origin | footprint.target : footprint.origin;
  if (wanted.empty()) return {};
  UniqueStripeLock lock(state_.segments.stripes(), wanted);
  wait_for(lock);
  return lock;
}

}  // namespace mpixrma::engine
