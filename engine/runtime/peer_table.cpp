#include "engine/runtime/peer_table.hpp"

#include <new>
#include <utility>

#include "engine/base/shared_memory.hpp"
#include "engine/proto/cross_memory.hpp"
#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

Peer* PeerTable::known(std::uint64_t process) const noexcept {
  auto const found = peers_.find(process);
  return found != peers_.end() ? found->second.get() : nullptr;
}

Peer* PeerTable::find(std::uint64_t process, std::span<std::byte const> published) {
  LostPeers lost;  // destroyed without the lock
  std::unique_lock held(lock);
  Peer* found = known(process);
  if (found == nullptr) {
    lost = take_lost();
    bool const has_address = !published.empty() || await_address(process, held, lost);
    found = known(process);  // another thread may have made it meanwhile
    if (found == nullptr && has_address) found = make(process, published);
  }
  if (found != nullptr) ++found->state().users;
  return found;
}

/// Waits without the lock, which operations to other processes take. First destroys `lost`.
bool PeerTable::await_address(std::uint64_t process, std::unique_lock<std::mutex>& held, LostPeers& lost) {
  mpix_bootstrap const& job = state_.bootstrap;
  if (job.await_address == nullptr || process == job.process) return true;
  held.unlock();
  lost.clear();
  bool const found = job.await_address(job.context, process) == 0;
  held.lock();
  return found;
}

void PeerTable::release(Peer& peer) {
  LostPeers lost;  // destroyed without the lock
  std::lock_guard const held(lock);
  if (--peer.state().users != 0) return;
  if (pending_lock->peer.load(std::memory_order_relaxed) == &peer)
    pending_lock->peer.store(nullptr, std::memory_order_relaxed);
  if (!std::exchange(peer.state().unused, true)) unused_.push_back(&peer);
  lost = take_lost();
}

/// Removes and returns the lost peers without users. Destroying them may unmap gigabytes: callers do so after
/// they have released the lock.
PeerTable::LostPeers PeerTable::take_lost() {
  LostPeers taken;
  std::uint64_t lost = 0;
  state_.channels.for_each([&](Channel const& channel) { lost += channel.losses(); });
  bool const newest_lost = !unused_.empty() && unused_.back()->is_unreachable_by_messages();
  if (lost == losses_ && !newest_lost) return taken;
  losses_ = lost;
  std::erase_if(unused_, [&](Peer* peer) {
    peer->state().unused = peer->state().users == 0;
    return !peer->state().unused || (peer->is_unreachable_by_messages() && forget(*peer, &taken));
  });
  return taken;
}

/// False while the peer is in use or memory is short: the peer remains until the next loss.
bool PeerTable::forget(Peer& peer, LostPeers* taken) noexcept try {
  taken->emplace_back();
  lost_.insert_or_assign(peer.process(), LostProcess{peer.state().secret, peer.is_lost()});
  {
    Channel& channel = channel_of(peer);
    std::lock_guard const held(channel.lock);
    if (!channel.message_protocol.remove_peer(peer)) return false;
    // Of issuers that no longer exist: existing ones are users of the peer.
    failures_of_removed_.add(peer.state().messages.errors.take_all(), peer.process());
  }
  state_.loss_notices.remove_peer(peer);
  traffic_of_removed_ += peer.state().traffic.read();
  taken->back() = std::move(peers_.extract(peer.process()).mapped());
  return true;
} catch (std::bad_alloc const&) {
  return false;
}

