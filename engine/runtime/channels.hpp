/// The channels of a process. Each peer is assigned to one of them, so that threads that communicate with
/// peers on different channels do not wait for each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/log.hpp"
#include "engine/net/ucx_context.hpp"
#include "engine/runtime/channel.hpp"

namespace mpixrma::engine {

class Channels {
 public:
  Channels(Credentials const& credentials, mpix_engine_config const& config, HostIdentity const& host,
           SegmentTable const& segments, LockTable& locks, Log const& log);

  /// Creates the workers. If the system does not permit all of them, there are fewer channels.
  Status open(bool remote_memory, char const* interfaces);
  /// Creates all workers or fails, because the process has already published their number. Needs no lock.
  Status open_late(bool remote_memory, char const* interfaces);
  /// Uses the workers from now on, and sends what has waited for them. `address`: of the process, with the
  /// addresses of the workers.
  void begin(std::span<std::byte const> address);
  /// Fails the operations that wait for the workers, which could not be created.
  void fail_waiting_for_ucx();
  /// Starts the agents.
  Status start();
  void stop() noexcept;
  /// Closes every connection.
  void close_endpoints() noexcept;
  /// Closes every connection and worker.
  void close() noexcept;

  UcxContext const& context() const noexcept { return context_; }
  Channel& front() noexcept { return *channels_.front(); }
  std::size_t size() const noexcept { return channels_.size(); }

  /// Returns the channel that communicates with `process`. Its worker has the same index among the addresses.
  Channel& of(std::uint64_t process) noexcept { return *channels_[worker_for(process, channels_.size())]; }
  /// Returns nothing on failure.
  std::vector<std::vector<std::byte>> worker_addresses() const;
  /// Closes the connections of a session; afterwards no message of the session is executed.
  void end_session(std::uint64_t session);

  template <typename Action>
  void for_each(Action action) {
    for (auto const& channel : channels_) action(*channel);
  }

  /// Acquires the locks of all channels, to change data that each channel reads under its own lock.
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
  /// Executes the requests in the process's ring.
  void take_from_ring() {
    for (auto const& channel : channels_) {
      if (channel->take_from_ring() != 0) return;
    }
  }
  void wake_agents_if_needed() const {
    for (auto const& channel : channels_) channel->wake_agent_if_needed();
  }

 private:
  using Attempt = Status (Channels::*)(UcxContext::Features const&);
  Status open(Attempt attempt, bool remote_memory, char const* interfaces);
  Status open_first(UcxContext::Features const& features);
  Status open_all(UcxContext::Features const& features);
  void open_others();

  Log const& log_;
  std::shared_ptr<SessionSecrets> sessions_;  ///< nullptr: sessions do not end separately
  std::size_t message_bytes_;                 ///< size of the largest message
  UcxContext context_;
  std::vector<std::unique_ptr<Channel>> channels_;  ///< at least one
};

}  // namespace mpixrma::engine
