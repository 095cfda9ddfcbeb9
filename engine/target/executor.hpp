/// The target's side of the message path: executes requests and answers them.
/// Under the channel's lock throughout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/base/drops.hpp"
#include "engine/base/log.hpp"
#include "engine/base/text.hpp"
#include "engine/memory/fault_guard.hpp"
#include "engine/memory/segment_table.hpp"
#include "engine/net/connections.hpp"
#include "engine/net/request_run.hpp"
#include "engine/net/ring.hpp"
#include "engine/net/session.hpp"
#include "engine/net/transport.hpp"
#include "engine/net/wire.hpp"
#include "engine/sync/lock_table.hpp"
#include "engine/target/execution_trace.hpp"
#include "engine/target/key_holders.hpp"
#include "engine/target/origin.hpp"
#include "engine/target/replies.hpp"
#include "engine/target/requested_memory.hpp"

namespace mpixrma::engine {

class Executor {
 public:
  struct Settings {
    std::size_t fragment_bytes = 0;
    std::size_t credit_bytes = 0;       ///< most that one origin may have under way
    std::size_t memory_bytes = 0;       ///< what all of them together are to make this process hold
    std::size_t joined_bytes = 0;       ///< largest message of several replies; 0: each travels alone
    std::size_t answers_bytes = 0;      ///< of all answers that are not sent; 0: no bound
    std::size_t session_processes = 0;  ///< most origins of a session; 0: no bound
  };

  /// Packs the remote key of a segment for a peer that wants to use it; empty if there is none.
  using KeyProvider = std::function<std::vector<std::byte>(OwnSegment const&)>;

  Executor(Transport& transport, Connections& connections, SegmentTable const& segments, LockTable& locks,
           Credentials const& credentials, Settings const& settings, Log const& log)
      : transport_(transport),
        connections_(connections),
        segments_(segments),
        locks_(locks),
        credentials_(credentials),
        settings_(settings),
        log_(log) {
    replies_.set_check([this](Origin& origin) { check_unsent(origin); });
  }

  /// Sets the function that wakes the agent, for answers from elsewhere.
  void set_wake(std::function<void()> wake) { lock_answers_.wake = std::move(wake); }
  /// Detects ended lock holders and grants their locks to waiting requests.
  void look_at_holders() { locks_.look_at_holders(lock_answers_); }

  /// This is executor `place` of `executors`: processes that belong to another one are rejected.
  void set_place(std::size_t place, std::size_t executors) noexcept {
    place_ = place;
    executors_ = executors;
  }

  void set_recorder(Recorder* recorder) noexcept { trace_.set_recorder(recorder); }
  void set_key_provider(KeyProvider provider) { provide_key_ = std::move(provider); }

  /// Handles a message of requests. Without memory for it, the connection to its origin is lost.
  void on_message(wire::MessageClass kind, std::span<std::byte const> header,
                  std::span<std::byte const> payload) noexcept;

  /// Any thread.
  bool ring_has_news(Ring const& ring) const noexcept { return ring_reader_.has_news(ring); }
  /// Executes the requests in the process's ring; returns their number.
  int take_from_ring(Ring& ring) noexcept;

  /// Executes requests that may be executed now and sends the answers: replies, and one acknowledgement per
  /// origin. Called after each progress of the transport, outside of UCX's callbacks.
  void drive() {
    if (!introductions_.empty()) meet_introduced();
    if (!full_.empty()) retry_full();
    if (!deferred_.empty()) retry_deferred();
    if (locks_.is_patience_over()) locks_.admit_impatient(lock_answers_);
    while (lock_answers_.has_news()) answer_locks();  // a continued request may release other locks
    replies_.send_all();
  }
  /// Whether executed requests are unanswered.
  bool owes_answers() const noexcept { return replies_.are_due(); }
  /// Whether requests wait for stripes, whose release no event announces.
  bool has_deferred() const noexcept { return !deferred_.empty(); }
  /// Whether requests wait for answers to leave. The transport may have sent all of them by now, so that
  /// nothing is unsent whose end an event announces.
  bool has_full() const noexcept { return !full_.empty(); }

  /// Removes a process that is gone: its requests are dropped and its locks released.
  void forget(std::uint64_t process);
  /// Removes all processes of a session, and returns them.
  std::vector<std::uint64_t> end_session(std::uint64_t session);

