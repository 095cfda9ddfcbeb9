/// A window: its processes, their memory, and its open epochs.
///
/// All flavours work the same way: memory is exposed to other processes, which refer to it by exposure and
/// offset; memory of dynamic windows is referred to by its address.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/base/liveness.hpp"
#include "engine/op/joint_completion.hpp"
#include "engine/runtime/engine.hpp"
#include "engine/sync/held_locks.hpp"
#include "mpi-windows/nam/lock_wait.hpp"
#include "mpi-windows/nam/window.hpp"
#include "mpi-windows/state/cold_state.hpp"
#include "mpi-windows/state/control.hpp"
#include "mpi-windows/state/epoch.hpp"
#include "mpi-windows/state/error.hpp"
#include "mpi-windows/state/hints.hpp"
#include "mpi-windows/state/mpix_windows.h"
#include "mpi-windows/state/rank_table.hpp"
#include "mpi-windows/state/recent_type.hpp"
#include "mpi-windows/state/shared_places.hpp"
#include "mpi-windows/state/spinlock.hpp"
#include "mpi-windows/state/target.hpp"
#include "mpi-windows/state/target_table.hpp"

struct mpix_window {};

namespace mpixrma::windows {

class Window : public mpix_window {
 public:
  Window(engine::Engine& engine, MPI_Comm comm, Hints const& hints, void* handle);
  ~Window();
  Window(Window const&) = delete;
  Window& operator=(Window const&) = delete;

  /// Collective. After a failure the window can only be deleted.
  int open(MPI_Comm comm, mpix_window_memory& memory);
  /// As open(), for an existing window at a memory server: the one with the port name in the hints.
  int connect(MPI_Comm comm);
  /// Collective. Returns the first failure that was not reported. `*closed`: the window can only be deleted;
  /// otherwise an epoch is open.
  int close(bool* closed);
  /// Local. Ends epochs that the program has left open, so that other processes get the locks and close()
  /// succeeds.
  void end_epochs();

  engine::Engine& engine() const noexcept { return engine_; }
  void* handle() const noexcept { return handle_; }
  /// As osc_mpix_verbose.
  static int verbose;
  /// The locks that windows of this process hold.
  static engine::HeldLocks held_locks;
  int ranks() const noexcept { return size_; }
  RankEntry entry(int rank) const noexcept { return table_[rank]; }
  /// The number of the window in log messages.
  unsigned number() const noexcept { return context_ & INT32_MAX; }
  Hints& hints() noexcept { return hints_; }
  std::uint32_t context() const noexcept { return context_; }
  bool is_dynamic() const noexcept { return flavor_ == MPI_WIN_FLAVOR_DYNAMIC; }

  /// Returns the target for `rank` if an operation may access it at once; else nullptr, and begin_access()
  /// must be called.
  Target* open_target(int rank) const noexcept {
    Target* const known = targets_.find(rank);
    // Acquire: pairs with the release in begin_access(); the operation follows the stores that opened the
    // epoch.
    return known != nullptr && known->access.load(std::memory_order_acquire) == Access::open ? known
                                                                                             : nullptr;
  }
  /// Returns the target for `rank` if an operation of the epoch has accessed it; else nullptr.
  Target* used_target(int rank) const noexcept {
    Target* const known = targets_.find(rank);
    return known != nullptr && known->access.load(std::memory_order_acquire) >= Access::queued ? known
                                                                                               : nullptr;
  }
  /// Returns the target if it was used recently; else a target without accessible memory.
  Target& recent_target(int rank) const noexcept {
    // Acquire: pairs with the release in note_recent().
    Target* const recent =
        recent_[static_cast<unsigned>(rank) % recent_count].load(std::memory_order_acquire);
    return recent->rank == rank ? *recent : nobody;
  }
  /// Records that an operation takes the general path to an open target, which may use stores.
  void note_use(Target& target) noexcept {
    note_stores();
    note_recent(target);
  }
  /// Records stores that must become visible to other processes at the end of the operation.
  void note_stores() noexcept {
    if (!stored_.load(std::memory_order_relaxed)) stored_.store(true, std::memory_order_relaxed);
  }
  /// As Datatype::find_known.
  Datatype const* known_type(MPI_Datatype type) noexcept { return recent_type_.find(type); }
  pid_t pid() const noexcept { return pid_; }

