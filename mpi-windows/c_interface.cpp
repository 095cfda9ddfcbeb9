/// The C interface except for communication, notification and memory servers.
#include <memory>
#include <mutex>

#include "datatype/datatype.hpp"
#include "datatype/handle.hpp"
#include "engine/base/log.hpp"
#include "hosts/common/hosted.hpp"
#include "hosts/common/statistics_table.hpp"
#include "mpi-windows/creation/creation.hpp"
#include "mpi-windows/creation/own_memory.hpp"
#include "mpi-windows/creation/rank_exchange.hpp"
#include "mpi-windows/creation/served_window.hpp"
#include "mpi-windows/epochs/active.hpp"
#include "mpi-windows/epochs/flush.hpp"
#include "mpi-windows/epochs/passive.hpp"
#include "mpi-windows/epochs/queue.hpp"
#include "mpi-windows/state/failure.hpp"
#include "mpi-windows/state/unreported_failures.hpp"

namespace mpixrma::windows {

namespace {

Window& of(mpix_window_t* handle) noexcept { return *static_cast<Window*>(handle); }

/// MPI_Finalize deletes the attributes of MPI_COMM_SELF first.
int at_finalize(MPI_Comm, int, void* counts, void*) noexcept try {
  print_unreported();
  if (counts == nullptr) return MPI_SUCCESS;
  int rank = 0;
  int size = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  print_statistics(word_of(MPI_COMM_WORLD), rank, size);
  return MPI_SUCCESS;
} catch (...) {
  return class_of_exception();
}

/// Makes MPI_Finalize call at_finalize(), also in programs that are not linked with libmpix_rma. Programs
/// that use only sessions have no MPI_COMM_SELF.
void prepare_finalize() {
  static char counts = 0;
  int has_world = 0;
  PMPI_Initialized(&has_world);
  if (has_world == 0) return;
  int key = MPI_KEYVAL_INVALID;
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &at_finalize, &key, nullptr);
  PMPI_Comm_set_attr(MPI_COMM_SELF, key, begin_statistics() ? &counts : nullptr);
}

std::mutex preparing;
bool is_prepared = false;

void prepare() {
  std::lock_guard const held(preparing);
  if (is_prepared) return;
  begin_datatypes(mpix_host_operations()->datatype_is_committed);
  prepare_finalize();
  is_prepared = true;
}

/// Returns nullptr if this process has no memory for the window.
std::unique_ptr<Window> make_window(MPI_Comm comm, mpix_window_hint const* hints, void* handle) noexcept try {
  prepare();
  return std::make_unique<Window>(*mpixrma::hosted_engine(), comm, Hints(hints), handle);
} catch (...) {
  return nullptr;
}

/// Collective with open_window(), or connect_window(), of the other processes.
int refuse_window(MPI_Comm comm, bool connects) {
  return connects ? fail_to_connect(comm, MPI_ERR_NO_MEM) : gather_failure(comm, MPI_ERR_NO_MEM);
}

/// Returns the result of a call on the window, with exceptions converted to error classes.
template <typename Call>
int on(mpix_window_t* handle, Call call) noexcept {
  try {
    return call(of(handle));
  } catch (...) {
    return class_of_exception();
  }
}

/// The name of a call in error texts, and its rank argument.
struct CallName {
  char const* name;
  int rank = -1;
  constexpr CallName(char const* called, int target = -1) noexcept : name(called), rank(target) {}
};
constexpr CallName rank_call(char const* name, int rank) noexcept { return {name, rank}; }

/// As the other on(), with error texts.
template <typename Call>
int on(mpix_window_t* handle, CallName name, Call call) noexcept {
  int const error = on(handle, call);
  if (error == MPI_SUCCESS) [[likely]]
    return MPI_SUCCESS;
  return on(handle, [&](Window& open) { return report(open, error, name.name, {{}, name.rank, 0, 0}); });
}

}  // namespace
}  // namespace mpixrma::windows

using namespace mpixrma::windows;

int mpix_windows_progress(void) try { return serve_queues(); } catch (...) {
  return 0;
}
void mpix_windows_set_verbose(int level) { Window::verbose = level; }