  // For engine/target/parting.hpp.
  bool is_idle(std::uint64_t process) const noexcept;
  std::uint64_t last_use(std::uint64_t process) const noexcept;
  /// Whether the process has a lock by the agent's grant, or waits for one: the connection identifies it.
  bool has_locks(std::uint64_t process) const noexcept { return locks_.concerns(process); }
  /// Closes the connection to the process, and drops its keys. A later connection needs a new handshake.
  void part(std::uint64_t process) noexcept;

  /// Makes every peer that knows the segment or exposure with this number, at `base`, drop it.
  void revoke(std::uint64_t number, RemoteAddress base);
  /// Whether all peers have done so.
  bool revoked(std::uint64_t number) const { return holders_.is_unknown(number); }
  /// Adds to `numbers` the segments and exposures known to processes that have ended since the last
  /// forget_left(). Processes that copied their keys still have them.
  void find_left(std::set<std::uint64_t>* numbers) const { holders_.find_left(numbers); }
  void forget_left() noexcept { holders_.forget_left(); }

  /// Returns the process whose session has this token for requests; nothing for an unauthenticated peer.
  std::optional<std::uint64_t> process_of(std::uint64_t session) const noexcept;
  /// Returns the token for replies of the process's session; 0: none.
  std::uint64_t session_with(std::uint64_t process) const noexcept;

  /// Describes the requests that cannot be executed yet.
  void describe_waiting(BoundedText& text) const;

  std::uint64_t executed() const noexcept { return executed_; }
  /// Number of executed requests of one process; also for recently ended processes.
  std::uint64_t executed_for(std::uint64_t process) const;
  std::uint64_t dropped() const noexcept { return drops_.count(); }
  std::size_t origins() const noexcept { return origins_.size(); }
  std::size_t kept_bytes() const noexcept { return kept_bytes_; }

 private:
  /// A request that waits for stripes.
  struct Deferred {
    Origin* origin;
    KeptRequest kept;
    StripeHold hold;
  };
  // joined_requests.cpp: batches of requests.
  void take_joined(std::span<std::byte const> header, std::span<std::byte const> payload);
  char const* take_records(Origin& origin, std::span<std::byte const> records);
  /// Requests of a run that were executed together.
  struct ExecutedRun {
    std::size_t requests;
    std::size_t data_bytes;  ///< of each
  };
  void take_run(Origin& origin, wire::RequestRun run);
  std::size_t execute_together(Origin& origin, wire::RequestRun const& run);
  bool hold_for_element(wire::CheckedRequest const& request) noexcept;
  void note_run(Origin& origin, wire::RequestHeader const& first, ExecutedRun run);

  // executor.cpp: the order in which requests are executed.
  std::span<std::byte const> aligned(std::span<std::byte const> payload);
  void take(std::span<std::byte const> header, std::span<std::byte const> payload);
  void take_in_session(Origin& origin, std::span<std::byte const> header, std::span<std::byte const> payload);
  void hold(Origin& origin, KeptRequest kept);
  std::size_t max_buffered_bytes() const noexcept;
  bool has_room(Origin const& origin, std::size_t payload_bytes) const noexcept;
  void note_kept(Origin& origin, KeptRequest const& kept) noexcept;
  void note_released(Origin& origin, KeptRequest const& kept) noexcept;
  bool add_entry(Origin& origin) noexcept;
  void remove_entry(Origin& origin) noexcept;
  void refuse(Origin& origin, wire::RequestHeader const& header, std::size_t payload_bytes, Status status);
  static bool acquire_shortly(StripeHold& hold) noexcept;
  void receive(Origin& origin, wire::CheckedRequest& request, std::span<std::byte const> header,
               std::span<std::byte const> payload);
  void answer_busy(Origin& origin, wire::CheckedRequest const& request, std::size_t payload_bytes);
  void retry_deferred();
  void release_held(Origin& origin);
  void perform(Origin& origin, wire::CheckedRequest const& request, StripeHold hold,
               std::size_t payload_bytes, Status resolved);
  void end_lock_wait(Origin& origin, LockTable::Answer const& answer);
  void note_executed(Origin& origin, wire::RequestHeader const& header, std::uint64_t cost);
  void take_position(Origin& origin, std::uint64_t sequence);

