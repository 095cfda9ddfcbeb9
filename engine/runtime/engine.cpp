/// Engine: construction, destruction and peers.
#include "engine/runtime/engine.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/backoff.hpp"
#include "engine/base/shared_memory.hpp"
#include "engine/proto/cross_memory.hpp"
#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

Engine::Engine(mpix_engine_config const& config, mpix_bootstrap const& bootstrap)
    : state_(std::make_unique<State>(config, bootstrap)) {}

Engine::~Engine() {
  state_->channels.stop();
  state_->registrations.stop();
  std::lock_guard const held(state_->channels);
  for (auto& [process, peer] : state_->peers) NetworkProtocol::forget_all(*peer);
  state_->channels.close();
}

Status Engine::start() {
  State& state = *state_;
  mpix_engine_config const& config = state.config;
  state.copy_decisions.open(config);
  std::size_t const idle_bytes =
      config.idle_memory_bytes == MPIX_ENGINE_KEEP_NOTHING ? 0 : config.idle_memory_bytes;
  auto* const stripes = static_cast<StripeTable*>(config.stripes);
  if (Status const status = state.segments.open(process(), config.heap_bytes, idle_bytes, stripes);
      failed(status)) {
    state.log.write(LogLevel::error, "no shared memory for the tables of segments: %s", to_string(status));
    return status;
  }
  state.locks.open(state.segments.control().shared, state.segments.control().lock_clock);
  if (Status const status = state.prepare_network(); failed(status)) return status;
  state.device_memory.open(state.channels.context().get());
  if (char const* const kind = state.device_memory.known_kind())
    state.log.write(LogLevel::life, "memory of a device is looked for: UCX knows %s", kind);
  if (state.device_memory.is_possible()) issue_all();  // whose origins are checked there
  if (mpix_bootstrap const& job = state.bootstrap; job.gone_fd != nullptr && job.next_gone != nullptr)
    state.channels.front().agent.attend(job.gone_fd(job.context), [&state] { state.take_gone(); });
  state.inspection.open();
  state.channels.front().agent.serve(
      state.inspection.fd(), [&state] { state.inspection.answer([&state] { return state.inspect(); }); });
  if (Status const status = state.channels.start(); failed(status)) return status;
  if (state.bootstrap.publish(state.bootstrap.context, state.publication.data(), state.publication.size()) ==
      0)
    return Status::ok;
  state.log.write(LogLevel::error, "the address cannot be published");
  return Status::transport;
}

std::uint64_t Engine::process() const noexcept { return state_->bootstrap.process; }
bool Engine::is_of_this_process() const noexcept { return state_->pid == own_process_id(); }
bool Engine::is_checking() const noexcept { return state_->config.check != 0; }
std::span<std::byte const> Engine::address() const noexcept { return state_->publication; }

Peer* Engine::peer(std::uint64_t process) { return state_->find_peer(process, {}); }

Peer* Engine::peer_at(std::span<std::byte const> address) {
  ProcessAddress its;
  Secret secret;
  return read_published(address, &its, &secret) ? state_->find_peer(its.process, address) : nullptr;
}

Peer* Engine::State::find_peer(std::uint64_t process, std::span<std::byte const> published) {
  LostPeers lost;  // destroyed without the lock
  std::lock_guard const held(peers_lock);
  if (!peers.contains(process)) lost = take_lost();
  auto const known = peers.find(process);
  Peer* const found = known != peers.end() ? known->second.get() : make_peer(process, published);
  if (found != nullptr) ++found->state().users;
  return found;
}

void Engine::release(Peer& peer) {
  State& state = *state_;
  State::LostPeers lost;  // destroyed without the lock
  std::lock_guard const held(state.peers_lock);
  if (--peer.state().users != 0) return;
  if (locking_.load(std::memory_order_relaxed) == &peer) locking_.store(nullptr, std::memory_order_relaxed);
  if (!std::exchange(peer.state().unused, true)) state.unused.push_back(&peer);
  lost = state.take_lost();
}

void Engine::lose(std::uint64_t process) noexcept {
  Channel& channel = state_->channels.of(process);
  std::lock_guard const held(channel.lock);
  try {
    channel.lose(process);
    // No event announces it to other threads.
    (void)channel.drive();
    channel.leave();
  } catch (std::bad_alloc const&) {  // drive() has woken the agent, which retries
  }
}

