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
#include "mpi-windows/state/notification_counters.hpp"
#include "mpi-windows/state/own_memory.hpp"
#include "mpi-windows/state/processes.hpp"
#include "mpi-windows/state/rank_table.hpp"
#include "mpi-windows/state/recent_type.hpp"
#include "mpi-windows/state/store_fence.hpp"
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
  int ranks() const noexcept { return processes_.size; }
  RankEntry entry(int rank) const noexcept { return table_[rank]; }
  /// The number of the window in log messages.
  unsigned number() const noexcept { return context_ & INT32_MAX; }
  Hints& hints() noexcept { return hints_; }
  std::uint32_t context() const noexcept { return context_; }
  bool is_dynamic() const noexcept { return memory_.flavor == MPI_WIN_FLAVOR_DYNAMIC; }

  /// Records that an operation takes the general path to an open target, which may use stores.
  void note_use(Target& target) noexcept {
    stores_.note();
    targets_.note_recent(target);
  }

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
  /// The level of completion: at the origin or at the target.
  enum class Level : std::uint8_t { local, remote };
  int flush(int rank, Level level) {
    Target const& recent = targets_.recent(rank);
    if (recent.access.load(std::memory_order_relaxed) == Access::open && epoch_.is_passive() &&
        !recent.outstanding.is_set()) [[likely]] {
      if (level == Level::remote) stores_.complete();
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
    stores_.complete();
    return MPI_SUCCESS;
  }

 private:
  using Guard = std::lock_guard<Spinlock>;

  /// Returns nullptr if the rank is out of range or its process is unreachable.
  Target* target(int rank) {
    if (Target& recent = targets_.recent(rank); !TargetTable::is_nobody(recent)) return &recent;
    Target* const known = targets_.find(rank);
    if (known == nullptr) return make_target(rank);
    targets_.note_recent(*known);
    return known;
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

  int enter(Target& target, Permission* permission, bool* open);
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

 public:
  // Read by each operation.
  TargetTable targets_;
  RecentType recent_type_;
  StoreFence stores_;
  AccessEpoch epoch_;
  pid_t const pid_ = engine::own_process_id();

  engine::Engine& engine_;
  void* const handle_;
  Hints hints_;
  std::uint32_t const context_;  ///< identifies the window in the engine's late errors
  Processes processes_;

  ExposureEpoch exposure_epoch_;
  ControlMemory control_;
  std::atomic<std::size_t> joint_requests_{0};  ///< number of incomplete joint requests
  NotificationCounters counters_;

  std::unique_ptr<NamWindow> nam_;  ///< set if a memory server has the memory
  RankTable table_;
  OwnMemory memory_;
  OwnLock own_lock_;
  std::mutex creation_;  ///< protects creation of targets, and the attached memory
  std::unique_ptr<ColdState> const cold_;
};
static_assert(sizeof(Window) <= 1032);  // the largest block that glibc's malloc keeps at hand

}  // namespace mpixrma::windows
