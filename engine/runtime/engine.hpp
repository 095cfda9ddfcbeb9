/// The one-sided engine of a process in the job: peers, segments and paths behind one object.
///
/// Thread-safe throughout. Operations complete at the target without any action of the application
/// there. The engine knows bytes, layouts and processes; attributes, ranks and communicators belong to
/// the layers above.
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
#include "engine/op/exposure.hpp"
#include "engine/op/late_error.hpp"
#include "engine/op/operation.hpp"
#include "engine/op/statistics.hpp"
#include "engine/origin/peer.hpp"
#include "engine/proto/remainder.hpp"
#include "engine/sync/lock.hpp"
#include "engine/sync/lock_clock.hpp"
#include "engine/sync/shared_lock.hpp"
#include "engine/sync/stripes.hpp"

/// What the C interface calls an engine.
struct mpix_engine {};

namespace mpixrma::engine {

/// Counters for tests, diagnostics and the verbose report.
struct Statistics {
  std::size_t peers;               ///< processes that this one has talked to
  std::size_t endpoints;           ///< UCX endpoints to other processes, to send requests or answers
  std::size_t mapped_regions;      ///< regions of peers that are mapped into this process
  Traffic traffic;                 ///< with all of them
  std::uint64_t messages_dropped;  ///< of those received: by strangers, or malformed
  std::uint64_t requests_joined;   ///< of those sent: together with others
};

struct TargetAccess;
struct Predecessors;
struct Footprint;
struct MemoryRights;
struct OwnSegment;
struct ExposedView;
struct UnusedNames;
enum class Rights : std::uint32_t;
namespace wire {
enum class ReleaseKind : std::uint8_t;
}

/// As in "a put", "an accumulate".
MPIX_ENGINE_API char const* name_of(OperationKind kind) noexcept;

/// A piece of memory that peers can reach as a segment.
struct SegmentInfo {
  RemoteAddress base;
  std::size_t length;  ///< bytes
};

class MPIX_ENGINE_API Engine : public mpix_engine {
 public:
  /// Of `config` everything is set (see mpix_engine_create). What the two point to stays valid.
  Engine(mpix_engine_config const& config, mpix_bootstrap const& bootstrap);
  ~Engine();
  Engine(Engine const&) = delete;
  Engine& operator=(Engine const&) = delete;

  /// Starts the agent and publishes the address. Called once, after construction.
  Status start();

  /// Whether it was made here, and not before this process was made by fork().
  bool is_of_this_process() const noexcept;
  std::uint64_t process() const noexcept;
  /// Whether what callers vouch for is to be verified.
  bool is_checking() const noexcept;

  /// The blob by which other processes find this one and are admitted to it: with its secret.
  std::span<std::byte const> address() const noexcept;

  /// The peer with identity `process`, made at first use; stays valid until release(). Local.
  /// nullptr when the bootstrap knows no address of it.
  Peer* peer(std::uint64_t process);
  /// The same of a process that the bootstrap does not know, with the address that it has made known
  /// elsewhere (Engine::address). nullptr: it is none.
  Peer* peer_at(std::span<std::byte const> address);
  /// Whoever has called these uses what they have returned no more. The engine forgets a peer that nobody
  /// uses once the process has ended.
  void release(Peer& peer);
  /// Ends the connection to a process that does not answer any more, as the caller has found out: operations
  /// on its memory fail from here on. Nothing where the process is no peer. Any thread.
  void lose(std::uint64_t process) noexcept;

  /// Starts an operation. Arrays and layouts that it refers to may be reused when it returns; the
  /// origin and result buffers when it is complete.
  Issued issue(Peer& peer, Transfer const& transfer);
  Issued issue(Peer& peer, Update const& update);

  /// Waits until every message up to `sequence` is executed at the target and its data has arrived,
  /// and makes earlier direct stores visible. Errors: see take_error.
  void complete(Peer& peer, std::uint64_t sequence);

  /// Waits until the origin and result buffers of every operation up to `sequence` may be reused: what is
  /// fetched has arrived, what is put has left. Atomic operations that fetch nothing are waited for until
  /// they are executed, nothing else is; what waits to be sent leaves as the target takes in what was sent
  /// before.
  void complete_local(Peer& peer, std::uint64_t sequence);

