#include "engine/runtime/failures.hpp"

#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

LateErrors::Failures EngineFailures::take_all(Peer& peer, std::uint32_t context) {
  LateErrors::Failures failures;
  // The requests of watch() alone report failures of the operations that they cover.
  state_.watches.settle();
  {
    std::lock_guard const held(channel_of(peer).lock);
    failures = peer.state().messages.errors.take(context);
  }
  // Acquire: pairs with the release in keep().
  if (!has_kept_.load(std::memory_order_acquire)) return failures;
  std::lock_guard const held(lock_);
  failures.add(kept_.take(context, peer.process()));
  return failures;
}

void EngineFailures::forget(Peer& peer, std::uint32_t context) noexcept {
  std::lock_guard const held(channel_of(peer).lock);
  peer.state().messages.untracked.forget(context);
  if (UnorderedTransfers* const transfers = peer.state().transfers_if_any()) {
    if (auto const puts = transfers->unflushed.find(context); puts != transfers->unflushed.end())
      puts->second.first = 0;
  }
}

Status EngineFailures::take(Peer& peer, std::uint32_t context, LateError* error) {
  LateError const taken = take_all(peer, context).first;
  if (error != nullptr) *error = taken;
  return taken.status;
}

void EngineFailures::keep(std::uint32_t context, LateError const& error, std::uint64_t process) noexcept {
  std::lock_guard const held(lock_);
  kept_.keep(context, error, process);
  has_kept_.store(true, std::memory_order_release);
}

LateErrors::Failures EngineFailures::take_kept() {
  std::lock_guard const held(lock_);
  return kept_.take_all();
}

}  // namespace mpixrma::engine
