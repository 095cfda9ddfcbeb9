/// The one-sided engine of a process in the job: peers, segments and paths behind one object.
///
/// Thread-safe throughout. Operations complete at the target without any action of the application there. The
/// engine handles bytes, layouts and processes; attributes, ranks and communicators belong to the layers
/// above.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/bootstrap.h"
#include "engine/base/config.h"
#include "engine/base/visibility.h"
#include "engine/memory/allocation_hints.hpp"
#include "engine/memory/registrar.hpp"
#include "engine/op/exposure.hpp"
#include "engine/op/late_error.hpp"
#include "engine/op/operation.hpp"
#include "engine/op/run_operation.hpp"
#include "engine/op/statistics.hpp"
#include "engine/origin/peer.hpp"
#include "engine/sync/lock.hpp"
#include "engine/sync/lock_clock.hpp"
#include "engine/sync/shared_lock.hpp"
#include "engine/sync/stripes.hpp"

/// The type of an engine in the C interface.
struct mpix_engine {};

namespace mpixrma::engine {

struct Footprint;
struct IssuedTo;
struct MemoryRights;
struct OwnSegment;
struct ExposedView;
struct UnusedNames;
enum class Rights : std::uint32_t;
namespace wire {
struct SegmentReply;
enum class ReleaseKind : std::uint8_t;
}  // namespace wire

/// Returns a text such as "a put" or "an accumulate".
MPIX_ENGINE_API char const* name_of(OperationKind kind) noexcept;

/// The access of peers to registered memory.
enum class PeerAccess : std::uint8_t { as_permitted, read, write };

/// Memory that peers can access as a segment.
struct SegmentInfo {
  RemoteAddress base;
  std::size_t length;  ///< in bytes
};

class MPIX_ENGINE_API Engine : public mpix_engine {
 public:
  /// All fields of `config` are set (see mpix_engine_create). The memory that the arguments point to must
  /// stay valid.
  Engine(mpix_engine_config const& config, mpix_bootstrap const& bootstrap);
  ~Engine();
  Engine(Engine const&) = delete;
  Engine& operator=(Engine const&) = delete;

  /// Starts the agent and publishes the address. Called once, after construction.
  Status start();

  /// Whether the engine was created in this process, and not before a fork().
  bool is_of_this_process() const noexcept;
  std::uint64_t process() const noexcept;
  /// Whether promises of callers are verified.
  bool is_checking() const noexcept;

  /// The blob with the address and the secret, by which other processes connect to this one.
  std::span<std::byte const> address() const noexcept;

  /// Returns the peer with identity `process`, created at its first use and valid until release(). Local.
  /// nullptr if the bootstrap does not know its address.
  Peer* peer(std::uint64_t process);
  /// As peer(), for a process that the bootstrap does not know, with an address (Engine::address) obtained
  /// otherwise. nullptr if the address is invalid.
  Peer* peer_at(std::span<std::byte const> address);
  /// Ends the use of a peer returned by these functions. The engine removes an unused peer once its process
  /// has ended.
  void release(Peer& peer);
  /// Ends the connection to a process that the caller considers dead: operations on its memory fail from here
  /// on. Does nothing if the process is not a peer. Any thread.
  void lose(std::uint64_t process) noexcept;

  /// Starts an operation. Arrays and layouts that it refers to may be reused when it returns; the
  /// origin and result buffers when it is complete.
  Issued issue(Peer& peer, RmaOp const& operation);
  /// As issue(), in few instructions, for an operation that is like the last one to the peer, which is in a
  /// batch that is not sent yet. The elements of an update are whole, and the operation is defined for them.
  /// Returns Issued::sequence; 0: the operation is none of this kind, and nothing is done.
  std::uint64_t continue_run(Peer& peer, RunOperation const& operation);

  /// Waits until every message up to `sequence` is executed at the target and its data has arrived, and makes
  /// earlier direct stores visible. Errors: see take_error.
  void complete(Peer& peer, std::uint64_t sequence);

