/// The channels of a process. Each process that it talks to is reached through one of them, so that threads
/// that talk to processes on different channels have nothing in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/base/log.hpp"
#include "engine/net/ucx_context.hpp"
#include "engine/runtime/channel.hpp"

namespace mpixrma::engine {

class Channels {
 public:
  Channels(Credentials const& credentials, mpix_engine_config const& config, HostIdentity const& host,
           SegmentTable const& segments, LockTable& locks, Log const& log);

  /// Makes the workers. Where the system does not permit all of them there are fewer channels.
  Status open(bool remote_memory, char const* interfaces);
  /// Starts the agents.
  Status start();
  void stop() noexcept;
  /// Closes every connection.
  void close() noexcept;

  UcxContext const& context() const noexcept { return context_; }
  Channel& front() noexcept { return *channels_.front(); }
  std::size_t size() const noexcept { return channels_.size(); }

  /// The one that exchanges messages with `process`. Its worker has the same place among the addresses.
  Channel& of(std::uint64_t process) noexcept { return *channels_[worker_for(process, channels_.size())]; }
  /// nothing on failure.
  std::vector<std::vector<std::byte>> worker_addresses() const;
  /// No message of the session is executed any more; its connections are closed.
  void end_session(std::uint64_t session);

  template <typename Action>
  void for_each(Action action) {
    for (auto const& channel : channels_) action(*channel);
  }

  /// All locks: as a lock of its own, for what each channel only looks at under its lock.
  void lock();
  void unlock() noexcept;

  /// Drives every channel, as Channel::poll and Channel::poll_now. Returns the number of events.
  int poll() {
    int events = 0;
    for (auto const& channel : channels_) events += channel->poll();
    return events;
  }
  int poll_now() {
    int events = 0;
    for (auto const& channel : channels_) events += channel->poll_now();
    return events;
  }
  /// Executes what is in the process's mailbox.
  void take_mail() {
    for (auto const& channel : channels_) {
      if (channel->take_mail() != 0) return;
    }
  }
  void leave() const {
    for (auto const& channel : channels_) channel->leave();
  }

 private:
  Status open_first(UcxContext::Features const& features);
  void open_others();

  Log const& log_;
  std::shared_ptr<SessionSecrets> sessions_;  ///< nullptr: none ends on its own
  std::size_t message_bytes_;                 ///< of the largest message
  UcxContext context_;
  std::vector<std::unique_ptr<Channel>> channels_;  ///< at least one
};

}  // namespace mpixrma::engine