void mpix_windows_end(void) {
  std::lock_guard const held(preparing);
  mpixrma::end_datatypes();
  is_prepared = false;
}
int mpix_windows_set_order(const char* order) {
  auto const parsed = Hints::parse_order(order);
  if (!parsed) return MPI_ERR_ARG;
  Hints::set_default_order(*parsed);
  return MPI_SUCCESS;
}

int mpix_window_create(MPI_Comm comm, struct mpix_window_memory* memory, const struct mpix_window_hint* hints,
                       void* handle, mpix_window_t** window) try {
  newest_refusal() = {};
  bool const connects = memory->flavor == MPI_WIN_FLAVOR_DYNAMIC && Hints::contain_port(hints);
  auto made = window != nullptr ? make_window(comm, hints, handle) : nullptr;
  int const error = made == nullptr ? refuse_window(comm, connects)
                    : connects      ? connect_window(*made, comm)
                                    : open_window(*made, comm, *memory);
  mpixrma::engine::Log const log(Window::verbose, mpixrma::hosted_engine()->process());
  if (error != MPI_SUCCESS) {
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    std::string const& why = newest_refusal().text;
    if (rank == 0 && !why.empty())
      log.write(mpixrma::engine::LogLevel::error, "cannot create the window: %s", why.c_str());
    return error;
  }
  log.write(mpixrma::engine::LogLevel::life, "window %u: flavour %d, %lld bytes here", made->number(),
            memory->flavor, static_cast<long long>(memory->size));
  *window = made.release();
  return MPI_SUCCESS;
} catch (...) {
  return class_of_exception();
}

int mpix_window_free(mpix_window_t* window, int* is_gone) {
  bool closed = false;
  int const error = on(window, "MPI_Win_free", [&](Window& open) { return close_window(open, &closed); });
  if (closed) delete &of(window);
  *is_gone = closed ? 1 : 0;
  return error;
}

void mpix_window_end_epochs(mpix_window_t* window) {
  (void)on(window, [](Window& open) {
    end_epochs(open);
    return MPI_SUCCESS;
  });
}

const char* mpix_window_set_hint(mpix_window_t* window, const char* key, const char* value) try {
  return of(window).hints.set(key, value, of(window).memory.flavor);
} catch (...) {
  return nullptr;
}

uint64_t mpix_window_table_bytes(void) { return RankTable::kept_bytes(); }

int mpix_window_refusal(const char** text) {
  *text = newest_refusal().text.c_str();
  return newest_refusal().error_class;
}
int mpix_window_refuse(int error_class, const char* text) try {
  return refuse(error_class, text);
} catch (...) {
  return class_of_exception();
}

int mpix_window_ranks(const mpix_window_t* window) {
  return static_cast<Window const*>(window)->processes.size;
}
int mpix_window_region(const mpix_window_t* window, int rank, MPI_Aint* size, int* disp_unit) {
  Window const& open = *static_cast<Window const*>(window);
  if (open.is_dynamic()) return MPI_ERR_RMA_FLAVOR;
  if (!open.processes.contains(rank)) return MPI_ERR_RANK;
  *size = static_cast<MPI_Aint>(open.table[rank].size);
  *disp_unit = open.table[rank].disp_unit;
  return MPI_SUCCESS;
}

int mpix_window_shared_query(mpix_window_t* window, int rank, MPI_Aint* size, int* disp_unit, void** base) {
  return on(window, [&](Window& open) { return shared_query(open, rank, size, disp_unit, base); });
}
int mpix_window_attach(mpix_window_t* window, void* base, MPI_Aint size) {
  return on(window, "MPI_Win_attach", [&](Window& open) { return attach(open, base, size); });
}
int mpix_window_detach(mpix_window_t* window, const void* base) {
  return on(window, "MPI_Win_detach", [&](Window& open) { return detach(open, base); });
}

