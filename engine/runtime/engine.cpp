/// Engine: construction and destruction, and functions that concern several of its parts.
#include "engine/runtime/engine.hpp"

#include <algorithm>
#include <vector>

#include "engine/proto/unordered_transfers.hpp"
#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

Engine::Engine(mpix_engine_config const& config, mpix_bootstrap const& bootstrap)
    : Engine(std::make_unique<EngineState>(config, bootstrap)) {}

Engine::Engine(std::unique_ptr<EngineState> state)
    : waits(*state),
      peers(*state),
      order(*state, waits, peers),
      failures(*state),
      stripes(*state, waits),
      locks(*state, waits, order),
      memory(*state, waits),
      exposures(*state, waits, memory),
      peer_memory(*state, peers, order),
      counters(*state),
      traffic(*state),
      state_(std::move(state)) {}

Engine::~Engine() {
  state_->channels.stop();
  state_->registrations.stop();
  std::lock_guard const held(state_->channels);
  // No flush is started on an endpoint that is being closed.
  state_->peers.for_each([](Peer& peer) {
    peer.state().messages.broken = true;
    lose_transfers(peer);
  });
  // UCX puts and gets in flight use the keys, and keys belong to a worker.
  state_->channels.close_endpoints();
  state_->peers.for_each([](Peer& peer) { NetworkProtocol::forget_keys(peer); });
  state_->channels.close();
}

Status Engine::start() {
  Status const status = state_->start();
  bool const issues =
      state_->counts_direct.load(std::memory_order_relaxed) || state_->device_memory.is_possible();
  if (!issues) direct_recorder_ = state_->recorder.get();
  return status;
}

std::uint64_t Engine::process() const noexcept { return state_->bootstrap.process; }
HostIdentity const& Engine::host() const noexcept { return state_->identity; }
bool Engine::is_of_this_process() const noexcept { return state_->pid == own_process_id(); }
bool Engine::is_checking() const noexcept { return state_->config.check != 0; }
std::span<std::byte const> Engine::address() const noexcept { return state_->publication; }

UnreportedFailures Engine::complete_everything() {
  std::vector<Peer*> all;
  {
    std::lock_guard const listed(state_->peers.lock);
    state_->peers.for_each([&](Peer& peer) {
      ++peer.state().users;
      all.push_back(&peer);
    });
  }
  UnreportedFailures found;
  {
    std::lock_guard const listed(state_->peers.lock);
    found = state_->peers.take_failures_of_removed();
  }
  for (Peer* const peer : all) {
    order.complete(*peer, std::max<std::uint64_t>(peer->newest(), 1));
    std::lock_guard const held(channel_of(*peer).lock);
    found.add(peer->state().messages.errors.take_all(), peer->process());
  }
  for (Peer* const peer : all) peers.release(*peer);
  found.all.add(failures.take_kept());
  return found;
}

void Engine::between_sends(std::function<void()> const& body) {
  std::lock_guard const held(state_->channels);
  body();
}

void Engine::issue_all() noexcept {
  direct_recorder_ = nullptr;
  state_->issues_all.store(true, std::memory_order_relaxed);
}
// Relaxed, as the store above: issuing threads know by other means that the engine is set up.
bool Engine::issues_all() const noexcept { return state_->issues_all.load(std::memory_order_relaxed); }

void Engine::count_direct() noexcept {
  issue_all();
  state_->counts_direct.store(true, std::memory_order_relaxed);
}
// Relaxed, as above.
bool Engine::counts_direct() const noexcept { return state_->counts_direct.load(std::memory_order_relaxed); }

}  // namespace mpixrma::engine
