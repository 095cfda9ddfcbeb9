#include "engine/runtime/channels.hpp"

#include <algorithm>

namespace mpixrma::engine {

namespace {

// Largest size of a message without its data: the header, and the description of a layout.
constexpr std::size_t max_beside_data = 32 * 1024;

/// Divides the process's limits equally among its channels.
mpix_engine_config share_of(mpix_engine_config const& config, std::size_t channels) noexcept {
  mpix_engine_config share = config;
  share.process_memory_bytes /= channels;
  share.origins_memory_bytes /= channels;
  share.replies_memory_bytes /= channels;
  share.max_endpoints = std::max<std::size_t>(config.max_endpoints / channels, 1);
  return share;
}

}  // namespace

Channels::Channels(Credentials const& credentials, mpix_engine_config const& config, HostIdentity const& host,
                   SegmentTable const& segments, LockTable& locks, Log const& log)
    : log_(log),
      sessions_(credentials.sessions),
      message_bytes_(config.fragment_bytes + max_beside_data),
      context_(log) {
  bool const several = config.channels > 1 && UcxContext::permits_several_threads();
  std::size_t const count = several ? std::min(static_cast<std::size_t>(config.channels), max_workers) : 1;
  for (std::size_t i = 0; i < count; ++i)
    channels_.push_back(
        std::make_unique<Channel>(credentials, share_of(config, count), host, segments, locks, log));
  for (std::size_t i = 0; i < count; ++i) channels_[i]->executor.handshakes.set_place(i, count);
  if (sessions_ != nullptr) sessions_->set_end([this](std::uint64_t session) { end_session(session); });
}

void Channels::end_session(std::uint64_t session) {
  for (auto const& channel : channels_) {
    std::lock_guard const held(channel->lock);
    for (std::uint64_t const process : channel->executor.end_session(session))
      channel->connections.fail(process, "its session has ended");
    (void)channel->progress();
    channel->transport.free_kept_memory();
    channel->wake_agent_if_needed();
  }
}

Status Channels::open(bool remote_memory, char const* interfaces) {
  Status const status = open(&Channels::open_first, remote_memory, interfaces);
  if (!failed(status)) open_others();
  return status;
}

Status Channels::open_late(bool remote_memory, char const* interfaces) {
  return open(&Channels::open_all, remote_memory, interfaces);
}

/// Opens workers by `attempt`; if that fails, repeats it without UCX's shared memory, unless descriptors run
/// short.
Status Channels::open(Attempt attempt, bool remote_memory, char const* interfaces) {
  UcxContext::Features features{remote_memory, remote_memory || size() > 1, true, interfaces, message_bytes_};
  Status const status = (this->*attempt)(features);
  if (!failed(status) || status == Status::no_descriptors) return status;
  // A worker takes 4 MiB of /dev/shm, which containers often keep small.
  log_.write(
      LogLevel::error,
      "UCX does not start with shared memory; messages on this host use other transports, such as TCP");
  close();
  features.shared_memory = false;
  return (this->*attempt)(features);
}

Status Channels::open_first(UcxContext::Features const& features) {
  Status const status = context_.open(features);
  return failed(status) ? status : front().transport.open(front(), context_);
}

Status Channels::open_all(UcxContext::Features const& features) {
  Status status = context_.open(features);
  for (auto const& channel : channels_) {
    if (!failed(status)) status = channel->transport.open(*channel, context_);
  }
  if (failed(status)) close();
  return status;
}

void Channels::begin(std::span<std::byte const> address) {
  for (auto const& channel : channels_) {
    {
      std::lock_guard const held(channel->lock);
      channel->transport.begin();
      channel->message_protocol.sessions.set_address(address);
      channel->message_protocol.ucx_started();
    }
    channel->wake_agent();  // it sleeps, not yet on the worker's descriptor
  }
}

void Channels::fail_waiting_for_ucx() {
  for (auto const& channel : channels_) {
    {
      std::lock_guard const held(channel->lock);
      channel->message_protocol.ucx_failed();
    }
    channel->wake_agent();
  }
}

void Channels::open_others() {
  for (std::size_t i = 1; i < size(); ++i) {
    if (!failed(channels_[i]->transport.open(*channels_[i], context_))) continue;
    log_.write(LogLevel::error, "UCX does not start more than %zu workers; threads share them", i);
    channels_.resize(i);
  }
  for (std::size_t i = 0; i < size(); ++i) channels_[i]->executor.handshakes.set_place(i, size());
}

std::vector<std::vector<std::byte>> Channels::worker_addresses() const {
  std::vector<std::vector<std::byte>> addresses;
  for (auto const& channel : channels_) {
    addresses.push_back(channel->transport.worker_address());
    if (addresses.back().empty()) return {};
  }
  return addresses;
}

Status Channels::start() {
  for (auto const& channel : channels_) {
    if (Status const status = channel->agent.start(); failed(status)) return status;
  }
  return Status::ok;
}

void Channels::stop() noexcept {
  if (sessions_ != nullptr) sessions_->set_end({});
  for (auto const& channel : channels_) {
    {
      std::lock_guard const held(channel->lock);
      channel->message_protocol.sender.send_batches();
    }
    channel->agent.stop();
  }
}

void Channels::close_endpoints() noexcept {
  for (auto const& channel : channels_) channel->transport.close_endpoints();
}

void Channels::close() noexcept {
  for (auto const& channel : channels_) channel->transport.close();
  context_.close();
}

void Channels::lock() {
  for (auto const& channel : channels_) channel->lock.lock();
}

void Channels::unlock() noexcept {
  for (auto const& channel : channels_) channel->lock.unlock();
}

}  // namespace mpixrma::engine
