/// The target's side of the agent path: executes requests and answers them.
/// Under the engine's lock throughout.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/agent/transport.hpp"
#include "engine/agent/wire.hpp"
#include "engine/atomic/stripes.hpp"
#include "engine/segment/segment_table.hpp"

namespace mpix::engine {

class Executor {
 public:
  /// Packs the remote key of a segment for a peer that wants to use it; empty where there is none.
  using KeyProvider = std::function<std::vector<std::byte>(OwnSegment const&)>;

  Executor(Transport& transport, SegmentTable& segments, std::uint64_t process, std::size_t fragment_bytes)
      : transport_(transport), segments_(segments), process_(process), fragment_bytes_(fragment_bytes) {}

  void set_key_provider(KeyProvider provider) { provide_key_ = std::move(provider); }

  void on_request(std::span<std::byte const> header, std::span<std::byte const> payload,
                  ucp_ep_h reply) noexcept;

  /// Executes requests whose stripes have become free.
  void retry_deferred();
  /// Requests wait for stripes that nobody announces to be free.
  bool has_deferred() const noexcept { return !deferred_.empty(); }

  /// Sends what the requests since the last call have to be answered with: replies, and one
  /// acknowledgement per origin. Outside of UCX callbacks.
  void answer();

  /// Tells every peer that holds a key of the segment at `base` to forget it; nobody gets another.
  void revoke(RemoteAddress base);
  /// True when all have done so.
  bool revoked(RemoteAddress base) const { return holders_.find(base) == holders_.end(); }

  /// Segments have come or gone (after revoke(): that at `base`); replies show it.
  void segments_changed(RemoteAddress base) {
    ++segments_version_;
    withdrawn_.erase(base);
  }

  std::uint64_t executed() const noexcept { return executed_; }
  std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  /// A request that is kept because it may not be executed yet.
  struct Kept {
    std::vector<std::byte> header;
    std::unique_ptr<std::uint64_t[]> payload;  ///< aligned copy
    std::size_t payload_bytes = 0;

    std::span<std::byte const> data() const noexcept {
      return {reinterpret_cast<std::byte const*>(payload.get()), payload_bytes};
    }
  };
  /// Stripes that are held for an operation of several messages.
  struct Lock {
    StripeHold hold;
    std::uint64_t rest = 0;  ///< bytes that are still to be executed
  };
  /// An operation of several messages whose end is to be counted.
  struct Counted {
    std::uint64_t bytes = 0;  ///< executed so far
    bool failed = false;
  };
  struct Origin {
    std::uint64_t process = 0;
    ucp_ep_h reply = nullptr;
    std::uint64_t executed = 0;                          ///< every request up to here
    std::set<std::uint64_t> ahead;                       ///< executed beyond that
    std::map<std::uint64_t, Kept> held;                  ///< by sequence: waiting for what they come after
    std::set<std::uint64_t> deferred;                    ///< sequences of those that wait for stripes
    std::unordered_map<std::uint64_t, Lock> locks;       ///< by token
    std::unordered_map<std::uint64_t, Counted> counted;  ///< by token
    std::uint64_t acknowledged = 0;                      ///< what the origin was told of `executed`
    std::size_t replies_waiting = 0;                     ///< replies to it that are not sent
    bool owes_answer = false;
  };
  /// A request that waits for stripes.
  struct Deferred {
    Origin* origin;
    Kept kept;
    StripeHold hold;
  };
  struct Reply {
    Origin* origin;
    wire::ReplyHeader header;
    Message* message;
  };

  Origin& origin_of(std::uint64_t process, ucp_ep_h reply);
  static Kept keep(std::span<std::byte const> header, std::span<std::byte const> payload);
  void receive(Origin& origin, wire::CheckedRequest const& request, std::span<std::byte const> header,
               std::span<std::byte const> payload);
  void note_executed(Origin& origin, std::uint64_t sequence);
  void release_held(Origin& origin);

  void perform(Origin& origin, wire::CheckedRequest const& request, StripeHold hold);
  Status execute(Origin& origin, wire::CheckedRequest const& request);
  bool counter_exists(RemoteAddress counter) const;
  static void count(Origin& origin, wire::CheckedRequest const& request, bool failed);
  Status carry_out(Origin& origin, wire::CheckedRequest const& request);
  Status read_modify_write(Origin& origin, wire::CheckedRequest const& request, std::byte* target);
  void send_data(Origin& origin, wire::CheckedRequest const& request, std::byte const* base);
  void answer_query(Origin& origin, wire::CheckedRequest const& request);
  void forget_holder(Origin const& origin, RemoteAddress base);
  Status reachable(wire::CheckedRequest const& request, bool write) const;

  Reply& new_reply(Origin& origin, wire::ReplyKind kind, wire::CheckedRequest const& request);
  void owe(Origin& origin);
  void acknowledge(Origin& origin);
  void send(Origin& origin, wire::ReplyHeader header, Message& message);

  Transport& transport_;
  SegmentTable& segments_;
  std::uint64_t process_;
  std::size_t fragment_bytes_;
  KeyProvider provide_key_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Origin>> origins_;
  std::vector<Origin*> owing_;
  std::vector<Reply> replies_;
  std::list<Deferred> deferred_;                              ///< in the order of arrival
  std::map<RemoteAddress, std::set<std::uint64_t>> holders_;  ///< segment base -> processes with its key
  std::set<RemoteAddress> withdrawn_;                         ///< bases of segments that are being withdrawn
  std::uint32_t segments_version_ = 1;
  std::vector<std::uint64_t> aligned_;  ///< scratch for misaligned payloads
  std::uint64_t executed_ = 0;
  std::uint64_t dropped_ = 0;
};

/// Stripes that have to be held while the request is executed; none where they are held already.
StripeSets stripes_for(wire::CheckedRequest const& request) noexcept;

/// Range of target addresses that the request touches, [begin, end). False when it wraps around.
bool touched_range(wire::CheckedRequest const& request, RemoteAddress* begin, RemoteAddress* end) noexcept;

}  // namespace mpix::engine
