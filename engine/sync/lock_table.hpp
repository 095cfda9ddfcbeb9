/// The locks of this process: the owners whose requests were granted, and the waiting requests in queue
/// order. A request that overtakes passes the exclusive ones that are not earlier than itself, and all
/// exclusive ones when it has waited behind earlier ones for too long (docs/decisions/0010-queued-locks.md).
///
/// Processes of the host acquire a free lock in shared memory (engine/sync/shared_lock.hpp). While requests
/// wait here, or an owner holds the lock by a grant, these processes must send requests too, and a holder
/// that acquired the lock before wakes the agent on release. Thread-safe by a lock of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "engine/base/log.hpp"
#include "engine/base/process_watch.hpp"
#include "engine/base/shared_memory.hpp"
#include "engine/base/status.hpp"
#include "engine/base/text.hpp"
#include "engine/sync/lock.hpp"
#include "engine/sync/lock_clock.hpp"
#include "engine/sync/shared_lock.hpp"

namespace mpixrma::engine {

class LockTable {
 public:
  /// The decision on the request with this operation id: a grant (Status::ok) or a refusal.
  struct Decision {
    std::uint64_t process;
    std::uint64_t operation_id;
    std::uint64_t sequence;
    Status status;
  };
  /// The destination of the decisions on requests that arrived on one channel.
  class Decisions {
   public:
    /// Whether there are decisions to be taken, or poll_holders() has something to do.
    bool has_news() const noexcept { return news_.load(std::memory_order_relaxed); }

    /// Called when a request of another channel, or of the process itself, has caused decisions.
    std::function<void()> wake = [] {};

   private:
    friend class LockTable;
    std::vector<Decision> decisions_;  ///< under the table's lock
    std::atomic<bool> news_{false};
  };
  /// An owner in another process or, for a request that this process sends to itself, in this one.
  struct Owner {
    std::uint64_t process;
    std::uint32_t number;
    bool operator==(Owner const&) const = default;
  };
  struct Request {
    Owner owner;
    LockMode mode;
    bool overtakes;  ///< passes exclusive requests that are not earlier than `time`
    LockTime time;   ///< LockRequest::time
    std::uint64_t operation_id;
    std::uint64_t sequence;  ///< position in the origin's stream, which waits for the lock; 0: none
    Decisions* decisions;
  };

  using Clock = std::chrono::steady_clock;

  /// Time that an overtaking request waits behind an earlier exclusive one that no request has passed this
  /// way; doubled for each pass.
  static constexpr Clock::duration first_overtake_delay = std::chrono::milliseconds(10);
  static constexpr unsigned max_doublings = 6;

  explicit LockTable(Log const& log, Clock::duration overtake_delay = first_overtake_delay);

  static constexpr std::uint32_t max_locks = std::uint32_t{1} << 20;

  /// Sets the memory of the first locks and the clock. Must be called first.
  void open(SharedLocks& shared, LockClock& clock) {
    shared_ = &shared;
    clock_ = &clock;
  }

  /// The clock of all locks of this process, raised to the times received from others. Needs no lock.
  LockClock& clock() const noexcept { return *clock_; }

  /// Creates `count` free locks with consecutive numbers. bad_argument: `count` is 0; out_of_memory: too
  /// many.
  Status create(std::uint32_t count, LockId* first);
  /// Destroys the locks; waiting requests fail with bad_argument. bad_argument: `count` is 0 or a lock does
  /// not exist; none is destroyed.
  Status destroy(LockId first, std::uint32_t count);

  /// Joins the queue; the decision is made at once or later.
  void acquire(LockId lock, Request const& request);
  /// Never queues the request: decides Status::busy if the lock cannot be granted at once.
  void try_acquire(LockId lock, Request const& request);
  /// bad_argument: `owner` does not hold the lock by a grant of the agent.
  Status release(LockId lock, Owner const& owner, Decisions& own);
  /// An owner that had acquired the lock without the agent has released it. bad_argument: the lock does not
  /// exist.
  Status note_release(LockId lock, Decisions& own);
  /// Removes the grants and requests of a process that is gone.
  void forget(std::uint64_t process, Decisions& own);
  /// Whether the process holds a grant or waits.
  bool concerns(std::uint64_t process) const;

  /// Describes the holders of the locks and the waiting requests as text.
  void describe(BoundedText& text);