  /// Waits until the origin and result buffers of every operation up to `sequence` may be reused: fetched
  /// data has arrived, put data has been sent. Waits for the execution only of atomic operations without a
  /// fetch. Queued operations are sent as the target processes earlier ones.
  void complete_local(Peer& peer, std::uint64_t sequence);

  /// Whether complete(peer, sequence) would return at once. Drives progress once.
  bool test(Peer& peer, std::uint64_t sequence);

  /// Makes every message up to `sequence`, and every store made so far, visible at the target before any
  /// operation issued later. Does not wait; a later store may have to.
  void fence(Peer& peer, std::uint64_t sequence) noexcept;
  /// The same for several peers, and for operations to every peer: those issued later become visible after
  /// what was issued `before` to all of these. An operation to another peer may have to wait.
  void fence(std::span<IssuedTo const> before) noexcept;

  /// Returns the stripes that `footprint` requires of this process and of a peer with accessible stripes; not
  /// acquired yet.
  Holds stripes_for(Peer const& peer, Footprint const& footprint) noexcept;

  /// Returns the sequence of the newest message to `peer`, which covers everything issued so far.
  static std::uint64_t newest(Peer const& peer) noexcept;

  /// Returns the first failure since the last call among operations with `context` to `peer` without a
  /// completion object; ok if there was none. `error` receives that operation, for reason().
  Status take_error(Peer& peer, std::uint32_t context, LateError* error = nullptr);
  /// As above, with the number of failures.
  LateErrors::Failures take_errors(Peer& peer, std::uint32_t context);
  /// Stores a failure that its completion cannot report: the next take_error() for `context`, of any peer,
  /// returns it. Its rank is not LateError::of_peer. May be called by a completion.
  void keep_error(std::uint32_t context, LateError const& error) noexcept;
  /// Waits until all issued operations are complete, and returns all unreported failures.
  LateErrors::Failures complete_everything();

  /// Returns an error text for an operation on `memory` of `process` that has ended with `status`: to what
  /// extent the memory lies within an allocation. May query the peer's agent and wait for its answer; call it
  /// without locks. `memory` has no exposure.
  std::string reason(std::uint64_t process, Status status, TargetMemory const& memory);

  /// Waits until `done()` returns true, driving progress of the engine and of the host.
  template <typename Predicate>
  void wait_until(Predicate done) {
    if (done()) return;
    for (unsigned spins = 0; !done(); ++spins) wait_step(spins);
    leave();
  }

  /// As above, for events caused by messages from or to `peer`: does not disturb threads that wait for other
  /// peers.
  template <typename Predicate>
  void wait_until(Peer& peer, Predicate done) {
    if (done()) return;
    std::uint64_t const began = begin_wait();
    for (unsigned spins = 0; !done(); ++spins) wait_step(peer, spins);
    leave();
    end_wait(peer, began, 0);
  }

  /// Whether a waiting thread should yield its core at once.
  bool yields_when_idle() const;

  /// Drives communication once. Returns the number of events.
  int progress();

  /// Allocates memory that peers on this host access by load and store. Aligned to at least 64 bytes. Local.
  /// bad_argument: 0 bytes, or an alignment that is not a power of two or beyond 1 GiB; out_of_memory: the
  /// machine has too little left.
  Status allocate(std::size_t bytes, AllocationHints const& hints, void** base);
  Status allocate(std::size_t bytes, void** base) { return allocate(bytes, {}, base); }
  /// Returns the first address from `from` and the configured base on where `bytes` are unmapped; or 0.
  RemoteAddress unused_addresses(RemoteAddress from, std::size_t bytes, std::size_t alignment) const noexcept;
  /// Frees memory from allocate(), and ends registrations in it. Returns when no peer can access it any more.
  /// bad_argument: not from allocate().
  Status free(void* base);
  /// Whether free() would free `base`.
  bool is_allocated(void const* base) const;
  /// Registers memory for the fastest possible access. Registrations may overlap; those of user memory then
  /// form one segment. Registrations of memory from allocate() must stay within one allocation and have no
  /// effect. bad_argument: empty, or beyond the end of an allocation; bad_address: not mapped, or not
  /// readable; not_writable: `access` is write, and the memory is not; device_memory. Allocates no pages.
  Status attach(void* base, std::size_t bytes, PeerAccess access = PeerAccess::as_permitted,
                Registrar registrar = Registrar::host);
  /// Ends the newest registration of `bytes` bytes at `base` by `registrar`, of any length if 0. Returns when
  /// no peer can access the memory through it any more. bad_argument: not registered by it.
  Status detach(void* base, std::size_t bytes = 0, Registrar registrar = Registrar::host);

