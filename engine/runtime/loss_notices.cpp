#include "engine/runtime/loss_notices.hpp"

#include <cstring>
#include <new>

#include "engine/net/session.hpp"
#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

namespace {

constexpr char const* reason = "it cannot send messages to this process";

}  // namespace

LossNotices::Notice LossNotices::notice_to(Peer& peer) const {
  auto const service = services_.find(peer.process());
  return {peer.process(), service != services_.end() ? service->second : ServiceAddress{},
          peer.state().secret, !peer.state().shares_memory || peer.requires_messages()};
}

LossNotices::Notice LossNotices::notice_to_origin(std::uint64_t process) const {
  Peer* const peer = state_.peers.find(process, {});
  if (peer == nullptr) return {};
  Notice notice;
  {
    std::lock_guard const held(mutex_);
    notice = notice_to(*peer);
  }
  state_.peers.release(*peer);
  return notice;
}

void LossNotices::announce(std::uint64_t process, Peer* peer) noexcept {
  if (process == state_.bootstrap.process) return;
  try {
    std::lock_guard const held(mutex_);
    if (peer != nullptr && !services_.contains(process)) return;
    waiting_.push_back(peer != nullptr ? notice_to(*peer) : Notice{process, {}, {}, false});
    has_news_.store(true, std::memory_order_relaxed);
  } catch (std::bad_alloc const&) {  // the other process is not notified
    return;
  }
  state_.channels.front().wake_agent();
}

void LossNotices::send() {
  if (!has_news_.load(std::memory_order_relaxed)) return;
  std::vector<Notice> notices;
  {
    std::lock_guard const held(mutex_);
    notices = waiting_;  // `waiting_` keeps its capacity
    waiting_.clear();
    has_news_.store(false, std::memory_order_relaxed);
  }
  for (Notice const& notice : notices)
    send(notice.service.name != 0 ? notice : notice_to_origin(notice.process));
}

void LossNotices::send(Notice const& notice) const {
  if (notice.service.name == 0) return;
  SessionOpening const opening{.origin = state_.credentials.process,
                               .origin_incarnation = state_.credentials.incarnation,
                               .target = notice.process,
                               .nonce = state_.credentials.nonce};
  state_.address_service.send(notice.service, make_loss_notice(notice.secret, opening, notice.silent));
}

void LossNotices::receive(std::uint64_t process, bool silent) {
  Channel& channel = state_.channels.of(process);
  std::lock_guard const held(channel.lock);
  if (Peer* const peer = channel.message_protocol.sessions.peer_of(process)) {
    if (silent) peer->mark_silent();
  } else {
    std::lock_guard const noted(mutex_);
    early_[process] = silent;
  }
  if (channel.message_protocol.sessions.knows(process) || channel.connections.knows(process))
    channel.connections.mark_unreachable_by_messages(process, reason);
  (void)channel.progress();
  channel.wake_agent_if_needed();
}

bool LossNotices::is_silent(std::uint64_t process) const {
  std::lock_guard const held(mutex_);
  auto const found = early_.find(process);
  return found != early_.end() && found->second;
}

void LossNotices::remove_peer(Peer const& peer) noexcept {
  std::lock_guard const held(mutex_);
  services_.erase(peer.process());
}

void LossNotices::add_peer(Peer& peer) {
  bool silent = false;
  {
    std::lock_guard const held(mutex_);
    Location const& location = peer.state().location;
    ServiceAddress service;
    if (location.is_deferred && location.worker.size() == sizeof service) {
      std::memcpy(&service, location.worker.data(), sizeof service);
      services_[peer.process()] = service;
      waiting_.reserve(services_.size());  // a loss for lack of memory is announced, too
    }
    auto const found = early_.find(peer.process());
    if (found == early_.end()) return;
    channel_of(peer).connections.mark_unreachable_by_messages(peer.process(), reason);
    silent = found->second;
    early_.erase(found);
  }
  if (silent) peer.mark_silent();
  (void)channel_of(peer).progress();
}

}  // namespace mpixrma::engine
