#include "engine/runtime/waits.hpp"

#include <sched.h>

#include "engine/memory/fault_guard.hpp"
#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

int EngineWaits::progress() {
  FaultScope const faults;  // in every turn: scopes in quick succession need only one system call
  return state_.channels.poll() + state_.watches.check();
}

void EngineWaits::wake_agents_if_needed() { state_.channels.wake_agents_if_needed(); }

bool EngineWaits::yields_when_idle() const {
  mpix_engine_config const& config = state_.config;
  return config.yields_when_idle != nullptr && config.yields_when_idle(config.context) != 0;
}

std::uint64_t EngineWaits::begin_trace() const noexcept {
  return state_.recorder != nullptr ? state_.recorder->now() : 0;
}

void EngineWaits::end_trace(Peer const& peer, std::uint64_t began, std::uint64_t sequence) const noexcept {
  if (state_.recorder != nullptr) state_.recorder->add_wait(began, peer.process(), sequence);
}

void EngineWaits::step(unsigned spins) {
  if (state_.channels.poll_now() + state_.watches.check() == 0) rest(spins);
}

void EngineWaits::step(Peer& peer, unsigned spins) {
  // The other channels belong to the threads that wait there, and to the agents. This thread also polls them
  // now and then, so that their messages need not wake an agent while a thread is awake.
  constexpr unsigned others_interval = 16;
  Channels& channels = state_.channels;
  int events = channel_of(peer).poll_now() + state_.watches.check();
  if (channels.size() > 1 && spins % others_interval == others_interval - 1) events += channels.poll();
  if (events == 0) rest(spins);
}

void EngineWaits::rest(unsigned spins) const {
  constexpr unsigned host_interval = 128;
  constexpr unsigned yield_after = 512;
  // The awaited peer may itself wait in MPI for progress of this process.
  mpix_engine_config const& config = state_.config;
  if (spins % host_interval == host_interval - 1 && config.progress != nullptr)
    config.progress(config.context);
  if (spins > yield_after || yields_when_idle()) sched_yield();
}

}  // namespace mpixrma::engine