int mpix_window_fence(mpix_window_t* window, int assertion) {
  return on(window, "MPI_Win_fence", [&](Window& open) { return fence(open, assertion); });
}
int mpix_window_post(mpix_window_t* window, MPI_Group group, int assertion) {
  return on(window, "MPI_Win_post", [&](Window& open) { return post_exposure(open, group, assertion); });
}
int mpix_window_start(mpix_window_t* window, MPI_Group group, int assertion) {
  return on(window, "MPI_Win_start", [&](Window& open) { return start_epoch(open, group, assertion); });
}
int mpix_window_complete(mpix_window_t* window) {
  return on(window, "MPI_Win_complete", [](Window& open) { return complete_epoch(open); });
}
int mpix_window_wait(mpix_window_t* window) {
  return on(window, "MPI_Win_wait", [](Window& open) { return wait_exposure(open); });
}
int mpix_window_test(mpix_window_t* window, int* flag) {
  return on(window, "MPI_Win_test", [&](Window& open) { return test_exposure(open, flag); });
}
int mpix_window_lock(mpix_window_t* window, int type, int rank, int assertion) {
  return lock_target(of(window), type, rank, assertion);
}
int mpix_window_unlock(mpix_window_t* window, int rank) { return unlock_target(of(window), rank); }
int mpix_window_lock_all(mpix_window_t* window, int assertion) {
  return on(window, "MPI_Win_lock_all", [&](Window& open) { return lock_all(open, assertion); });
}
int mpix_window_unlock_all(mpix_window_t* window) {
  return on(window, "MPI_Win_unlock_all", [](Window& open) { return unlock_all(open); });
}
int mpix_window_sync(mpix_window_t* window) {
  return on(window, [](Window& open) { return sync(open); });
}
int mpix_window_flush(mpix_window_t* window, int rank) {
  return on(window, [&](Window& open) { return flush(open, rank, Level::remote, "MPI_Win_flush"); });
}
int mpix_window_flush_all(mpix_window_t* window) {
  return on(window, "MPI_Win_flush_all", [](Window& open) { return flush_all(open, Level::remote); });
}
int mpix_window_flush_local(mpix_window_t* window, int rank) {
  return on(window, [&](Window& open) { return flush(open, rank, Level::local, "MPI_Win_flush_local"); });
}
int mpix_window_flush_local_all(mpix_window_t* window) {
  return on(window, "MPI_Win_flush_local_all", [](Window& open) { return flush_all(open, Level::local); });
}
int mpix_window_flush_thread(mpix_window_t* window, int rank) {
  return on(window, [&](Window& open) { return flush(open, rank, Level::remote, "MPIX_Win_flush_thread"); });
}
int mpix_window_flush_thread_all(mpix_window_t* window) {
  return on(window, "MPIX_Win_flush_thread_all", [](Window& open) { return flush_all(open, Level::remote); });
}
int mpix_window_order(mpix_window_t* window, int rank) {
  return on(window, rank_call("MPIX_Win_order", rank), [&](Window& open) { return order(open, rank); });
}
int mpix_window_order_all(mpix_window_t* window) {
  return on(window, "MPIX_Win_order_all", [](Window& open) { return order_all(open); });
}
int mpix_window_begin_flush_all(mpix_window_t* window) {
  return on(window, "MPIX_Win_flush_windows", [](Window& open) { return begin_flush_all(open); });
}
int mpix_window_end_flush_all(mpix_window_t* window) {
  return on(window, "MPIX_Win_flush_windows", [](Window& open) { return flush_all(open, Level::remote); });
}
int mpix_window_iflush(mpix_window_t* window, int rank, MPI_Request* request) {
  return on(window, rank_call("MPIX_Win_iflush", rank),
            [&](Window& open) { return iflush(open, rank, Level::remote, request); });
}
int mpix_window_iflush_all(mpix_window_t* window, MPI_Request* request) {
  return on(window, "MPIX_Win_iflush_all",
            [&](Window& open) { return iflush_all(open, Level::remote, request); });
}
int mpix_window_iflush_local(mpix_window_t* window, int rank, MPI_Request* request) {
  return on(window, rank_call("MPIX_Win_iflush_local", rank),
            [&](Window& open) { return iflush(open, rank, Level::local, request); });
}
int mpix_window_iflush_local_all(mpix_window_t* window, MPI_Request* request) {
  return on(window, "MPIX_Win_iflush_local_all",
            [&](Window& open) { return iflush_all(open, Level::local, request); });
}