  /// Whether complete(peer, sequence) would return at once. Drives progress once.
  bool test(Peer& peer, std::uint64_t sequence);

  /// Every message up to `sequence`, and every store made so far, is visible at the target before any
  /// operation that is issued later. Does not wait; a later store may have to.
  void fence(Peer& peer, std::uint64_t sequence) noexcept;

  /// What `footprint` asks for of this process and of a peer whose stripes are at hand; not taken yet.
  Holds stripes_for(Peer const& peer, Footprint const& footprint) noexcept;

  /// Sequence of the newest message to `peer`; everything issued so far is covered by it.
  static std::uint64_t newest(Peer const& peer) noexcept;

  /// The first failure since the last call of an operation with mark `context` to `peer` that had no
  /// completion object; ok when there was none. `error`: that operation, for reason().
  Status take_error(Peer& peer, std::uint32_t context, LateError* error = nullptr);
  /// The same with the number of failures.
  LateErrors::Failures take_errors(Peer& peer, std::uint32_t context);
  /// Keeps a failure that its completion can tell nobody: the next take_error() for `context`, of any peer,
  /// tells it. Its rank is not LateError::of_peer. May be called by a completion.
  void keep_error(std::uint32_t context, LateError const& error) noexcept;
  /// Waits until everything that was issued is complete, and takes all failures that nobody has asked for.
  LateErrors::Failures complete_everything();

  /// The text for an operation on `memory` of `process` that has ended with `status`: how far the memory lies
  /// within an allocation. May ask the peer's agent, and waits for its answer: for who composes an error
  /// text, without locks. `memory` names no exposure.
  std::string reason(std::uint64_t process, Status status, TargetMemory const& memory);

  /// Waits until `done()` returns true, driving progress of the engine and of the host.
  template <typename Predicate>
  void wait_until(Predicate done) {
    if (done()) return;
    for (unsigned spins = 0; !done(); ++spins) wait_step(spins);
    leave();
  }

  /// The same for what messages from or to `peer` bring about: does not disturb threads that wait for others.
  template <typename Predicate>
  void wait_until(Peer& peer, Predicate done) {
    if (done()) return;
    for (unsigned spins = 0; !done(); ++spins) wait_step(peer, spins);
    leave();
  }

  /// Whether whoever waits should give its core away at once.
  bool yields_when_idle() const;

  /// Drives communication once. Returns the number of events.
  int progress();

  /// Memory that peers on this host reach by load and store. Aligned to at least 64 bytes. Local.
  /// bad_argument: no bytes, or an alignment that is not a power of two or beyond 1 GiB; out_of_memory: the
  /// machine has too little left.
  Status allocate(std::size_t bytes, AllocationHints const& hints, void** base);
  Status allocate(std::size_t bytes, void** base) { return allocate(bytes, {}, base); }
  /// Frees memory from allocate(), and ends registrations in it. Returns when no peer can reach it any more.
  /// bad_argument: not such.
  Status free(void* base);
  /// Whether free() would free `base`.
  bool is_allocated(void const* base) const;
  /// Registers memory, to be reached as fast as it can be. Registrations may overlap, of user memory they
  /// form one segment then; in memory from allocate() they stay within one allocation, and change nothing.
  /// bad_argument: empty, or reaches over the end of an allocation; bad_address: not mapped, or not readable;
  /// device_memory. Makes no pages.
  Status attach(void* base, std::size_t bytes);
  /// Ends the newest registration of `bytes` bytes at `base`; of any length with 0. Returns when no peer can
  /// reach the memory through it any more. bad_argument: there is none.
  Status detach(void* base, std::size_t bytes = 0);