  /// Gives peers the `rights` to memory, which is registered as by attach() until conceal(). The caller
  /// distributes the id. Read-only memory is exposed for reading only, and a write to it is not_writable.
  /// Errors: as attach(); bad_argument also for no rights; out_of_memory.
  Status expose(void* base, std::size_t bytes, Rights rights, ExposureId* id);
  /// Updates each element of this process's memory there by the CPU's atomics from now on, where its type
  /// permits: no update needs a stripe, and arrays are slower (engine/op/kernel/update_modes.hpp).
  void update_by_elements(void const* base, std::size_t bytes);
  /// Withdraws an exposure. Operations that begin after the return find the exposure stale; UCX puts and gets
  /// on it have ended. free() withdraws all exposures in the memory. stale_exposure: it does not exist.
  Status conceal(ExposureId id);
  /// As conceal() without the wait; is_unreachable() reports when it has ended.
  Status start_conceal(ExposureId id, Concealed* left);
  bool is_unreachable(Concealed const& left);
  /// Revokes the keys that ended processes knew from all other processes, and destroys them when these have
  /// answered; they get new keys on request. Must be called from time to time, for engines with exposed_only.
  void renew_keys();
  /// For processes that agree on one id for their exposures: a slot and a generation that are unused at all
  /// of them form an id for rename().
  UnusedNames unused_names() const;
  /// Changes the id of an exposure that no process knows yet. stale_exposure: it does not exist;
  /// bad_argument: the id may have been used.
  Status rename(ExposureId from, ExposureId to);
  /// Maps an exposure of a peer on this host. stale_exposure: it does not exist; unsupported: not accessible
  /// by load and store.
  Status view(Peer& peer, ExposureId id, ExposedView* view);

  /// Returns the segment of `peer` that contains `address`; bad_address if there is none. May query the
  /// peer's agent.
  Status find_segment(Peer& peer, RemoteAddress address, SegmentInfo* info);
  /// Returns the segments of `peer` by address. Those that come and go meanwhile may be missing. Asks the
  /// peer's agent for one after the other if they are not accessible.
  Status list_segments(Peer& peer, std::vector<SegmentInfo>* out);

  /// Creates `count` free locks of this process, with consecutive numbers from `*first` on. Local.
  /// bad_argument: `count` is 0; out_of_memory: too many.
  Status create_locks(std::uint32_t count, LockId* first);
  /// Destroys locks of this process. Waiting and later requests fail with Status::bad_argument, and holders
  /// lose them. bad_argument: a lock does not exist, and none is destroyed.
  Status destroy_locks(LockId first, std::uint32_t count);

