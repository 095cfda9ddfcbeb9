/// The parts of an Engine, shared by its implementation files.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/bootstrap.h"
#include "engine/base/config.h"
#include "engine/base/liveness.hpp"
#include "engine/base/log.hpp"
#include "engine/memory/memory_type.hpp"
#include "engine/memory/segment_table.hpp"
#include "engine/net/address.hpp"
#include "engine/net/address_service.hpp"
#include "engine/net/session.hpp"
#include "engine/origin/page_prefaulter.hpp"
#include "engine/origin/peer_state.hpp"
#include "engine/proto/network.hpp"
#include "engine/proto/registrations.hpp"
#include "engine/proto/unordered_transfers.hpp"
#include "engine/runtime/channels.hpp"
#include "engine/runtime/copy_decisions.hpp"
#include "engine/runtime/inspection.hpp"
#include "engine/runtime/key_revocations.hpp"
#include "engine/runtime/loss_notices.hpp"
#include "engine/runtime/multi_peer_fence.hpp"
#include "engine/runtime/peer_table.hpp"
#include "engine/runtime/watches.hpp"
#include "engine/sync/lock_table.hpp"
#include "engine/trace/recorder.hpp"

namespace mpixrma::engine {

struct EngineState {
  EngineState(mpix_engine_config const& configuration, mpix_bootstrap const& job)
      : config(configuration),
        bootstrap(job),
        log(config.verbose, job.process),
        recorder(config.trace != nullptr ? Recorder::open(config.trace, job.process, log) : nullptr),
        identity(config.exposed_only != 0 ? HostIdentity{} : HostIdentity::of_this_process()),
        credentials(Credentials::make(
            job.process, {.exposed_only = config.exposed_only != 0, .encrypt = config.encrypt != 0})),
        segments(log),
        locks(log),
        channels(credentials, config, identity, segments, locks, log),
        registrations(channels.context(), log),
        revocations(channels, registrations),
        peers(*this),
        issues_all(configuration.count_direct != 0 || recorder != nullptr),
        counts_direct(configuration.count_direct != 0) {
    channels.for_each([this](Channel& channel) { channel.executor.trace.set_recorder(recorder.get()); });
  }

  bool may_use(mpix_engine_protocol protocol) const noexcept {
    return (config.protocols & static_cast<unsigned>(protocol)) != 0;
  }

  /// Whether a protocol other than messages may issue operations to processes of other hosts: they are
  /// UnorderedTransfers, which messages and locks may overtake.
  bool has_unordered_protocol_between_hosts() const noexcept { return network_usable; }

  /// Opens everything, starts the agents and publishes the address. Called once.
  Status start();
  /// Returns the state of the process as text: its waits, and the waits of others for it.
  std::string inspect();

  mpix_engine_config config;
  mpix_bootstrap bootstrap;
  Log log;
  std::unique_ptr<Recorder> recorder;  ///< writes the trace; nullptr: no trace
  pid_t pid = own_process_id();
  HostIdentity identity;  ///< empty if no process may share memory with this one
  Credentials credentials;
  bool network_usable = false;
  DeviceMemory device_memory;
  SegmentTable segments;
  PagePrefaulter
      page_prefaulter;  ///< outlives the peers' mappings, in `peers` and in `channels` (lost_memory)
  LockTable locks;
  Channels channels;
  Registrations registrations;
  KeyRevocations revocations;
  CopyDecisions copy_decisions;
  Watches watches;
  Inspection inspection;
  AddressService address_service;       ///< of a process that has deferred UCX
  std::atomic<bool> ucx_wanted{false};  ///< deferred UCX is to start
  bool ucx_failed = false;              ///< deferred UCX has failed to start
  /// Freed after the deferred start of UCX: if that lacks memory, the operations that wait for it must fail.
  std::unique_ptr<std::byte[]> reserve;
  LossNotices loss_notices{*this};
  /// The blob with the addresses of the workers, without the secret; empty until the workers exist.
  std::vector<std::byte> address;
  std::vector<std::byte> publication;  ///< the blob that the MPI host publishes, with the secret

  PeerTable peers;
  MultiPeerFence multi_peer_fence;  ///< changed while `peers.lock` is held

  /// Peer::translate() finds no mapping, so that every operation calls Engine::issue().
  std::atomic<bool> issues_all;
  /// Engine::issue counts operations by load and store.
  std::atomic<bool> counts_direct;

 private:
  Status open_memory();
  void open_device_memory();
  void handle_exits();
  std::optional<std::uint64_t> exited_;  ///< a process that the bootstrap has named, not handled yet

  // The start of UCX (engine/runtime/ucx_start.cpp).

  /// Starts UCX, or defers its start to the first message.
  Status prepare_ucx();
  Status start_ucx();
  bool may_put_and_get() const;
  Status start_registrations();
  bool may_defer_ucx() const;
  Status defer_ucx();
  /// Starts deferred UCX, unless it has started. Called by the agent of the first channel only.
  Status start_late();
  Status try_start_late();
  /// As start_late(), if a thread of this process waits for it.
  void start_if_wanted();
  /// The address of this process with these addresses of its workers.
  ProcessAddress address_with(std::vector<std::vector<std::byte>> workers) const;
};

inline Channel& channel_of(Peer& peer) noexcept { return *peer.state().channel; }

/// Waits until every unordered transfer up to `number` has ended. `held`: the lock of the peer's channel,
/// released and reacquired meanwhile.
inline void wait_for_transfers(Peer& peer, std::uint64_t number, std::unique_lock<std::mutex>& held) {
  channel_of(peer).progress_until(held, [&] { return ended_or_start_flush(peer, number); });
}

}  // namespace mpixrma::engine