  /// Lets peers do what `rights` say with memory, which is registered as by attach() until conceal(). The
  /// name is to be told to them. Memory that can only be read now is exposed for reading only, and a write to
  /// it is not_writable. Errors: as of attach(); bad_argument also for no rights; out_of_memory.
  Status expose(void* base, std::size_t bytes, Rights rights, ExposureId* id);
  /// Ends expose(). An operation that begins when it has returned finds the exposure stale; those that UCX
  /// puts and gets have ended. free() does it for all exposures in the memory. stale_exposure: there is none.
  Status conceal(ExposureId id);
  /// The same without the wait: whether it is over is what is_unreachable() says.
  Status start_conceal(ExposureId id, Concealed* left);
  bool is_unreachable(Concealed const& left);
  /// Keys that processes knew which have gone are taken back from all others, and are destroyed when these
  /// have answered; others get new keys when they ask. To be called now and then. Of engines with
  /// exposed_only.
  void renew_keys();
  /// For processes that want one name for what each of them exposes: a slot and a generation that are unused
  /// at all of them make one, for rename().
  UnusedNames unused_names() const;
  /// Gives another name to an exposure that nobody was told of. stale_exposure: there is none; bad_argument:
  /// the name may have been used.
  Status rename(ExposureId from, ExposureId to);
  /// What a peer on this host exposes, mapped here. stale_exposure: there is none of this name; unsupported:
  /// it cannot be reached by load and store.
  Status view(Peer& peer, ExposureId id, ExposedView* view);

  /// The segment of `peer` that holds `address`: bad_address when there is none. May ask the peer's agent.
  Status find_segment(Peer& peer, RemoteAddress address, SegmentInfo* info);

  /// Makes `count` locks of this process, all free, with consecutive numbers from `*first` on. Local.
  /// bad_argument: none; out_of_memory: there are too many.
  Status create_locks(std::uint32_t count, LockId* first);
  /// Ends locks of this process. Whoever waits for one is told Status::bad_argument, which is also the answer
  /// to later requests; who holds one has it no more. bad_argument: one does not exist, nothing is done.
  Status destroy_locks(LockId first, std::uint32_t count);