  /// Requests a lock of `peer` for an owner in this process: it is held when the call returns complete, or
  /// when `completion` receives Status::ok. Requests are served in FIFO order, adjacent shared requests
  /// together. A holder that ends loses the lock, a waiting process its place. Does not wait; neither does
  /// Engine::complete wait for locks. Errors, by the call or by the completion: bad_argument: no such lock,
  /// or its owner holds it or waits for it already; busy: an attempt, and the lock is not free; transport,
  /// unreachable: the peer has ended.
  Issued lock(Peer& peer, LockRequest const& request);
  /// As lock(), for processes that only exchange messages: later operations to the peer wait there until the
  /// lock is held, and the caller does not. Only for processes whose other threads issue nothing, because
  /// theirs would wait too. request.attempt must be false, and its completion is not used. take_error(peer,
  /// context) reports a failure. `with_next`: the request, and small operations behind it, are sent with the
  /// release, or when a thread waits or drives progress. Returns nullopt if this is not possible, or not now.
  std::optional<Issued> lock_in_stream(Peer& peer, LockRequest const& request, std::uint32_t context,
                                       bool with_next);
  /// Waits for the pending in-stream lock, if any. lock() and lock_in_stream() do so first (but for
  /// LockRequest::beside_stream), and callers that acquire locks by shared_lock() should do so too: a process
  /// requests locks one after the other, in the order of its calls.
  void settle_locks() {
    if (locking_.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
      wait_for_lock();
  }
  /// Whether the stream to the peer waits for a lock that was requested by lock_in_stream().
  bool waits_for_lock(Peer& peer);
  /// Whether settle_locks() would return at once.
  bool has_settled_locks();
  /// Releases a lock. Releasing orders all operations that this process issued to `peer` before the next
  /// holder's, whatever path they take; the call waits for operations on another path than the release
  /// message, and, for a lock that was acquired without messages, for those that are messages. Complete when
  /// it returns; complete(peer, sequence) waits until it is executed. bad_argument: not held by `owner`,
  /// reported by the call or by take_error(peer, context).
  Issued unlock(Peer& peer, LockId lock, std::uint32_t owner, std::uint32_t context = 0);

  /// Returns the lock word if both processes have it in memory, for frequent use: SharedLock::try_lock() with
  /// own_holder(), and leave(). lock() and unlock() cover the remaining cases. nullptr: not available.
  SharedLock* shared_lock(Peer& peer, LockId lock);
  /// Releases `word`, which is shared_lock(peer, lock), without waiting for messages to the peer. nullopt:
  /// `holder` has not acquired it there.
  std::optional<Issued> leave(Peer& peer, LockId lock, SharedLock& word, Holder holder,
                              std::uint32_t context) {
    auto const [outcome, agent_waits] = word.unlock(holder);
    if (outcome != SharedLock::Outcome::done) return std::nullopt;
    if (!agent_waits && !word.is_wanted()) [[likely]]
      return Issued{};
    return leave_to_others(peer, lock, word, holder, context, agent_waits);
  }
  Holder own_holder(std::uint32_t owner) const noexcept;

  /// The clock of the locks of this process, raised to the times received from others.
  LockClock& lock_clock() noexcept;
  /// The clock of a peer if accessible, as it is if shared_lock() is; else nullptr.
  LockClock* lock_clock(Peer& peer) noexcept;

  /// Calls `completion`, during progress, once the counter in this process has reached `threshold`.
  void watch(std::uint64_t const* counter, std::uint64_t threshold, Completion& completion);
  /// Calls `completion`, during progress or before this call returns, once complete(peer, sequence) would
  /// return, with the status that take_error(peer, context) would return then. `peer` must stay in use until
  /// then.
  void watch(Peer& peer, std::uint64_t sequence, std::uint32_t context, Completion& completion) noexcept;
  /// As above for complete_local(peer, sequence), without failures.
  void watch_local(Peer& peer, std::uint64_t sequence, Completion& completion) noexcept;
  /// Removes the counters in [begin, end): requests that wait for one fail with Status::bad_address.
  void forget_counters(void const* begin, void const* end);

  /// Returns a local pointer to the `bytes` bytes at `address` of `peer`, mapping them if necessary; nullptr
  /// if they are not accessible by load and store. Valid until the peer frees the memory.
  std::byte* map(Peer& peer, RemoteAddress address, std::size_t bytes);

  /// Unmaps regions that their owners have freed. Local; called where a group frees memory.
  void drop_stale_mappings();

  /// Calls `body` while no thread of this process is in the middle of a message. A process that is killed in
  /// the middle of one may block all messages of its host to the receiver in UCX's shared memory; so tests
  /// that end processes do so here.
  void between_messages(std::function<void()> const& body);

  Statistics statistics() const;
  /// Returns the traffic with the process of this identity.
  Traffic traffic(std::uint64_t process) const;

  /// Makes every operation call issue(): Peer::reach returns nullptr from here on. Must be called before the
  /// first operation; otherwise some still bypass it.
  void issue_all() noexcept;
  bool issues_all() const noexcept;

  /// Counts operations by load and store in the traffic too, for which all must call issue().
  void count_direct() noexcept;
  bool counts_direct() const noexcept;

 private:
  friend class Dispatch;
  struct State;

  /// Returns the time, if there is a trace.
  std::uint64_t begin_wait() const noexcept;
  /// Traces a wait for messages to the peer, by the end of which those up to `sequence` are executed.
  void end_wait(Peer const& peer, std::uint64_t began, std::uint64_t sequence) const noexcept;
  void wait_step(unsigned spins);
  void wait_step(Peer& peer, unsigned spins);
  void rest(unsigned spins) const;
  void leave();
  bool finished(Peer& peer, std::uint64_t sequence);
  bool finished_locally(Peer& peer, std::uint64_t sequence, std::uint64_t network);
  void watch_issued(Peer& peer, std::uint64_t sequence, bool local, std::uint32_t context,
                    Completion& completion) noexcept;
  void wait_for_held_stores(Peer& peer);
  void wait_for_puts_to_self();
  void wait_for_room(Peer& peer);
  void wait_for_lock();
  bool wait_for_lock_in_stream(Peer& peer, Layout const& target, Guarantee guarantees);
  bool take_shortly(SharedLock& word, Holder holder, LockMode mode);
  /// The end of leave() if requests wait for the lock here or, `agent_waits`, at the peer's agent.
  Issued leave_to_others(Peer& peer, LockId lock, SharedLock& word, Holder holder, std::uint32_t context,
                         bool agent_waits);
  /// Notifies the peer's agent that this owner has released the lock, so that it serves its queue.
  Issued report_release(Peer& peer, LockId lock, std::uint32_t owner, std::uint32_t context);
  Issued send_release(Peer& peer, LockId lock, std::uint32_t owner, wire::ReleaseKind kind,
                      std::uint32_t context);
  template <typename Hold>
  void acquire(Hold& hold);
  Holds hold(Peer& peer, Footprint const& footprint);
  StripeHold hold_origin(Peer const& peer, Footprint const& footprint);
  Status try_to_allocate(std::size_t bytes, AllocationHints const& hints, void** base);
  Status look_at(void const* base, std::size_t bytes, MemoryRights* found) const;
  Status attach(void* base, std::size_t bytes, PeerAccess access, Registrar registrar, MemoryRights* found);
  std::byte* map_range(Peer& peer, RemoteAddress begin, std::size_t bytes, Status* refused);
  Issued notify(Peer& peer, RmaOp const& done);
  bool is_complete(Peer& peer, std::uint64_t sequence);
  void wait_for_joint_fence(Peer const* next);
  Status ask_for_segment(Peer& peer, RemoteAddress address, wire::SegmentReply* answer);
  Status start_detach(void const* base, std::size_t bytes, Registrar registrar, Concealed* left);
  void revoke(std::vector<OwnSegment> const& segments);
  void revoke(std::uint64_t number, RemoteAddress base);
  bool is_forgotten(std::uint64_t number);
  void wait_until_concealed(ExposureId id);
  bool is_forgotten(RemoteAddress begin, RemoteAddress end);
  void wait_until_forgotten(RemoteAddress begin, RemoteAddress end);

  // Used only by the thread that has requested the lock.
  std::atomic<Peer*> locking_{nullptr};  ///< peer whose stream waits for a lock; may have been granted
  std::uint64_t locking_at_ = 0;         ///< position in the stream
  std::unique_ptr<State> state_;
};

}  // namespace mpixrma::engine
