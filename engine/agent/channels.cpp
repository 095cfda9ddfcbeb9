#include "engine/agent/channels.hpp"

namespace mpix::engine {

Channels::Channels(mpix_engine_config const& config, HostIdentity const& host, SegmentTable const& segments) {
  channels_.push_back(std::make_unique<Channel>(config, host, segments));
}

Status Channels::open(bool remote_memory) {
  for (auto const& channel : channels_) {
    if (Status const status = channel->transport.open(*channel, remote_memory); failed(status)) return status;
  }
  return Status::ok;
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
}

void Channels::lock() {
  for (auto const& channel : channels_) channel->lock.lock();
}

void Channels::unlock() noexcept {
  for (auto const& channel : channels_) channel->lock.unlock();
}

}  // namespace mpix::engine