  /// Opens the target at the first operation of an epoch. If its post or its lock has not arrived, the target
  /// is queued: operations must be enqueued. Local. Returns an error class.
  int begin_access(int rank, Target** target);
  /// Queues a call until the target is open, or issues it if it is. Returns an error code of the call.
  int enqueue(Target& target, std::unique_ptr<QueuedCall> call);
  /// Queues later calls on an open target while messages to it wait for a lock (Engine::lock_in_stream).
  void queue_behind_lock(Target& target);
  /// Issues the queued calls of all windows that may be issued. For threads without stripes. Returns how
  /// many.
  static int serve_queues();

  // Passive targets. lock(), unlock() and flush() apply told() to their result themselves: a caller that
  // composed the text would have to keep the rank in a register across each call.
  int lock(int type, int rank, int assertion);
  int unlock(int rank);
  int lock_all(int assertion);
  int unlock_all();
  bool is_passive() const noexcept { return windows::is_passive(epoch_.load(std::memory_order_relaxed)); }
  /// The level of completion: at the origin or at the target.
  enum class Level : std::uint8_t { local, remote };
  int flush(int rank, Level level) {
    Target const& recent = recent_target(rank);
    if (recent.access.load(std::memory_order_relaxed) == Access::open && is_passive() &&
        !recent.outstanding.is_set()) [[likely]] {
      if (level == Level::remote) settle();
      return MPI_SUCCESS;
    }
    return flush_any(rank, level);
  }
  int flush_all(Level level);
  /// Orders earlier operations before later ones.
  int order(int rank);
  int order_all();
  /// Flushes with a request, which do not wait.
  int iflush(int rank, Level level, MPI_Request* request);
  int iflush_all(Level level, MPI_Request* request);
  /// Starts the completion that flush_all() waits for, without waiting.
  int begin_flush_all();
  int sync();

  // Active targets.
  int fence(int assertion);
  int post(MPI_Group group, int assertion);
  int start(MPI_Group group, int assertion);
  int complete();
  int wait();
  int test(int* flag);

  // Notification.
  int set_counters(int count);
  CounterBounds counter_bounds() const noexcept;
  /// Determines the number of counters of a process. Returns an error class.
  int count_counters(int rank, int* count);
  /// Returns nullptr if the counter does not exist.
  std::uint64_t* counter(int index) const noexcept {
    return index >= 0 && index < own_count_ ? own_counters_ + index : nullptr;
  }
  /// Determines the address of a target's counter. Returns an error class.
  int find_counter(Target& target, int index, engine::RemoteAddress* address);
  /// Increments the counter when all operations issued to the target are complete.
  int notify_behind(Target& target, engine::RemoteAddress counter, MPI_Request* request);

  // Memory.
  /// Throws NamError.
  void persist();
  int shared_query(int rank, MPI_Aint* size, int* disp_unit, void** base);
  int attach(void* base, MPI_Aint size);
  int detach(void const* base);

  /// Number of incomplete joint requests.
  std::atomic<std::size_t>& joint_requests() noexcept { return joint_requests_; }
  /// Returns the error class of an operation's status.
  int class_of(engine::Status status) const noexcept;
  /// Returns an error code for a failed operation on memory of `target`, with a text that names it.
  int failure(Target const& target, engine::LateError const& error);
  int failure(Target const& target, engine::Status status, engine::RmaOp const& operation);
  /// Returns an error code for an operation outside of the memory of `target`.
  int outside(Target const& target, Subject const& subject) const;
  /// Returns the description of an operation at the target for its error text.
  Subject subject_of(Target const& target, engine::RmaOp const& operation) const noexcept;
  Subject subject_of(Target const& target, engine::LateError const& error) const noexcept;
  /// Returns the result of an MPI call: some classes get a text, and a line on stderr if the job aborts.
  int told(int error, char const* call, Subject const& subject = {}) {
    return error == MPI_SUCCESS ? MPI_SUCCESS : told_failure(error, call, subject);
  }
  /// As above, for a call with the argument `rank`.
  int told(int error, char const* call, int rank) {
    return error == MPI_SUCCESS ? MPI_SUCCESS : told_failure(error, call, rank);
  }
  /// Waits until all operations issued to `target` are complete there; returns the first failure.
  int complete(Target& target) {
    if (target.outstanding.is_set()) return complete_messages(target);
    settle();
    return MPI_SUCCESS;
  }

 private:
  using Guard = std::lock_guard<Spinlock>;