/// With the lock held.
Peer* PeerTable::make(std::uint64_t process, std::span<std::byte const> published) {
  bool const own = process == state_.bootstrap.process;
  if (own) {
    published = state_.publication;
  } else if (published.empty()) {
    void const* blob = nullptr;
    std::size_t length = 0;
    if (state_.bootstrap.peer_address(state_.bootstrap.context, process, &blob, &length) != 0) return nullptr;
    published = {static_cast<std::byte const*>(blob), length};
  }
  ProcessAddress address;
  Secret secret;
  if (!read_published(published, &address, &secret) || address.process != process) {
    state_.log.write(LogLevel::error, "process %s published no usable address",
                     state_.log.name(process).c_str());
    return nullptr;
  }
  auto made = Peer::make(process, state_of(std::move(address)));
  PeerState& peer = made->state();
  if (peer.shares_memory && state_.recorder != nullptr) made->trace_direct_access();
  peer.secret = secret;
  if (auto const lost = lost_.find(process); lost != lost_.end() && lost->second.secret == secret) {
    lost->second.is_unreachable ? made->mark_unreachable() : made->mark_unreachable_by_messages();
    peer.messages.broken = true;
  }
  state_.log.write(LogLevel::peers, "peer %s: %s%s", state_.log.name(process).c_str(),
                   peer.shares_memory ? "same host" : "other host",
                   peer.cross_memory ? ", cross-memory permitted" : "");
  auto const place = peers_.emplace(process, std::move(made)).first;
  Peer* const entry = place->second.get();
  try {
    add_to_channel(*entry);
  } catch (...) {
    peers_.erase(place);
    throw;
  }
  if (own) self_.store(entry, std::memory_order_release);
  if (state_.multi_peer_fence.is_pending()) entry->defer_direct_access(Peer::deferred_by_multi_peer_fence);
  return entry;
}

/// Lets the channel report the loss of the peer. If memory is short, the channel does not know the peer.
void PeerTable::add_to_channel(Peer& peer) {
  Channel& channel = channel_of(peer);
  std::lock_guard const held(channel.lock);
  if (peer.state().location.same_host) channel.watch.add(peer.process(), peer.state().location.pid);
  channel.message_protocol.add_peer(peer);
  try {
    state_.loss_notices.add_peer(peer);
  } catch (...) {
    channel.message_protocol.sessions.remove_peer(peer);
    throw;
  }
}

/// Determines the properties of the process with this address before anything is issued to it.
std::unique_ptr<PeerState> PeerTable::state_of(ProcessAddress address) {
  auto peer = std::make_unique<PeerState>();
  std::uint64_t const process = address.process;
  int const tables_fd = address.tables_fd;
  int const control_fd = address.control_fd;
  peer->encrypt = address.encrypt;
  peer->channel = &state_.channels.of(process);
  peer->unannounced_transfers = &peer->channel->unannounced_transfers;
  peer->location = peer->channel->connections.locate(std::move(address));
  // Without these protocols, processes of this host are treated like processes of another host.
  bool const local_paths = state_.may_use(MPIX_ENGINE_PROTOCOL_DIRECT) ||
                           state_.may_use(MPIX_ENGINE_PROTOCOL_CROSS_MEMORY) ||
                           state_.may_use(MPIX_ENGINE_PROTOCOL_RING);
  if (!local_paths || !peer->location.same_host) return peer;
  auto remote_segments = std::make_unique<RemoteSegments>();
  if (process == state_.bootstrap.process) {
    remote_segments->open_own(state_.segments.tables(), state_.segments.control());
  } else if (!remote_segments->open(process, peer->location.pid, tables_fd, control_fd, state_.log)) {
    if (descriptors_run_short())
      state_.log.write(LogLevel::error, "process %s of this host is treated like one of another: %s",
                       state_.log.name(process).c_str(), to_string(Status::no_descriptors));
    return peer;
  }
  if (state_.config.prefault != 0) remote_segments->set_prefaulter(state_.page_prefaulter);
  peer->segments = std::move(remote_segments);
  peer->shares_memory = true;
  if (state_.may_use(MPIX_ENGINE_PROTOCOL_CROSS_MEMORY))
    peer->cross_memory.store(cross_memory_permitted(peer->location.pid), std::memory_order_relaxed);
  return peer;
}

}  // namespace mpixrma::engine
