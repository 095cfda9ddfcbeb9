/// EngineState: the start of UCX, with the engine or with the first message (docs/decisions/0029).
#include <sys/mman.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/shared_memory.hpp"
#include "engine/net/transport_config.hpp"
#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

namespace {

// For the failures of all operations that wait for UCX. Small enough for malloc() to take it from the heap.
constexpr std::size_t reserve_bytes = 64 * 1024;

/// Whether UCX would lack address space (ulimit -v): UCX 1.13 does not check all its allocations, and ends
/// the process.
bool address_space_runs_short() noexcept {
  constexpr std::size_t least_bytes = 8 * 1024 * 1024;
  void* const free =
      ::mmap(nullptr, least_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (free == MAP_FAILED) return true;
  ::munmap(free, least_bytes);
  return false;
}

}  // namespace

/// Whether UCX may put and get. A UCX built for a single thread cannot register memory while another thread
/// uses it.
bool EngineState::may_put_and_get() const {
  if (!may_use(MPIX_ENGINE_PROTOCOL_NETWORK) || !UcxContext::permits_several_threads()) return false;
  if (config.network_without_hardware != 0 || hardware_rdma_present(config.interfaces, log)) return true;
  if (config.network_hardware_expected != 0)
    log.write(LogLevel::error,
              "network=warn: UCX emulates put and get on this network; messages take their place");
  return false;
}

Status EngineState::start_registrations() {
  channels.for_each([this](Channel& channel) {
    channel.executor.queries.set_key_provider(
        [this](OwnSegment const& segment) { return registrations.key_of(segment); });
    channel.message_protocol.reply_handler.set_segment_handler(&NetworkProtocol::learn);
    channel.message_protocol.revocations.set_handler(&NetworkProtocol::revoke);
  });
  return registrations.start([this] {
    std::lock_guard const held(channels);
    segments.announce_key();
  });
}

Status EngineState::prepare_ucx() {
  return may_defer_ucx() && address_service.open(config.interfaces) ? defer_ucx() : start_ucx();
}

Status EngineState::start_ucx() {
  network_usable = may_put_and_get();
  if (Status const status = channels.open(network_usable, config.interfaces); failed(status))
    return descriptors_run_short() ? Status::no_descriptors : status;
  if (network_usable) {
    if (Status const status = start_registrations(); failed(status)) return status;
  }
  std::vector<std::vector<std::byte>> workers = channels.worker_addresses();
  if (workers.empty()) return Status::transport;
  ProcessAddress const own = address_with(std::move(workers));
  address = encode(own);
  publication = publish(own, credentials.secret);
  channels.begin(address);
  return Status::ok;
}

/// Whether the start of UCX may be deferred: the parameter permits it, all processes of the job share the
/// memory of this host, and only messages need UCX.
bool EngineState::may_defer_ucx() const {
  bool const is_local = config.one_host != 0 && config.exposed_only == 0 && !is_closed_to_others();
  return config.defer_network != 0 && is_local && config.network_without_hardware == 0 &&
         !DeviceMemory::are_devices_present();
}

/// Publishes only the address of the service from which peers request the addresses of the workers.
Status EngineState::defer_ucx() {
  ServiceAddress const where = address_service.address();
  auto const* const begin = reinterpret_cast<std::byte const*>(&where);
  std::vector<std::byte> const place(begin, begin + sizeof where);
  ProcessAddress own = address_with({channels.size(), place});
  own.is_deferred = true;
  publication = publish(own, credentials.secret);
  Agent& agent = channels.front().agent;
  agent.set_work([this] {
    // By the agent: malloc() gives each thread its own heap, and the agent's must exist by then.
    if (reserve == nullptr && address.empty() && !ucx_failed)
      reserve.reset(new (std::nothrow) std::byte[reserve_bytes]);
    start_if_wanted();
    loss_notices.send();
  });
  AddressService::Handler const handler{
      [this] {
        (void)start_late();
        return std::span<std::byte const>(address);
      },
      [this](std::uint64_t process, bool silent) { loss_notices.receive(process, silent); }};
  for (int const socket : address_service.descriptors())
    agent.serve(socket, [this, handler] { address_service.handle_received(credentials, handler); });
  channels.for_each([this](Channel& channel) {
    channel.set_announce([this](std::uint64_t process, Peer* peer) { loss_notices.announce(process, peer); });
    channel.message_protocol.sessions.set_start([this] {
      // Relaxed: the agent reads it once it is awake.
      ucx_wanted.store(true, std::memory_order_relaxed);
      channels.front().wake_agent();
    });
  });
  return Status::ok;
}

void EngineState::start_if_wanted() {
  if (!ucx_wanted.exchange(false, std::memory_order_relaxed)) return;
  if (!failed(start_late())) return;
  try {
    channels.fail_waiting_for_ucx();
  } catch (std::bad_alloc const&) {  // the agent tries again
    ucx_wanted.store(true, std::memory_order_relaxed);
    throw;
  }
}

/// A failure is final: peers that receive it do not query again.
Status EngineState::start_late() {
  if (!address.empty()) return Status::ok;
  if (ucx_failed) return Status::transport;
  log.write(LogLevel::life, "UCX starts, for the first message");
  Status status = Status::out_of_memory;
  try {
    status = try_start_late();
  } catch (std::bad_alloc const&) {
    log.write(LogLevel::error, "UCX is not started: %s", to_string(status));
  }
  reserve.reset();
  if (failed(status)) {
    ucx_failed = true;
    channels.close();
    return status;
  }
  channels.begin(address);
  return Status::ok;
}

/// After a late start, no operation of this process or on its memory is a UCX put or get, because operations
/// in flight were issued on that assumption. UCX still gets the same features as in the job's other
/// processes, because UCX 1.13 requires that.
Status EngineState::try_start_late() {
  if (address_space_runs_short()) {
    log.write(LogLevel::error, "UCX is not started: %s", to_string(Status::out_of_memory));
    return Status::out_of_memory;
  }
  if (Status const status = channels.open_late(may_put_and_get(), config.interfaces); failed(status))
    return status;
  std::vector<std::vector<std::byte>> workers = channels.worker_addresses();
  if (workers.empty()) return Status::transport;
  address = encode(address_with(std::move(workers)));
  return Status::ok;
}

ProcessAddress EngineState::address_with(std::vector<std::vector<std::byte>> workers) const {
  return {bootstrap.process,    credentials.incarnation, identity,           pid,
          segments.tables_fd(), segments.control_fd(),   std::move(workers), credentials.encrypt};
}

}  // namespace mpixrma::engine