  /// Store fence: drains this processor's store buffer, so that all processes see the stores. Skipped if all
  /// stores were atomic instructions, which imply it. `stored_` stays set if other threads may have made
  /// stores, because theirs are not tracked.
  void settle() noexcept {
    if (!stored_.load(std::memory_order_relaxed)) {
      std::atomic_thread_fence(std::memory_order_acq_rel);
      return;
    }
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!threads_) stored_.store(false, std::memory_order_relaxed);
  }

  /// Returns nullptr if the rank is out of range or its process is unreachable.
  Target* target(int rank) {
    if (Target& recent = recent_target(rank); &recent != &nobody) return &recent;
    Target* const known = targets_.find(rank);
    if (known == nullptr) return make_target(rank);
    note_recent(*known);
    return known;
  }
  void note_recent(Target& target) noexcept {
    auto& recent = recent_[static_cast<unsigned>(target.rank) % recent_count];
    // Release: pairs with the acquire in recent_target().
    if (recent.load(std::memory_order_relaxed) != &target) recent.store(&target, std::memory_order_release);
  }
  Target* make_target(int rank);
  bool find_memory(Target& target);
  bool find_at_server(Target& target, std::vector<NamPiece> const& pieces);
  bool find_piece(Target& target, NamPiece const& piece);
  void release_memory(Target& target);
  void map_memory(Target& target);
  void say_path(Target const& target) const;
  __attribute__((cold)) int told_failure(int error, char const* call, Subject const& subject);
  __attribute__((cold, noinline)) int told_failure(int error, char const* call, int rank);
  char const* epoch_text() const noexcept;
  bool take_names(MPI_Comm comm, engine::UnusedNames unused, RankEntry& mine);
  int gather(MPI_Comm comm, RankEntry& mine);
  int make_control(RankEntry& mine);
  int make_memory(MPI_Comm comm, mpix_window_memory& memory, RankEntry& mine);
  bool find_shared(MPI_Comm comm, mpix_window_memory const& memory, RankEntry& mine);
  void note_shared(Target const& target, void const* local);
  int expose(void* base, std::size_t bytes, RankEntry& mine);
  int allocate(std::size_t bytes, void** base);
  bool shares_one_allocation() const noexcept;
  int allocate_for_all(MPI_Comm comm, mpix_window_memory& memory);
  int check_kinds() const;
  int allocate_at_server(MPI_Comm comm);
  template <typename Make>
  int share_nam(MPI_Comm comm, Make make);
  void release_nam() noexcept;
  int agree_on_sharing(MPI_Comm comm, int error);
  void share_table();
  void keep_table();
  void give_up_memory();
  int make_counters(int count, std::uint64_t** base);
  void take_counters(std::uint64_t* base, int count);
  int learn_counters(Target& target);
  void give_up_counters();

  /// The condition of the first operation of an epoch.
  enum class Permission : std::uint8_t { yes, post, lock };
  bool may_begin() const noexcept;
  void begin_epoch(Epoch epoch) noexcept;
  int permit(Target const& target, Permission* permission) const noexcept;
  int enter(Target& target, Permission* permission, bool* open);
  void note_open(Target& target);
  void note_closed(Target& target) noexcept;
  bool try_lock(Target& target, engine::LockMode mode, Lock held);
  int take_lock(Target& target, engine::LockMode mode, bool with_next);
  int wait_for_lock(Target& target, engine::LockMode mode, bool with_next);
  int request_lock(Target& target, engine::LockMode mode, bool with_next, Awaited* awaited);
  bool is_answered(Target& target, Awaited awaited);
  bool has_lock(Target& target);
  void request_nam_lock(Target& target);
  bool has_nam_lock(Target& target);
  void give_back_nam_lock(Target& target) noexcept;
  void describe_held(Target& target, engine::LockRequest* request);
  void note_granted(Target& target, engine::LockRequest const& request);
  bool may_leave(Target const& target) const noexcept;
  int give_back_lock(Target& target);
  int give_back_slowly(Target& target);
  void leave_lock(Target& target);
  std::vector<int> ranks_of(MPI_Group group) const;

  // Queues.
  static TargetQueue& queue_of(Target& target);
  void begin_queue(Target& target, Awaited awaited);
  static void leave_queue(Target& target);
  bool is_granted(Target& target);
  int serve(Target& target);
  int issue_queued(Target& target);
  static bool is_drained(Target const& target);
  int wait_for_queue(Target& target);
  int wait_for_queues();
  void abandon_queues();