  /// Takes a lock of `peer` for an owner in this process, or a place in its queue: held when the call returns
  /// complete, or when `completion` is told Status::ok. Requests are served in the order in which they
  /// arrive, neighbours that share the lock together. A holder that ends loses it, one that waits loses its
  /// place. Does not wait; Engine::complete does not wait for locks either. By the call or by the completion:
  /// bad_argument: no such lock, or its owner holds it or waits for it already; busy: an attempt, and the
  /// lock is not free; transport, unreachable: the peer has ended.
  Issued lock(Peer& peer, LockRequest const& request);
  /// The same where both sides only exchange messages: what is issued to the peer from here on waits there
  /// until the lock is held, and the call and its caller do not. For processes whose other threads issue
  /// nothing: theirs would wait, too. request.attempt must be false; its completion is not used. A failure is
  /// told by take_error(peer, context). `with_next`: the request, and small operations behind it, leave with
  /// the release, or when anything is waited for or progress is driven. nullopt: not to be had so, or not
  /// now.
  std::optional<Issued> lock_in_stream(Peer& peer, LockRequest const& request, std::uint32_t context,
                                       bool with_next);
  /// Waits for the lock that a stream waits for, if any does. lock() and lock_in_stream() do so first, and so
  /// has who takes locks by shared_lock(): a process asks for one lock after the other, in the order of its
  /// calls.
  void settle_locks() {
    if (locking_.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
      wait_for_lock();
  }
  /// Gives a lock back. The next holder comes after everything that this process has issued to `peer` before,
  /// whatever path it takes; where such operations travel by another path than the message, and where a lock
  /// that was taken without messages protects some that are messages, the call waits for them. Complete when
  /// it returns; complete(peer, sequence) waits until it is executed. bad_argument: not held by `owner`, by
  /// the call or by take_error(peer, context).
  Issued unlock(Peer& peer, LockId lock, std::uint32_t owner, std::uint32_t context = 0);

  /// The lock where both processes have it in memory, for who takes it often: SharedLock::try_lock() with
  /// own_holder(), and leave(). lock() and unlock() do what these do not. nullptr: it is not to be had so.
  SharedLock* shared_lock(Peer& peer, LockId lock);
  /// Gives back `word`, which is shared_lock(peer, lock), without waiting for messages to the peer. nullopt:
  /// `holder` has not taken it there.
  std::optional<Issued> leave(Peer& peer, LockId lock, SharedLock& word, Holder holder,
                              std::uint32_t context) {
    auto const [outcome, tell] = word.unlock(holder);
    if (outcome != SharedLock::Outcome::done) return std::nullopt;
    if (!tell && !word.is_wanted()) [[likely]]
      return Issued{};
    return leave_to_others(peer, lock, word, holder, context, tell);
  }
  Holder own_holder(std::uint32_t owner) const noexcept;

  /// The clock of the locks of this process, which has heard those of others.
  LockClock& lock_clock() noexcept;
  /// That of a peer where it is at hand, as it is wherever shared_lock() is; else nullptr.
  LockClock* lock_clock(Peer& peer) noexcept;

  /// Tells `completion`, during progress, once the counter in this process has reached `threshold`.
  void watch(std::uint64_t const* counter, std::uint64_t threshold, Completion& completion);
  /// Tells `completion`, during progress or before the call returns, once complete(peer, sequence) would
  /// return, with what take_error(peer, context) would say then. `peer` stays in use until then.
  void watch(Peer& peer, std::uint64_t sequence, std::uint32_t context, Completion& completion) noexcept;
  /// The same, without failures, for complete_local(peer, sequence).
  void watch_local(Peer& peer, std::uint64_t sequence, Completion& completion) noexcept;
  /// The counters in [begin, end) go away: who waits for one is told Status::bad_address.
  void forget_counters(void const* begin, void const* end);

  /// Local pointer to the `bytes` bytes at `address` of `peer`, which is mapped if need be; nullptr when it
  /// cannot be reached by load and store. Good until the peer frees the memory.
  std::byte* map(Peer& peer, RemoteAddress address, std::size_t bytes);

  /// Unmaps regions of peers that their owners have given up. Local; called where a group frees memory.
  void drop_stale_mappings();

  /// Calls `body` while no thread of this process is in the middle of a message. What a process that is
  /// killed there leaves in UCX's shared memory keeps its receiver from all messages of its host: tests that
  /// end processes do so here.
  void between_messages(std::function<void()> const& body);

  Statistics statistics() const;
  /// What of it was with the process with this identity.
  Traffic traffic(std::uint64_t process) const;

  /// From here on every operation comes to issue(): Peer::reach finds nothing any more. Before the first
  /// operation; else some go on past it.
  void issue_all() noexcept;
  bool issues_all() const noexcept;

  /// From here on operations by load and store count in the traffic, too, for which all have to come to
  /// issue().
  void count_direct() noexcept;
  bool counts_direct() const noexcept;

 private:
  struct State;

  void wait_step(unsigned spins);
  void wait_step(Peer& peer, unsigned spins);
  void rest(unsigned spins) const;
  void leave();
  bool finished(Peer& peer, std::uint64_t sequence);
  bool finished_locally(Peer& peer, std::uint64_t sequence, std::uint64_t rdma);
  void watch_issued(Peer& peer, std::uint64_t sequence, bool local, std::uint32_t context,
                    Completion& completion) noexcept;
  void wait_for_held_stores(Peer& peer);
  void wait_for_puts_to_self();
  void wait_for_room(Peer& peer);
  void wait_for_lock();
  void wait_for_lock_in_stream(Peer& peer, Layout const& target, Guarantee guarantees);
  bool take_shortly(SharedLock& word, Holder holder, LockMode mode);
  /// The end of leave(), where somebody waits for the lock here or, `tell`, at the peer's agent.
  Issued leave_to_others(Peer& peer, LockId lock, SharedLock& word, Holder holder, std::uint32_t context,
                         bool tell);
  /// The peer's agent has to look who waits for the lock, which this owner has left.
  Issued tell_left(Peer& peer, LockId lock, std::uint32_t owner, std::uint32_t context);
  Issued send_release(Peer& peer, LockId lock, std::uint32_t owner, wire::ReleaseKind kind,
                      std::uint32_t context);
  template <typename Hold>
  void acquire(Hold& hold);
  Holds hold(Peer& peer, Footprint const& footprint);
  StripeHold hold_origin(Peer const& peer, Footprint const& footprint);
  Status try_to_allocate(std::size_t bytes, AllocationHints const& hints, void** base);
  Status look_at(void const* base, std::size_t bytes, MemoryRights* found) const;
  Status attach(void* base, std::size_t bytes, MemoryRights* found);
  std::byte* map_range(Peer& peer, RemoteAddress begin, std::size_t bytes, Status* refused);
  template <typename Operation>
  bool direct_piecewise(Peer& peer, Operation const& operation, Status* refused);
  template <typename Operation>
  void count(Peer& peer, Path path, Operation const& operation) noexcept;
  template <typename Operation>
  std::optional<Status> issue_direct(Peer& peer, Operation const& operation, RemoteAddress begin,
                                     std::size_t bytes);
  template <typename Operation>
  bool reaches_across(Peer& peer, Operation const& operation) noexcept;
  template <typename Operation>
  bool moves_across(Peer& peer, Operation const& operation) noexcept;
  template <typename Operation>
  bool needs_message(Peer& peer, Operation const& operation, RemoteAddress begin, std::size_t bytes);
  void wait_for_overlapping(Peer& peer, TargetAccess const& access);
  bool keeps_accesses(Peer& peer, Guarantee guarantees) const noexcept;
  Predecessors predecessors_of(Peer& peer, Guarantee guarantees, TargetAccess const& access);
  void note_access(Peer& peer, Guarantee guarantees, TargetAccess const& access, Path path,
                   Issued const& issued) const noexcept;
  template <typename Operation>
  std::optional<Status> issue_across(Peer& peer, Operation const& operation, bool held);
  template <typename Operation>
  std::optional<Status> issue_mail(Peer& peer, Operation const& operation, bool held, bool across,
                                   std::vector<DataRange>* left);
  template <typename Operation>
  Status issue_held(Peer& peer, Operation const& operation);
  template <typename Operation>
  Status issue_left(Peer& peer, Operation const& operation, Operation const& named, bool held,
                    std::span<DataRange const> left);
  template <typename Operation>
  Status resolve(Peer& peer, Operation* operation);
  template <typename Operation>
  Status look_again(Peer& peer, Operation const& named);
  template <typename Operation>
  std::optional<Status> issue_local(Peer& peer, Operation const& operation, Operation const& named);
  template <typename Operation>
  std::optional<Status> issue_here(Peer& peer, Operation const& operation);
  template <typename Operation>
  Issued issue_any(Peer& peer, Operation const& operation);
  template <typename Operation>
  Issued issue_message(Peer& peer, Operation const& operation);
  template <typename Done>
  Issued notify(Peer& peer, Done const& done);
  std::optional<Issued> issue_rdma(Peer& peer, Transfer const& transfer, std::uint64_t after,
                                   std::unique_lock<std::mutex>& held);
  std::optional<Issued> issue_rdma_at_exposure(Peer& peer, Transfer const& transfer, std::uint64_t after,
                                               std::unique_lock<std::mutex>& held);
  std::optional<Issued> issue_rdma_at_address(Peer& peer, Transfer const& transfer, std::uint64_t after,
                                              std::unique_lock<std::mutex>& held);
  static void wait_for_rdma(Peer& peer, std::uint64_t number, std::unique_lock<std::mutex>& held);
  template <typename Predicate>
  static void drive_until(Peer& peer, std::unique_lock<std::mutex>& held, Predicate done);
  static Status query(Peer& peer, RemoteAddress address, ExposureId exposure, SegmentInfo* info,
                      std::unique_lock<std::mutex>& held);
  Status start_detach(void const* base, std::size_t bytes, Concealed* left);
  void revoke(std::vector<OwnSegment> const& segments);
  void revoke(std::uint64_t number, RemoteAddress base);
  bool is_forgotten(std::uint64_t number);
  void wait_until_concealed(ExposureId id);
  bool is_forgotten(RemoteAddress begin, RemoteAddress end);
  void wait_until_forgotten(RemoteAddress begin, RemoteAddress end);

  // By the thread that has asked for it.
  std::atomic<Peer*> locking_{nullptr};  ///< to which a stream waits for a lock; may have got it
  std::uint64_t locking_at_ = 0;         ///< position of the stream
  std::unique_ptr<State> state_;
};

}  // namespace mpixrma::engine
