/// UCX put and get with remote keys, for registered memory of other hosts. Updates never go this way: the
/// target's agent is the one place where they are executed.
/// Under the channel's lock throughout.
#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "engine/memory/segment_table.hpp"
#include "engine/net/ucx_context.hpp"
#include "engine/net/wire.hpp"
#include "engine/op/operation.hpp"
#include "engine/origin/peer.hpp"
#include "engine/origin/rdma_state.hpp"

namespace mpixrma::engine {

/// Whether UCX finds a network device that writes to remote memory without the target's processor.
bool hardware_rdma_present();

/// The origin's side.
class RdmaPath {
 public:
  /// Whether this path is worth it for the transfer, provided that the memory is registered.
  static bool suits(Transfer const& transfer) noexcept;

  /// The key for the transfer's target range, or nullptr when it is not known.
  static RemoteKey* find_key(Peer& peer, Transfer const& transfer) noexcept;
  /// Keeps what the peer's agent has answered: a segment with its key, if there is one, or a gap. In the
  /// order of arrival, with revoke().
  static void learn(Peer& peer, wire::SegmentReply const& answer, std::span<std::byte const> key);
  /// What is known of the exposure that the transfer names; nullptr: nothing.
  static RemoteExposure* find_exposure(Peer& peer, Transfer const& transfer) noexcept;
  /// The owner takes the segment, or the exposure, back that has this number and begins at `base`: it serves
  /// no operation any more. True once none uses it and its key is destroyed; to be called again until then.
  static bool revoke(Peer& peer, std::uint64_t number, RemoteAddress base);
  /// The peer is out of reach: whoever waits for its operations is told. UCX ends those on this machine
  /// never, and keeps the keys that they use.
  static void lose(Peer& peer);
  /// Destroys every key, whatever uses it. Before the peer's endpoint is closed.
  static void forget_all(Peer& peer) noexcept;

  static Issued issue(Peer& peer, Transfer const& transfer, RemoteKey& key);

  /// Whether every operation up to `number` has ended; starts a flush where that is what is missing.
  static bool reached(Peer& peer, std::uint64_t number);
};

/// The target's side: registrations with the network, made when a peer first asks for a key. Thread-safe, for
/// peers ask on any channel.
class Registrations {
 public:
  explicit Registrations(UcxContext const& context) : context_(context) {}

  std::vector<std::byte> key_of(OwnSegment const& segment);
  /// Whether somebody has asked for the key of the segment.
  bool has(OwnSegment const& segment) const {
    std::lock_guard const held(lock_);
    return registered_.contains(segment.generation);
  }
  void remove(OwnSegment const& segment) noexcept { remove(segment.generation); }
  void clear() noexcept;

 private:
  struct Registration {
    ucp_mem_h memory = nullptr;
    std::vector<std::byte> key;
  };

  void remove(std::uint64_t generation) noexcept;

  UcxContext const& context_;
  mutable std::mutex lock_;
  std::map<std::uint64_t, Registration> registered_;  ///< by the segment's generation
};

}  // namespace mpixrma::engine
