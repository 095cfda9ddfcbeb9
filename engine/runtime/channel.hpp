/// A channel for messages: the lock, the transport, and both sides of the message protocol, shared by
/// application threads and the channel's agent.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <new>
#include <span>

#include "engine/base/backoff.hpp"
#include "engine/base/config.h"
#include "engine/base/process_watch.hpp"
#include "engine/memory/fault_guard.hpp"
#include "engine/memory/segment_table.hpp"
#include "engine/net/connections.hpp"
#include "engine/net/transport.hpp"
#include "engine/origin/lost_memory.hpp"
#include "engine/origin/unordered_transfers.hpp"
#include "engine/proto/message.hpp"
#include "engine/runtime/agent.hpp"
#include "engine/sync/lock_table.hpp"
#include "engine/target/connection_eviction.hpp"
#include "engine/target/executor.hpp"

namespace mpixrma::engine {

class Channel final : public MessageHandler {
 public:
  Channel(Credentials const& credentials, mpix_engine_config const& config, HostIdentity const& host,
          SegmentTable const& segments, LockTable& lock_table, Log const& log)
      : locks(lock_table),
        transport(log, credentials.encrypt),
        connections(transport, watch, host, credentials.process, log),
        message_protocol(transport, connections, credentials,
                         {config.credit_bytes,
                          batch_bytes(config),
                          {config.fragment_bytes, config.target_memory_bytes, config.process_memory_bytes}},
                         locks, log),
        executor({transport, connections, segments, locks, credentials},
                 {{config.fragment_bytes, config.credit_bytes, config.origins_memory_bytes},
                  batch_bytes(config),
                  config.replies_memory_bytes,
                  config.session_processes},
                 log),
        eviction({transport, connections, message_protocol, executor}, credentials.process,
                 config.max_endpoints, log),
        agent(*this, std::chrono::microseconds(config.agent_poll_us),
              std::chrono::microseconds(config.agent_linger_us), config.agent_cores, log),
        segments_(segments) {
    executor.locks.set_wake([this] { wake_(); });
  }

  /// Protects the members below, except `locks` and atomics, and its peers' PeerState, except as said there.
  std::mutex lock;
  LockTable& locks;  ///< locks of the process
  Transport transport;
  ProcessWatch watch;
  Connections connections;
  MessageProtocol message_protocol;
  Executor executor;
  ConnectionEviction eviction;
  Agent agent;
  UnannouncedTransfers unannounced_transfers;
  LostMemory lost_memory;

  /// Handles all arrivals. With the lock held. Returns the number of events. A lack of memory is no error,
  /// because the completion object of an issued operation may be on the caller's stack: the agent retries
  /// what has failed.
  int progress() noexcept {
    FaultScope const faults;  // for requests on memory that may be unmapped
    int const events = transport.progress();
    if (events != 0) events_.fetch_add(1, std::memory_order_relaxed);
    try {
      handle_arrivals();
    } catch (std::bad_alloc const&) {
      needs_polling_.store(true, std::memory_order_relaxed);  // no event announces the retry
      wake_agent_if_needed();
      return events;
    }
    bool const unannounced = transport.unsent() != 0 || transport.needs_more_progress() ||
                             connections.has_losses() || connections.has_disconnects() ||
                             executor.streams.has_blocked() || executor.unsent.has_waiting() ||
                             message_protocol.has_waiting() || message_protocol.waits_for_addresses() ||
                             unannounced_transfers.count != 0;
    if (unannounced != needs_polling()) needs_polling_.store(unannounced, std::memory_order_relaxed);
    return events;
  }

  /// Called by waiting threads: also sends the batches.
  int progress_while_waiting() {
    message_protocol.sender.send_awaited_batches();
    return progress();
  }

  /// Makes progress until `done()` returns true. With the lock held, which is released and reacquired in
  /// between.
  template <typename Predicate>
  void progress_until(std::unique_lock<std::mutex>& held, Predicate done) {
    if (done()) return;
    do {
      progress_while_waiting();
      held.unlock();
      held.lock();
    } while (!done());
    wake_agent_if_needed();
  }

  /// Called by issuing threads, whose polls make the agent leave the messages to them.
  void progress_after_issue() {
    count_poll();
    auto const now = std::chrono::steady_clock::now();
    send_overdue_batches(now);
    progress_at(now);
  }

  /// The same for an operation that was added to a batch: does not call progress() each time.
  void progress_after_batching() {
    count_poll();
    auto const now = std::chrono::steady_clock::now();
    send_overdue_batches(now);
    if (now - last_progress_ >= progress_interval) progress_at(now);
  }

