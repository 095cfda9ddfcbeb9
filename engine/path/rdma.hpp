/// UCX put and get with remote keys, for registered memory of other hosts. Accumulates and
/// read-modify-writes never go this way: the target's agent is the one place where they are executed.
/// Under the engine's lock throughout.
#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <map>
#include <vector>

#include "engine/agent/transport.hpp"
#include "engine/operation.hpp"
#include "engine/peer/peer.hpp"
#include "engine/segment/segment_table.hpp"

namespace mpix::engine {

struct RemoteKey;

/// Whether UCX finds a network device that writes to remote memory without the target's processor.
bool hardware_rdma_present();

/// The origin's side.
class RdmaPath {
 public:
  explicit RdmaPath(Transport& transport) : transport_(transport) {}

  /// Whether this path is worth it for the transfer, provided that the memory is registered.
  static bool suits(Transfer const& transfer) noexcept;

  /// The key for the transfer's target range, or nullptr when it is not known yet.
  static RemoteKey const* find_key(Peer& peer, Transfer const& transfer) noexcept;
  /// Keeps a key that the peer's agent has answered with. False when UCX does not accept it.
  bool add_key(Peer& peer, RemoteAddress base, std::size_t length, std::vector<std::byte> const& packed);
  /// Forgets the keys of the segment at `base`.
  static void forget(Peer& peer, RemoteAddress base) noexcept;
  static void forget_all(Peer& peer) noexcept;

  Issued issue(Peer& peer, Transfer const& transfer, RemoteKey const& key);

  /// Starts a flush of the peer's endpoint; `*done` becomes true when everything put before is in the
  /// target's memory. At most one flush per endpoint is in flight: the caller waits.
  Status flush(Peer& peer, bool* done);

 private:
  struct Operation {
    Peer* peer;
    Completion* completion;
    std::uint32_t context;
    std::size_t bytes;
    std::uint64_t pending;
    Status status;
  };

  static void on_part_done(void* request, ucs_status_t status, void* argument);
  Status post(ucp_ep_h endpoint, Operation& operation, Direction direction, std::byte* local,
              std::size_t bytes, RemoteAddress remote, ucp_rkey_h key);

  Transport& transport_;
};

/// The target's side: registrations with the network, made when a peer first asks for a key.
class Registrations {
 public:
  explicit Registrations(Transport& transport) : transport_(transport) {}

  std::vector<std::byte> key_of(OwnSegment const& segment);
  void remove(RemoteAddress base) noexcept;
  void clear() noexcept;

 private:
  struct Registration {
    ucp_mem_h memory = nullptr;
    std::vector<std::byte> key;
  };

  Transport& transport_;
  std::map<RemoteAddress, Registration> registered_;
};

}  // namespace mpix::engine