  // sessions.cpp: the sessions of origins, from their handshake to their end.
  void take_from_stranger(std::uint64_t token, std::span<std::byte const> header,
                          std::span<std::byte const> payload);
  char const* take_introduction(std::span<std::byte const> data);
  std::uint64_t name_of(SessionOpening const& opening) const noexcept;
  bool is_session_full(std::uint64_t session) const noexcept;
  char const* admit(SessionOpening const& opening, Secret const& secret);
  void expect_sealed(SessionOpening const& opening, Secret const& secret);
  void retire_session(std::uint64_t session);
  Origin* origin_of(std::uint64_t session) const noexcept;
  void meet_introduced();

  // execute.cpp: the execution of one request.
  void execute_or_fail(Origin& origin, wire::CheckedRequest const& request, Status status);
  Status execute(Origin& origin, wire::CheckedRequest const& request);
  Status count(Origin& origin, wire::CheckedRequest const& request, bool failed);
  Status carry_out(Origin& origin, wire::CheckedRequest const& request, FaultRange accessed);
  void acquire_lock(Origin const& origin, wire::RequestHeader const& header);
  Status release_lock(Origin const& origin, wire::RequestHeader const& header);
  std::byte* new_data(Origin& origin, wire::RequestHeader const& header, std::uint64_t done,
                      std::size_t bytes);

  // ring.cpp: requests in the ring.
  Status execute_entry(RingEntry const& entry, std::byte* answer) noexcept;
  Status execute_staged(StagedRequest& staged, Staging staging) noexcept;
  Status execute_entry(wire::CheckedRequest& request, char const* fault, std::byte* answer) noexcept;

  // unsent_answers.cpp: how many answers an origin may leave with the transport.
  void bound_answers(Origin& origin) const;
  std::size_t answer_share() const noexcept;
  bool may_answer(Origin const& origin, wire::RequestHeader const& request) const noexcept {
    if (settings_.answers_bytes == 0) return true;
    return !origin.waits_for_answers && has_room_for_answer(origin, request);
  }
  bool has_room_for_answer(Origin const& origin, wire::RequestHeader const& request) const noexcept;
  void wait_for_answers(Origin& origin);
  void retry_full();
  void check_unsent(Origin& origin);
  void end(Origin const& origin, SessionEnd why);

  // answers.cpp: what goes back.
  void divide_credit() noexcept;
  void answer_query(Origin& origin, wire::CheckedRequest const& request);
  void answer_locks();
  void answer_lock(Origin& origin, LockTable::Answer const& answer);
  void forget_holder_of_all(std::uint64_t process) noexcept;

  Transport& transport_;
  Connections& connections_;
  SegmentTable const& segments_;  ///< does not change while this channel is locked
  LockTable& locks_;
  LockTable::Answers lock_answers_;
  Credentials const& credentials_;
  Settings settings_;
  RequestedMemory memory_{segments_, credentials_.exposed_only ? Reach::exposures : Reach::whole_process};
  std::size_t place_ = 0;
  std::size_t executors_ = 1;
  Log const& log_;
  KeyProvider provide_key_;
  ExecutionTrace trace_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Origin>> origins_;  ///< by process
  std::unordered_map<std::uint64_t, Origin*> sessions_;                 ///< by SessionTokens::request
  EndedOrigins gone_;
  RecentTokens ended_;                         ///< tokens of ended sessions
  std::vector<ProcessAddress> introductions_;  ///< origins whose connections must be opened
  Replies replies_{transport_, connections_, segments_, locks_, settings_.joined_bytes};
  std::shared_ptr<MessageAccount> unsent_ = std::make_shared<MessageAccount>();  ///< of answers to all
  std::vector<Origin*> full_;     ///< that wait for their answers to leave
  std::list<Deferred> deferred_;  ///< in the order of arrival
  std::size_t kept_bytes_ = 0;    ///< Origin::kept_bytes of all
  NeighbourStripes neighbours_;
  RingReader ring_reader_;
  alignas(
      64) std::array<std::byte, StagedRequest::max_data> fetched_;  ///< before it is copied past the caches
  KeyHolders holders_;
  std::vector<std::uint64_t> aligned_;  ///< scratch buffer for misaligned payloads
  std::uint64_t executed_ = 0;
  Drops drops_{"request", log_};
};

}  // namespace mpixrma::engine