  /// The same for an operation that was appended to a run in a batch: most calls do not read the clock.
  void progress_after_append() {
    constexpr unsigned operations = 8;  // computation between them does not delay messages for long
    count_poll();
    if (++appended_ % operations == 0) progress_after_batching();
  }

  /// Called by a thread that has issued an unordered transfer.
  void progress_transfers() {
    if (unannounced_transfers.count == 0) return;
    (void)progress();
    wake_agent_if_needed();
  }

  /// Called by a thread that has sent a message and does not wait: a message of this process to itself has
  /// arrived before the send returned, and no event announces that it needs a reply. With the lock held.
  void progress_self_messages() noexcept {
    if (executor.replies.are_due()) progress();
    wake_agent_if_needed();
  }

  /// Called by the agent: sends the timed batches, unless a thread has called the library since the
  /// agent's previous check. With the lock held.
  void send_abandoned_batches() {
    if (message_protocol.sender.has_timed_batch() && polls() == polls_at_last_check_)
      message_protocol.sender.send_abandoned_batches();
    polls_at_last_check_ = polls();
  }

  /// Records which processes of this host have ended. With the lock held.
  void poll_processes() {
    watch.take_ended([this](std::uint64_t process) { connections.fail(process, "the process has ended"); });
    executor.locks.poll_holders();
  }

  /// Whether some processes or lock holders must be polled, because no event announces their end.
  bool must_poll() const noexcept { return watch.must_poll() || locks.must_poll(); }

  /// Records that a process has ended, according to the bootstrap or a caller. With the lock held.
  void fail_connection(std::uint64_t process) {
    if (connections.knows(process) || message_protocol.sessions.knows(process))
      connections.fail(process, "the process has gone");
  }

  /// Whether there is work that no event will announce.
  bool needs_polling() const noexcept { return needs_polling_.load(std::memory_order_relaxed); }

  /// Called by a thread that has called progress() and does not wait for its remaining work.
  void wake_agent_if_needed() const {
    if (needs_polling() && agent_sleeps()) wake_();
  }

  void wake_agent() const { wake_(); }
  /// Sets the function that wakes the agent.
  void set_wake(std::function<void()> wake) { wake_ = std::move(wake); }

  /// Sets the function that notifies a process of the loss of the connection. `peer`: null if the process is
  /// no peer. Called with the lock held.
  void set_announce(std::function<void(std::uint64_t process, Peer* peer)> announce) {
    announce_ = std::move(announce);
  }

  /// Called by the MPI library's progress. While the agent sleeps on the event descriptor, no message has
  /// arrived: if no batch is open either, only requests in the ring are executed. Otherwise polls up to
  /// `passes_per_poll` times for an event, because a pass of the MPI library's progress costs about as much
  /// as a message.
  int poll() {
    count_poll();
    int const entries = take_from_ring();
    if (agent_sleeps_.load(std::memory_order_relaxed) && !message_protocol.sender.has_open_batch())
      return entries;
    std::unique_lock const held(lock, std::try_to_lock);
    if (!held.owns_lock()) return entries;
    message_protocol.sender.send_batches();
    int events = 0;
    for (int passes = entries != 0 ? 1 : passes_per_poll; passes != 0 && events == 0; --passes)
      events = progress();
    wake_agent_if_needed();
    return entries + events;
  }

  /// Executes the requests in the process's ring, for which no thread is woken. Returns their number.
  int take_from_ring() {
    if (!executor.ring.has_news(ring())) return 0;
    std::unique_lock const held(lock, std::try_to_lock);
    return held.owns_lock() ? poll_ring_burst() : 0;
  }

  /// For a waiting thread: polls even while the agent sleeps.
  int poll_now() {
    count_poll();
    std::unique_lock const held(lock, std::try_to_lock);
    return held.owns_lock() ? progress_while_waiting() : 0;
  }

  /// Number of connections lost so far.
  std::uint64_t losses() const noexcept { return losses_.load(std::memory_order_relaxed); }

  std::uint64_t polls() const noexcept { return polls_.load(std::memory_order_relaxed); }
  std::uint64_t events() const noexcept { return events_.load(std::memory_order_relaxed); }
  /// With the lock held, when there is no timed batch.
  void begin_agent_sleep() noexcept {
    message_protocol.sender.permit_deferral(false);
    agent_sleeps_.store(true, std::memory_order_relaxed);
  }
  /// Afterwards the agent looks for timed batches.
  void end_agent_sleep() noexcept {
    agent_sleeps_.store(false, std::memory_order_relaxed);
    message_protocol.sender.permit_deferral(true);
  }
  bool agent_sleeps() const noexcept { return agent_sleeps_.load(std::memory_order_relaxed); }

