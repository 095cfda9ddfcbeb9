/// UCX put and get with remote keys, for registered memory of other hosts. Accumulates and
/// read-modify-writes never go this way: the target's agent is the one place where they are executed.
/// Under the channel's lock throughout.
#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "engine/agent/ucx_context.hpp"
#include "engine/operation.hpp"
#include "engine/path/rdma_state.hpp"
#include "engine/peer/peer.hpp"
#include "engine/segment/segment_table.hpp"

namespace mpix::engine {

/// Whether UCX finds a network device that writes to remote memory without the target's processor.
bool hardware_rdma_present();

/// The origin's side.
class RdmaPath {
 public:
  /// Whether this path is worth it for the transfer, provided that the memory is registered.
  static bool suits(Transfer const& transfer) noexcept;

  /// The key for the transfer's target range, or nullptr when it is not known.
  static RemoteKey* find_key(Peer& peer, Transfer const& transfer) noexcept;
  /// Keeps a key that the peer's agent has answered with. False when UCX does not accept it.
  static bool add_key(Peer& peer, RemoteAddress base, std::size_t length,
                      std::vector<std::byte> const& packed);
  /// The owner takes the segment at `base` back: its key serves no operation any more. True once none uses it
  /// and it is destroyed; to be called again until then.
  static bool revoke(Peer& peer, RemoteAddress base);
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
  void remove(RemoteAddress base) noexcept;
  void clear() noexcept;

 private:
  struct Registration {
    ucp_mem_h memory = nullptr;
    std::vector<std::byte> key;
  };

  UcxContext const& context_;
  std::mutex lock_;
  std::map<RemoteAddress, Registration> registered_;
};

}  // namespace mpix::engine
