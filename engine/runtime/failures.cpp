/// Engine: failures that no completion reports.
#include <algorithm>
#include <new>
#include <vector>

#include "engine/runtime/engine.hpp"
#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

LateErrors::Failures Engine::take_errors(Peer& peer, std::uint32_t context) {
  LateErrors::Failures failures;
  {
    std::lock_guard const held(channel_of(peer).lock);
    failures = peer.state().messages.errors.take(context);
  }
  // Acquire: pairs with the release in keep_error().
  if (!state_->has_untold.load(std::memory_order_acquire)) return failures;
  std::lock_guard const held(state_->untold_lock);
  failures.add(state_->untold.take(context));
  return failures;
}

Status Engine::take_error(Peer& peer, std::uint32_t context, LateError* error) {
  LateError const taken = take_errors(peer, context).first;
  if (error != nullptr) *error = taken;
  return taken.status;
}

void Engine::keep_error(std::uint32_t context, LateError const& error) noexcept try {
  std::lock_guard const held(state_->untold_lock);
  state_->untold.keep(context, error);
  state_->has_untold.store(true, std::memory_order_release);
} catch (std::bad_alloc const&) {
  state_->log.write(LogLevel::error, "no memory to keep the failure of an operation: %s",
                    to_string(error.status));
}

LateErrors::Failures Engine::complete_everything() {
  State& state = *state_;
  std::vector<Peer*> peers;
  {
    std::lock_guard const listed(state.peers_lock);
    for (auto const& [process, peer] : state.peers) {
      ++peer->state().users;
      peers.push_back(peer.get());
    }
  }
  LateErrors::Failures failures;
  for (Peer* const peer : peers) {
    complete(*peer, std::max<std::uint64_t>(peer->newest(), 1));
    std::lock_guard const held(channel_of(*peer).lock);
    failures.add(peer->state().messages.errors.take_all());
  }
  for (Peer* const peer : peers) release(*peer);
  std::lock_guard const held(state.untold_lock);
  failures.add(state.untold.take_all());
  return failures;
}

}  // namespace mpixrma::engine