 private:
  /// The part of progress() behind the transport's.
  void handle_arrivals() {
    // These requests are not counted as events, so they keep no thread awake.
    if (executor.ring.has_news(ring())) executor.ring.take(ring());
    if (message_protocol.waits_for_addresses()) message_protocol.take_addresses();
    if (connections.has_losses()) handle_losses();
    eviction.progress();
    // A message that these functions send to this process itself has arrived when they return.
    do {
      executor.progress_due();
      message_protocol.progress_due();
    } while (executor.replies.are_due());
    // Requests to disconnect that have arrived with the handshake of their connection.
    if (connections.has_disconnects()) eviction.progress();
  }

  /// Sends the timed batches once the oldest has been timed for `progress_interval`. The first timed batch
  /// also postpones the next call of progress().
  void send_overdue_batches(std::chrono::steady_clock::time_point now) {
    RequestSender& sender = message_protocol.sender;
    if (!sender.has_timed_batch()) return;
    if (sender.take_newly_timed()) {
      timed_since_ = last_progress_ = now;
    } else if (now - timed_since_ >= progress_interval) {
      sender.send_timed_batches();
    }
  }

  void progress_at(std::chrono::steady_clock::time_point now) {
    last_progress_ = now;
    (void)progress();
    wake_agent_if_needed();
  }

  static constexpr int passes_per_poll = 4;
  // The time of some message exchanges between hosts: messages that arrive meanwhile are handled together.
  static constexpr std::chrono::microseconds progress_interval{100};

  static std::size_t batch_bytes(mpix_engine_config const& config) noexcept {
    return config.batch_bytes == MPIX_ENGINE_NO_BATCHES ? 0 : config.batch_bytes;
  }

  /// Polls the ring again: an origin with its reply often sends its next request within a turn of the MPI
  /// library's progress. For a burst of slower requests, polling for longer pays off too, because a new
  /// FaultScope may need a system call.
  int poll_ring_burst() noexcept {
    constexpr int max_burst = 64;  // the library must make progress too
    constexpr int few_polls = 16;
    constexpr int many_polls = 64;
    constexpr std::chrono::microseconds soon{3};
    FaultScope const faults;
    int taken = executor.ring.take(ring());
    int const polls = std::chrono::steady_clock::now() - last_burst_ < soon ? many_polls : few_polls;
    for (int poll = 0; poll < polls && taken < max_burst; ++poll) {
      cpu_relax();
      if (!executor.ring.has_news(ring())) continue;
      taken += executor.ring.take(ring());
      poll = 0;
    }
    last_burst_ = std::chrono::steady_clock::now();
    return taken;
  }

  Ring& ring() const noexcept { return segments_.control().ring; }

  /// Not an atomic increment, because only a change matters.
  void count_poll() noexcept {
    polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  void handle_losses();
  /// Notifies both sides of the message protocol before the connection is closed.
  void handle(Connections::Loss const& loss);
  /// Releases the memory of a lost peer of this host if its process has ended; otherwise watches the process,
  /// whose end leads to another call.
  void release_memory_of(Peer& peer);

  void on_message(wire::MessageClass kind, std::span<std::byte const> header,
                  std::span<std::byte const> payload) noexcept override {
    bool const for_executor =
        kind == wire::MessageClass::request || kind == wire::MessageClass::request_batch;
    for_executor ? executor.on_message(kind, header, payload)
                 : message_protocol.reply_handler.on_message(kind, header, payload);
  }
  void on_disconnect(std::span<std::byte const> header) noexcept override { eviction.on_disconnect(header); }
  void on_lost(ucp_ep_h endpoint, char const* reason) noexcept override {
    connections.fail(endpoint, reason);
  }
  void on_rejected(std::uint64_t process, char const* reason) noexcept override {
    connections.reject(process, reason);
  }

  SegmentTable const& segments_;
  std::function<void()> wake_ = [] {};
  std::function<void(std::uint64_t, Peer*)> announce_ = [](std::uint64_t, Peer*) {};
  std::atomic<std::uint64_t> polls_{0};
  std::atomic<std::uint64_t> events_{0};
  std::atomic<std::uint64_t> losses_{0};
  std::chrono::steady_clock::time_point last_progress_;  ///< by issuing threads
  unsigned appended_ = 0;                                ///< number of calls of progress_after_append()
  std::chrono::steady_clock::time_point timed_since_;    ///< of the oldest timed batch
  std::uint64_t polls_at_last_check_ = 0;                ///< of the agent for timed batches
  std::chrono::steady_clock::time_point last_burst_;     ///< end of the last poll_ring_burst()
  std::atomic<bool> agent_sleeps_{false};
  std::atomic<bool> needs_polling_{false};
};

}  // namespace mpixrma::engine