  std::vector<Decision> take_decisions(Decisions& own);

  /// Whether admit_overtaking() may have something to do.
  bool is_overtake_due() const noexcept {
    std::int64_t const deadline = deadline_.load(std::memory_order_relaxed);
    return deadline != no_deadline && Clock::now().time_since_epoch().count() >= deadline;
  }
  /// Lets the requests whose overtake delay has ended pass all exclusive ones.
  void admit_overtaking(Decisions& own);
  /// Becomes readable when the overtake delay of a request ends.
  int timer_fd() const noexcept { return timer_.get(); }

  /// Detects the end of processes that have acquired locks without the agent and that requests wait for.
  void poll_holders(Decisions& own);

  /// As in ProcessWatch, for the holders that requests wait for.
  int fd() const noexcept { return watch_.fd(); }
  bool must_poll() const noexcept { return watches_ && watch_.must_poll(); }

 private:
  static constexpr std::int64_t no_deadline = INT64_MAX;  ///< deadlines are in Clock's ticks

  struct OwnerHash {
    std::size_t operator()(Owner const& owner) const noexcept;
  };
  struct Waiting {
    Request request;      ///< `time` of an exclusive request is that of its arrival
    unsigned passed = 0;  ///< number of passes by requests that had waited for too long
    std::int64_t deadline = no_deadline;

    bool is_exclusive() const noexcept { return request.mode == LockMode::exclusive; }
  };
  /// The queue of a lock that is granted or waited for. A lock may have as many members as the job has
  /// processes.
  struct Queue {
    std::unordered_map<Owner, bool, OwnerHash> members;  ///< value: whether the lock is granted
    std::size_t grants = 0;
    bool exclusive = false;       ///< the one grant is exclusive
    std::deque<Waiting> waiting;  ///< the times of exclusive requests ascend
  };
  using Queues = std::unordered_map<LockId, Queue>;

  /// Locks the table on behalf of a thread that will check its decisions itself.
  class TableGuard {
   public:
    TableGuard(LockTable& table, Decisions* own) : held_(table.mutex_), table_(table) { table_.own_ = own; }
    ~TableGuard() { table_.own_ = nullptr; }
    TableGuard(TableGuard const&) = delete;
    TableGuard& operator=(TableGuard const&) = delete;

   private:
    std::lock_guard<std::mutex> held_;
    LockTable& table_;
  };

  SharedLock* shared(LockId lock) noexcept {
    return lock < shared_lock_count && shared_ != nullptr ? &(*shared_)[lock] : nullptr;
  }
  bool exists(LockId lock) const noexcept { return lock < exists_.size() && exists_[lock]; }
  Queues::iterator queue_for(LockId lock, Request const& request);
  void decide(Request const& request, Status status);
  bool admits(LockId lock, Queue const& queue, LockMode mode) noexcept;
  void add(Queue& queue, Request const& request);
  void grant(Queue& queue, Request const& request);
  static void remove_grants(Queue& queue, std::size_t count) noexcept;
  void remove_members(std::uint64_t process, std::size_t members) noexcept;
  void enqueue(LockId lock, Queue& queue, Request const& request);
  std::int64_t deadline_behind(std::deque<Waiting> const& waiting, std::size_t end) const noexcept;
  static void pass_all(Queue& queue, std::int64_t now);
  void publish_earliest(LockId lock, Queue const& queue) noexcept;
  void set_deadline(std::int64_t deadline) noexcept;
  void serve(Queues::iterator entry);
  void watch_holders(LockId lock);
  void drop_ended(LockId lock) noexcept;

  Log const& log_;
  Clock::duration const overtake_delay_;
  FileDescriptor const timer_;
  LockClock own_clock_{};  ///< used until open()
  LockClock* clock_ = &own_clock_;
  std::atomic<std::int64_t> deadline_{no_deadline};  ///< the earliest; changed under the lock
  mutable std::mutex mutex_;
  SharedLocks* shared_ = nullptr;
  std::vector<bool> exists_;
  Queues queues_;
  std::unordered_map<std::uint64_t, std::size_t> members_;  ///< members of all queues, by process
  Decisions* own_ = nullptr;  ///< decisions of the thread that has the table locked
  ProcessWatch watch_;        ///< by pid
  std::atomic<bool> watches_{false};
};

}  // namespace mpixrma::engine
