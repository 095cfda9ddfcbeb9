/// The origin's side of the agent path: operations become messages, replies complete them.
/// Under the engine's lock throughout.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/agent/transport.hpp"
#include "engine/operation.hpp"
#include "engine/path/fragment.hpp"
#include "engine/path/outstanding.hpp"
#include "engine/peer/peer.hpp"

namespace mpix::engine {

class AgentPath {
 public:
  struct Settings {
    std::uint64_t process = 0;
    std::size_t fragment_bytes = 0;
    std::uint64_t window_messages = 0;  ///< fragments of large operations in flight per peer
  };

  /// Called when the owner of a segment wants it forgotten, until it returns true.
  using RevokeHandler = std::function<bool(Peer&, RemoteAddress base)>;

  AgentPath(Transport& transport, Settings const& settings) : transport_(transport), settings_(settings) {}

  void set_revoke_handler(RevokeHandler handler) { revoke_ = std::move(handler); }

  /// Makes replies of `peer` known. Called when the peer is made.
  void add_peer(Peer& peer) { peers_.emplace(peer.process(), &peer); }

  /// `hold` are the stripes of an atomic operation in this process; they are held until it is executed.
  Issued issue(Peer& peer, Transfer const& transfer, StripeHold hold);
  Issued issue(Peer& peer, ReadModifyWrite const& rmw, StripeHold hold);

  /// Asks for the segment at `address`; the answer is in the returned object, to be given to release().
  /// nullptr when the peer cannot be reached.
  Outstanding* find_segment(Peer& peer, RemoteAddress address);
  void release(Outstanding& entry) noexcept { pool_.release(entry); }

  /// Whether everything up to `sequence` is executed and answered.
  static bool finished(Peer& peer, std::uint64_t sequence) noexcept;

  void on_reply(std::span<std::byte const> header, std::span<std::byte const> payload) noexcept;

  /// Finishes operations whose origin buffers UCX has let go of, and sends again what was refused. After each
  /// progress of the transport.
  void settle_due();
  /// Something waits that no event announces: refused operations for stripes of this process, answers to
  /// revocations for the end of what uses the keys.
  bool has_waiting() const noexcept {
    return !refused_.empty() || !stalled_.empty() || !revocations_.empty();
  }

  /// The connection behind `endpoint` is lost: everything outstanding on it fails.
  void on_broken(ucp_ep_h endpoint, char const* reason) noexcept;

  /// Sends what the window permits.
  void advance(Peer& peer);

  /// The peer's endpoint, made at first use; nullptr when that fails.
  ucp_ep_h endpoint(Peer& peer);

 private:
  Issued start(Peer& peer, MessageOperation& operation, Guarantee guarantees, StripeHold hold);
  static std::uint64_t take_positions(Peer& peer, MessageOperation& operation, Guarantee guarantees,
                                      std::uint64_t messages);
  void send_lock(Outstanding& entry);
  void send_again(Outstanding& entry);
  void take_grant(Peer& peer, wire::ReplyHeader const& header);
  void retry_refused();
  bool may_be_sent_at_once(Peer& peer, MessageOperation const& operation) const;
  Outstanding& remember(Peer& peer, MessageOperation const& operation);
  Status send_fragment(Peer& peer, MessageOperation const& operation, Fragment const& fragment,
                       std::uint64_t sequence, Outstanding* entry);
  bool window_open(Peer& peer, Outstanding const& entry) const noexcept;
  FragmentLimits limits_for(MessageOperation const& operation) const noexcept;

  void settle(Peer& peer);
  bool is_finished(Outstanding const& entry, std::uint64_t executed) const noexcept;
  void finish(Outstanding& entry) noexcept;
  void take_data(Outstanding& entry, wire::ReplyHeader const& header, std::span<std::byte const> payload);
  void take_failure(Peer& peer, wire::ReplyHeader const& header);
  void answer_revocations();
  void answer_revocation(Peer& peer, RemoteAddress base);

  Transport& transport_;
  Settings settings_;
  RevokeHandler revoke_;
  OutstandingPool pool_;
  std::unordered_map<std::uint64_t, Peer*> peers_;
  std::unordered_map<ucp_ep_h, Peer*> by_endpoint_;
  std::vector<Peer*> due_;
  /// An operation whose target was busy.
  struct Refused {
    std::uint64_t token;
    unsigned pause;  ///< turns until the next attempt
  };
  std::vector<Refused> refused_;
  struct Revocation {
    Peer* peer;
    RemoteAddress base;
  };
  std::vector<Revocation> revocations_;
  std::vector<Peer*> stalled_;  ///< whose next operation waits for stripes of this process
};

}  // namespace mpix::engine
