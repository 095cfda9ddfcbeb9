#include "engine/agent/channels.hpp"

namespace mpix::engine {

Channels::Channels(Credentials const& credentials, mpix_engine_config const& config, HostIdentity const& host,
                   SegmentTable const& segments, LockTable& locks, Log const& log)
    : log_(log), context_(log) {
  channels_.push_back(std::make_unique<Channel>(credentials, config, host, segments, locks, log));
}

Status Channels::open(bool remote_memory, char const* interfaces) {
  UcxContext::Features features{remote_memory, false, true, interfaces};
  if (!failed(open(features))) return Status::ok;
  // A worker takes 4 MiB of /dev/shm, which containers often keep small.
  log_.write(LogLevel::error,
             "UCX does not start with shared memory; messages on this host take the network");
  close();
  features.shared_memory = false;
  return open(features);
}

Status Channels::open(UcxContext::Features const& features) {
  Status const status = context_.open(features);
  return failed(status) ? status : front().transport.open(front(), context_);
}

Status Channels::start() {
  for (auto const& channel : channels_) {
    if (Status const status = channel->agent.start(); failed(status)) return status;
  }
  return Status::ok;
}

void Channels::stop() noexcept {
  for (auto const& channel : channels_) channel->agent.stop();
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

}  // namespace mpix::engine