/// Removes and returns unused peers whose processes have ended since the last call. Their end may unmap
/// gigabytes.
Engine::State::LostPeers Engine::State::take_lost() {
  LostPeers taken;
  std::uint64_t lost = 0;
  channels.for_each([&](Channel const& channel) { lost += channel.losses(); });
  bool const newest_lost = !unused.empty() && unused.back()->is_lost();
  if (lost == losses && !newest_lost) return taken;
  losses = lost;
  std::erase_if(unused, [&](Peer* peer) {
    peer->state().unused = peer->state().users == 0;
    return !peer->state().unused || (peer->is_lost() && forget(*peer, &taken));
  });
  return taken;
}

bool Engine::State::forget(Peer& peer, LostPeers* taken) {
  taken->emplace_back();
  {
    Channel& channel = channel_of(peer);
    std::lock_guard const held(channel.lock);
    if (!channel.message_protocol.remove_peer(peer)) return false;
  }
  traffic_of_forgotten += peer.state().traffic.read();
  taken->back() = std::move(peers.extract(peer.process()).mapped());
  return true;
}

/// Under `peers_lock`. `published`: its address; if empty, the bootstrap is queried.
Peer* Engine::State::make_peer(std::uint64_t process, std::span<std::byte const> published) {
  bool const own = process == bootstrap.process;
  if (own) {
    published = publication;
  } else if (published.empty()) {
    void const* blob = nullptr;
    std::size_t length = 0;
    if (bootstrap.peer_address(bootstrap.context, process, &blob, &length) != 0) return nullptr;
    published = {static_cast<std::byte const*>(blob), length};
  }
  ProcessAddress its;
  Secret secret;
  if (!read_published(published, &its, &secret) || its.process != process) {
    log.write(LogLevel::error, "process %llx published no usable address",
              static_cast<unsigned long long>(process));
    return nullptr;
  }
  auto made = Peer::make(process, look_at(std::move(its)));
  PeerState& peer = made->state();
  peer.secret = secret;
  log.write(LogLevel::paths, "peer %llx: %s%s", static_cast<unsigned long long>(process),
            peer.same_host ? "same host" : "other host", peer.cross_memory ? ", cross-memory permitted" : "");
  {
    std::lock_guard const locked(peer.channel->lock);
    peer.channel->message_protocol.sessions.add_peer(*made);
    if (peer.location.same_machine) peer.channel->watch.add(process, peer.location.pid);
  }
  Peer* const entry = peers.emplace(process, std::move(made)).first->second.get();
  if (own) self.store(entry, std::memory_order_release);
  if (joint_fence.is_pending()) entry->hold_stores(Peer::held_jointly);
  return entry;
}

void Engine::State::take_gone() {
  std::uint64_t process = 0;
  while (bootstrap.next_gone(bootstrap.context, &process) == 0) {
    channels.for_each([&](Channel& channel) {
      std::lock_guard const held(channel.lock);
      channel.lose(process);
    });
  }
}

/// Determines the properties of the process with this address before anything is issued to it.
std::unique_ptr<PeerState> Engine::State::look_at(ProcessAddress its) {
  auto peer = std::make_unique<PeerState>();
  std::uint64_t const process = its.process;
  int const tables_fd = its.tables_fd;
  int const control_fd = its.control_fd;
  peer->encrypt = its.encrypt;
  peer->channel = &channels.of(process);
  peer->unannounced_transfers = &peer->channel->unannounced_transfers;
  peer->location = peer->channel->connections.locate(std::move(its));
  // Without these paths, neighbours are treated like processes of another host.
  bool const local_paths = may_use(MPIX_ENGINE_PATH_DIRECT) || may_use(MPIX_ENGINE_PATH_CROSS_MEMORY) ||
                           may_use(MPIX_ENGINE_PATH_RING);
  if (!local_paths || !peer->location.same_machine) return peer;
  auto its_segments = std::make_unique<RemoteSegments>();
  if (process == bootstrap.process) {
    its_segments->open_own(segments.tables(), segments.control());
  } else if (!its_segments->open(process, peer->location.pid, tables_fd, control_fd, log)) {
    if (descriptors_run_short())
      log.write(LogLevel::error, "process %llx of this host is treated like one of another: %s",
                static_cast<unsigned long long>(process), to_string(Status::no_descriptors));
    return peer;
  }
  if (config.page_fill != 0) its_segments->set_filler(page_filler);
  peer->segments = std::move(its_segments);
  peer->same_host = true;
  if (may_use(MPIX_ENGINE_PATH_CROSS_MEMORY))
    peer->cross_memory.store(cross_memory_permitted(peer->location.pid), std::memory_order_relaxed);
  return peer;
}

