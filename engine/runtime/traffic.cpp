#include "engine/runtime/traffic.hpp"

#include <mutex>

#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

Statistics EngineTraffic::statistics() const {
  std::lock_guard const listed(state_.peers.lock);
  Statistics result{};
  result.peers = state_.peers.size();
  result.traffic = state_.peers.traffic_of_removed();
  state_.peers.for_each([&](Peer& peer) {
    if (peer.state().shares_memory) result.mapped_regions += peer.state().segments->mapped_regions();
    result.traffic += peer.state().traffic.read();
  });
  state_.channels.for_each([&](Channel& channel) {
    std::lock_guard const held(channel.lock);
    result.endpoints += channel.transport.endpoints();
    result.traffic.messages_executed += channel.executor.executed_positions.processed();
    result.requests_in_batches += channel.message_protocol.sender.in_batches();
    result.messages_dropped += channel.executor.drops.count() +
                               channel.message_protocol.reply_handler.dropped() + channel.eviction.dropped() +
                               channel.transport.dropped();
  });
  return result;
}

Traffic EngineTraffic::with(std::uint64_t process) const {
  std::lock_guard const listed(state_.peers.lock);
  Peer* const peer = state_.peers.known(process);
  Traffic result = peer != nullptr ? peer->state().traffic.read() : Traffic{};
  state_.channels.for_each([&](Channel& channel) {
    std::lock_guard const held(channel.lock);
    result.messages_executed += channel.executor.origins.messages_of(process);
  });
  return result;
}

}  // namespace mpixrma::engine
