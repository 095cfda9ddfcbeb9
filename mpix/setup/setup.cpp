#include "mpix/runtime/runtime.hpp"

#include <atomic>
#include <mutex>

#include "datatype/datatype.hpp"
#include "datatype/handle.hpp"
#include "datatype/handle_cache.hpp"
#include "engine/base/fork.hpp"
#include "hosts/common/statistics_table.hpp"
#include "mpix/comm/collective.hpp"
#include "mpix/comm/communicator.hpp"
#include "mpix/comm/keyvals.hpp"
#include "mpix/completion/unreported_failures.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/xfer/call.hpp"
#include "mpix/xfer/target_cache.hpp"
#include "mpix/xfer/transfer.hpp"

namespace mpixrma {

constinit engine::Engine* runtime::process_engine = nullptr;

namespace {

std::mutex setup_lock;
std::atomic<bool> set_up{false};
std::atomic<bool> forked{false};
std::atomic<bool> ended{false};  // MPI_Finalize has completed the operations
RuntimeKeys runtime_keys;

#ifdef OPEN_MPI
// A linker extracts the constructor from an archive only if something refers to it.
[[gnu::used]] void (*const constructor)() = &make_component_known;
#endif

/// Resets the state in a child made by fork(): every later call reaches prepare(), which returns `forked`.
void become_child() noexcept {
  forked.store(true, std::memory_order_relaxed);
  set_up.store(false, std::memory_order_relaxed);
  runtime::process_engine = nullptr;
  Communicator::forget_known();
  end_datatypes();
  clear_thread_cache();
}
engine::ChildHandler const child_handler{&become_child};

/// MPI_Finalize deletes the attributes of MPI_COMM_SELF first, while all of MPI still works: the place to
/// complete outstanding operations, for programs in every language. Not every MPI deletes those of
/// MPI_COMM_WORLD, so that later calls would find its state in a cache.
int at_finalize(MPI_Comm, int, void*, void*) try {
  complete_and_raise_unreported();
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  print_statistics(word_of(MPI_COMM_WORLD), rank, size_of(MPI_COMM_WORLD));
  ended.store(true, std::memory_order_relaxed);
  set_up.store(false, std::memory_order_release);
  // Transfers by plans, too, then find that MPI has ended: their memory is unmapped.
  for_each_communicator([](Communicator& state) { state.outdate_attributes(); });
  Communicator::forget_known();
  end_datatypes();
  forget_handles();
  return MPI_SUCCESS;
} catch (...) {
  return code_of_exception();
}

int add_class(char const* text) {
  int code = MPI_ERR_OTHER;
  if (MPI_Add_error_class(&code) == MPI_SUCCESS) MPI_Add_error_string(code, text);
  return code;
}

/// Called even if the library did not start in the process, whose calls fail with one of these classes.
void add_classes() {
  if (runtime_keys.transport_class != MPI_ERR_OTHER) return;
  runtime_keys.address_class = add_class("MPIX_RMA: no accessible memory at the target address");
  runtime_keys.transport_class = add_class("MPIX_RMA: the target process cannot be reached");
  runtime_keys.notification_class = add_class("MPIX_RMA: there is no such notification counter");
}

void set_up_once() {
  runtime::process_engine = hosted_engine();
  int finalize_key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &at_finalize, &finalize_key, nullptr);
  PMPI_Comm_set_attr(MPI_COMM_SELF, finalize_key, nullptr);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &communicator_freed, &runtime_keys.communicator, nullptr);
  begin_datatypes(host().datatype_is_committed);
  create_keyvals();
  std::uint64_t fast_path_attributes =
      MPIX_RMA_ATTR_ORDERING | MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_REMOTE_COMPLETION;
  if (!engine_of_process().is_checking())
    fast_path_attributes |= MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE | MPIX_RMA_ATTR_TARGET_COMMUNICATABLE;
  slow_path_attributes = ~fast_path_attributes;
  (void)begin_statistics();
  add_classes();
}

}  // namespace

RuntimeKeys const& keys() noexcept { return runtime_keys; }

std::string why_no_engine() {
  if (mpix_host_can_open() != 0 && *mpix_host_unavailable_reason() == '\0')
    return "the engine is not open yet, because the library was loaded after MPI_Init; "
           "MPIX_RMA_Allocate and the creation of a window open it";
#ifdef OPEN_MPI
  if (mpix_host_is_public() == 0)
    return "Open MPI did not start the component osc/mpix in this process; " + why_no_component();
#endif
  std::string const reason = mpix_host_unavailable_reason();
  return "the library did not start in this process; " +
         (!reason.empty() ? reason
                          : "the library did not intercept MPI_Init: link the program with it directly, "
                            "before MPI");
}

bool is_forked() noexcept { return forked.load(std::memory_order_relaxed); }

bool is_prepared() noexcept { return set_up.load(std::memory_order_acquire); }

Readiness prepare() {
  if (set_up.load(std::memory_order_acquire)) return Readiness::ready;
  if (is_forked()) return Readiness::forked;
  int flag = 0;
  MPI_Initialized(&flag);
  if (flag == 0) return Readiness::not_initialised;
  MPI_Finalized(&flag);
  if (flag != 0 || ended.load(std::memory_order_relaxed)) return Readiness::finalised;
  std::lock_guard const held(setup_lock);
  if (hosted_engine() == nullptr) {
    add_classes();
    return Readiness::no_engine;
  }
  if (!set_up.load(std::memory_order_relaxed)) {
    set_up_once();
    set_up.store(true, std::memory_order_release);
  }
  return Readiness::ready;
}

void open_engine() {
  if (prepare() == Readiness::no_engine) (void)mpix_host_open();
}

}  // namespace mpixrma