void Engine::between_messages(std::function<void()> const& body) {
  std::lock_guard const held(state_->channels);
  body();
}

Statistics Engine::statistics() const {
  State& state = *state_;
  std::lock_guard const listed(state.peers_lock);
  Statistics result{};
  result.peers = state.peers.size();
  result.traffic = state.traffic_of_forgotten;
  for (auto const& [process, peer] : state.peers) {
    if (peer->state().same_host) result.mapped_regions += peer->state().segments->mapped_regions();
    result.traffic += peer->state().traffic.read();
  }
  state.channels.for_each([&](Channel& channel) {
    std::lock_guard const held(channel.lock);
    result.endpoints += channel.transport.endpoints();
    result.traffic.messages_executed += channel.executor.progress.executed();
    result.requests_joined += channel.message_protocol.sender.joined();
    result.messages_dropped += channel.executor.drops.count() + channel.message_protocol.replies.dropped() +
                               channel.parting.dropped() + channel.transport.dropped();
  });
  return result;
}

Traffic Engine::traffic(std::uint64_t process) const {
  State& state = *state_;
  std::lock_guard const listed(state.peers_lock);
  auto const peer = state.peers.find(process);
  Traffic result = peer != state.peers.end() ? peer->second->state().traffic.read() : Traffic{};
  state.channels.for_each([&](Channel& channel) {
    std::lock_guard const held(channel.lock);
    result.messages_executed += channel.executor.origins.messages_of(process);
  });
  return result;
}

void Engine::issue_all() noexcept { state_->issues_all.store(true, std::memory_order_relaxed); }
// Relaxed, as the store above: issuing threads know by other means that the engine is set up.
bool Engine::issues_all() const noexcept { return state_->issues_all.load(std::memory_order_relaxed); }

void Engine::count_direct() noexcept {
  issue_all();
  state_->counts_direct.store(true, std::memory_order_relaxed);
}
// Relaxed, as above.
bool Engine::counts_direct() const noexcept { return state_->counts_direct.load(std::memory_order_relaxed); }

void Engine::watch(std::uint64_t const* counter, std::uint64_t threshold, Completion& completion) {
  state_->watches.add(counter, threshold, completion);
}

void Engine::forget_counters(void const* begin, void const* end) { state_->watches.forget(begin, end); }

int Engine::progress() { return state_->channels.poll() + state_->watches.check(); }

void Engine::leave() { state_->channels.leave(); }

bool Engine::yields_when_idle() const {
  mpix_engine_config const& config = state_->config;
  return config.yields_when_idle != nullptr && config.yields_when_idle(config.context) != 0;
}

std::uint64_t Engine::begin_wait() const noexcept {
  return state_->recorder != nullptr ? Recorder::now() : 0;
}

void Engine::end_wait(Peer const& peer, std::uint64_t began, std::uint64_t sequence) const noexcept {
  if (state_->recorder != nullptr) state_->recorder->add_wait(began, peer.process(), sequence);
}

void Engine::wait_step(unsigned spins) {
  if (state_->channels.poll_now() + state_->watches.check() == 0) rest(spins);
}

void Engine::wait_step(Peer& peer, unsigned spins) {
  // The other channels belong to the threads that wait there, and to the agents. This thread also polls them
  // now and then, so that their messages need not wake an agent while a thread is awake.
  constexpr unsigned others_interval = 16;
  Channels& channels = state_->channels;
  int events = channel_of(peer).poll_now() + state_->watches.check();
  if (channels.size() > 1 && spins % others_interval == others_interval - 1) events += channels.poll();
  if (events == 0) rest(spins);
}

void Engine::rest(unsigned spins) const {
  constexpr unsigned host_interval = 128;
  constexpr unsigned yield_after = 512;
  // The awaited peer may itself wait in MPI for progress of this process.
  mpix_engine_config const& config = state_->config;
  if (spins % host_interval == host_interval - 1 && config.progress != nullptr)
    config.progress(config.context);
  if (spins > yield_after || yields_when_idle()) sched_yield();
}

}  // namespace mpixrma::engine
