/// The protocols, and the choice of one of them for an operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/op/operation.hpp"
#include "engine/op/statistics.hpp"
#include "engine/origin/peer.hpp"
#include "engine/proto/remainder.hpp"
#include "engine/proto/target_access.hpp"
#include "engine/runtime/engine.hpp"
#include "engine/runtime/state.hpp"
#include "engine/sync/stripes.hpp"

namespace mpixrma::engine {

class Dispatch;

/// When a protocol executes an operation.
enum class Stage : std::uint8_t {
  at_once,   ///< during the call, on a process of this host; could overtake messages in flight
  in_stream  ///< as a message, or after the messages that precede it, under the channel's lock
};

/// A row of the table of protocols (dispatch.cpp).
struct ProtocolEntry {
  Protocol protocol;
  Stage stage;
  /// Whether the protocol can execute or reject the operation now, while messages to the target may be in
  /// flight. Called only to decide whether to wait for such messages; issue() checks again. The only side
  /// effect is that memory may be mapped. Null for Stage::in_stream.
  bool (*can_execute)(Dispatch&);
  /// Executes or starts the operation. Returns nullopt if the protocol cannot: then the whole operation is to
  /// be executed by another one; or, if Dispatch::unexecuted() is not empty, only the parts listed there.
  std::optional<Issued> (*issue)(Dispatch&);
};

/// The entries of the table, each in a file of its own.
namespace direct {
bool can_execute(Dispatch& dispatch);
std::optional<Issued> issue(Dispatch& dispatch);
}  // namespace direct
namespace ring {
bool can_execute(Dispatch& dispatch);
std::optional<Issued> issue(Dispatch& dispatch);
}  // namespace ring
namespace cross_memory {
bool can_execute(Dispatch& dispatch);
std::optional<Issued> issue(Dispatch& dispatch);
/// Whether the kernel can transfer the data, even if another protocol is faster.
bool process_vm_can_transfer(Dispatch& dispatch) noexcept;
/// issue() without can_execute().
std::optional<Issued> transfer(Dispatch& dispatch);
}  // namespace cross_memory
namespace network {
std::optional<Issued> issue(Dispatch& dispatch);
}  // namespace network
namespace message {
std::optional<Issued> issue(Dispatch& dispatch);
/// Executes the operation part by part, in messages that overtake all others: for an operation for which this
/// process holds the target's stripes.
Status execute_out_of_band(Dispatch& dispatch);
}  // namespace message

/// Chooses the protocol of an operation, and issues the operation by it.
class Dispatch {
 public:
  Dispatch(Engine& engine, Peer& peer, RmaOp const& operation) noexcept
      : engine_(engine),
        state_(*engine.state_),
        peer_(peer),
        original_(operation),
        operation_(&operation),
        counted_(&operation),
        began_(state_.recorder != nullptr ? state_.recorder->now() : 0) {}
  Dispatch(Dispatch const&) = delete;
  Dispatch& operator=(Dispatch const&) = delete;

  /// Executes the operation, on a process of this host, by the first protocol of Stage::at_once that can;
  /// nullopt if there is none.
  std::optional<Issued> issue_at_once();
  /// While a trace is written: executes the operation by load and store if that needs neither a wait for
  /// messages nor a search for the memory. Otherwise, and for an operation that is atomic or notifies, does
  /// nothing and returns nullopt.
  std::optional<Issued> issue_traced_direct();
  /// Issues the operation by the first protocol of Stage::in_stream that can: as a message, or by UCX put or
  /// get.
  Issued issue_in_stream();

  // The following functions are for protocols.

  /// The operation as it was issued.
  RmaOp const& original() const noexcept { return original_; }
  /// The operation after resolve(): its target is named by an address. Differs from original() only for a
  /// peer on this host.
  RmaOp const& operation() const noexcept { return *operation_; }
  Peer& peer() const noexcept { return peer_; }
  PeerState& peer_state() const noexcept { return peer_.state(); }
  Channel& channel() const noexcept { return channel_of(peer_); }
  Engine& engine() const noexcept { return engine_; }
  mpix_engine_config const& config() const noexcept { return state_.config; }
  bool may_use(mpix_engine_protocol protocol) const noexcept { return state_.may_use(protocol); }

  /// The memory of the target that the operation accesses: `bytes` bytes from `begin` on.
  struct Range {
    RemoteAddress begin;
    std::size_t bytes;
  };
  Range target() const noexcept;
  /// Whether this process holds the stripes of the target that the flags require.
  bool holds_target_stripes() const noexcept { return holds_target_; }
  /// Whether every message to the target has been executed.
  bool follows_all_messages() const noexcept {
    // Acquire: pairs with the release of the thread that has received the reply.
    return peer_state().messages.executed.load(std::memory_order_acquire) >= peer_.newest();
  }
  /// As EnginePeerMemory::map_range.
  std::byte* map(RemoteAddress begin, std::size_t bytes, Status* refused) {
    return engine_.peer_memory.map_range(peer_, begin, bytes, refused);
  }
  /// Whether a segment contains the target's memory: ok; bad_address if none contains the first byte; overrun
  /// if the segment ends before the memory does.
  Status check_segment() const;
  /// Executes requests in this process's ring while this process waits for a reply in another one's ring.
  void serve_ring() { state_.channels.take_from_ring(); }
  /// The ranges that are left of a partly executed operation. A protocol that adds ranges returns nullopt;
  /// Dispatch executes them as a Remainder by cross-memory or messages.
  std::vector<DataRange>& unexecuted() noexcept { return unexecuted_; }

  /// The conditions under which an operation is issued in the stream.
  struct StreamConditions {
    std::unique_lock<std::mutex>& held;  ///< of the channel
    Predecessors before;
    UniqueStripeLock& origin_stripes;  ///< of the origin, for the duration of the operation
  };
  StreamConditions& stream_conditions() noexcept { return *stream_conditions_; }
  bool network_is_usable() const noexcept { return state_.network_usable && !peer_state().shares_memory; }
  /// Records the memory access for later operations that must not overtake this one. Under the channel's
  /// lock, which must have been held since the operation was issued.
  void track_access(Protocol protocol, Issued const& issued) const noexcept;
  /// Asks the target for the key that the operation would have needed to use the network. Nothing waits for
  /// the reply: until the key has arrived, operations are messages. Under the channel's lock.
  void query_key() noexcept;

 private:
  std::optional<Issued> issue_resolved_at_once();
  std::optional<Issued> execute_remainder();
  /// This operation is a part of that of `whole`, and is counted and traced as the whole.
  void count_as(Dispatch const& whole) noexcept {
    counted_ = whole.counted_;
    began_ = whole.began_;
  }
  std::optional<Issued> try_protocols(Stage stage);
  bool must_use_message();
  Status resolve(RmaOp* operation) const;
  Status revalidate() const;
  void record(Protocol protocol, Issued const& issued) noexcept;
  bool tracks_accesses() const noexcept;
  void wait_for_overlapping();
  Predecessors predecessors() const;

  Engine& engine_;
  EngineState& state_;
  Peer& peer_;
  RmaOp const& original_;
  RmaOp const* operation_;
  /// The operation to be counted and traced: original_, or that of which original_ is a remainder.
  RmaOp const* counted_;
  std::uint64_t began_;  ///< if there is a trace: when that operation was issued
  bool holds_target_ = false;
  std::vector<DataRange> unexecuted_;
  StreamConditions* stream_conditions_ = nullptr;
};

}  // namespace mpixrma::engine