  int begin_lock(int type, int rank, int assertion);
  int find_passive(int rank, Target** used) const noexcept;
  int flush_any(int rank, Level level);
  int order(Target& target);
  int order_now(Target& target);
  void watch(Target& target, Level level, engine::JointCompletion& joint, engine::Completion& completion);
  int iflush(std::span<Target* const> targets, Level level, MPI_Request* request);
  void end_joint_requests();
  int complete_messages(Target& target);
  int take_failures();
  int complete_parts(Target& target);
  int complete_locally(Target& target);
  int complete_all();
  int complete_opened();

  // Signals.
  void synchronise();
  template <typename Tell, typename Hear>
  void disseminate(Tell tell, Hear hear);
  void barrier();
  bool barrier_with(bool objection);
  int successor(std::int64_t distance) const noexcept { return static_cast<int>((rank_ + distance) % size_); }
  void find_successors();
  void signal(Target& target, std::size_t offset, engine::ElementType type);
  void object(Target& target, std::size_t offset);
  engine::RmaOp update_of(Target const& target, std::size_t offset, engine::ReduceOp reduce_op,
                          engine::ElementType type) const;
  int tell_completed(Target& target);
  bool has_post(Target& target) noexcept;
  bool has_post_shortly(Target& target);
  template <typename Predicate>
  bool comes_shortly(Predicate done);
  bool end_access(Target& target, int* error);
  template <typename Predicate>
  void await(Predicate done);
  Counter& own_counter(std::size_t offset) const noexcept {
    return *reinterpret_cast<Counter*>(control_ + offset);
  }

  static constexpr std::size_t recent_count = 16;
  static Target nobody;  ///< target without a rank

  // Read by each operation.
  std::atomic<Target*> recent_[recent_count];  ///< recently used ranks, by their lowest bits
  RecentType recent_type_;
  std::atomic<bool> stored_{true};         ///< there may be stores to settle()
  bool const threads_;                     ///< several threads may use the window at once
  std::atomic<Epoch> epoch_{Epoch::none};  ///< changed under the lock
  Spinlock spin_;
  pid_t const pid_ = engine::own_process_id();

  engine::Engine& engine_;
  void* handle_;
  Hints hints_;
  int flavor_ = 0;
  int rank_ = 0;
  int size_ = 0;
  std::uint32_t context_;  ///< identifies the window in the engine's late errors
  TargetTable targets_;

  bool fence_open_ = false;  ///< operations may follow the last fence
  bool unchecked_ = false;   ///< MPI_MODE_NOCHECK of the access epoch
  bool exposed_ = false;     ///< an exposure epoch is open
  std::vector<Target*> opened_;
  std::size_t locks_ = 0;
  std::vector<int> group_;  ///< group of the access epoch

  ControlLayout layout_{1};
  std::byte* control_ = nullptr;
  std::uint64_t barriers_ = 0;
  std::uint64_t completions_due_ = 0;

  std::atomic<std::size_t> joint_requests_{0};  ///< number of incomplete requests

  std::uint64_t* own_counters_ = nullptr;
  int own_count_ = 0;
  std::uint64_t counters_round_ = 0;  ///< number of calls of set_counters()

  std::unique_ptr<NamWindow> nam_;  ///< set if a memory server has the memory
  /// The connected processes: not null if they are not the targets.
  MPI_Comm origins_ = MPI_COMM_NULL;
  RankTable table_;
  MPI_Group members_ = MPI_GROUP_NULL;
  void* kept_table_ = nullptr;  ///< table of the host if this process stores it
  void* allocated_ = nullptr;   ///< window memory that this process has allocated
  std::byte* own_base_ = nullptr;
  SharedPlaces shared_;  ///< places whose address was returned to the program
  engine::ExposureId exposure_{};
  engine::LockId lock_id_ = 0;
  engine::Holder const holder_;  ///< owner of the locks that this process takes
  bool has_lock_ = false;
  std::mutex creation_;  ///< protects creation of targets, and the attached memory
  /// Whether this process may access memory of others by load and store.
  std::atomic<bool> shares_memory_{false};
  std::unique_ptr<ColdState> const cold_;
};
static_assert(sizeof(Window) <= 1032);  // the largest block that glibc's malloc keeps at hand

}  // namespace mpixrma::windows
