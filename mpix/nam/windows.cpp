#include "mpix/nam/windows.hpp"

#include <cstdint>
#include <memory>
#include <mutex>

#include "datatype/handle.hpp"
#include "include/mpix_rma.h"
#include "mpix/comm/collective.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/runtime/profiling.hpp"
#include "mpix/runtime/runtime.hpp"

MPIX_PROFILED(MPIX_Win_allocate_nam)
MPIX_PROFILED(MPIX_Win_persist)
MPIX_PROFILED(MPIX_Win_query)

namespace mpixrma {

namespace {

template <typename Value>
int forget_array(MPI_Win, int, void* value, void*) {
  delete[] static_cast<Value*>(value);
  return MPI_SUCCESS;
}

void set_attributes(MPI_Win win) {
  int const ranks = host().window_targets(word_of(win));
  if (ranks < 0) return;
  auto sizes = std::make_unique<MPI_Aint[]>(static_cast<std::size_t>(ranks));
  auto units = std::make_unique<int[]>(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    std::int64_t bytes = 0;
    (void)host().window_region(word_of(win), rank, &bytes, &units[static_cast<std::size_t>(rank)]);
    sizes[static_cast<std::size_t>(rank)] = static_cast<MPI_Aint>(bytes);
  }
  PMPI_Win_set_attr(win, window_keys().sizes, sizes.release());
  PMPI_Win_set_attr(win, window_keys().units, units.release());
}

Failure check_region(MPI_Aint size, int disp_unit) {
  if (size < 0) return failure(MPI_ERR_SIZE, "size %lld is negative", static_cast<long long>(size));
  if (disp_unit <= 0) return failure(MPI_ERR_DISP, "disp_unit %d is not positive", disp_unit);
  return {};
}

/// Returns why a call cannot use the window, which has no memory of ranks that this library knows.
Failure foreign_window(MPI_Win win) {
  if (win == MPI_WIN_NULL) return failure(MPI_ERR_WIN, "win is MPI_WIN_NULL");
  return failure(MPI_ERR_WIN, "the window does not belong to this library");
}

/// Invokes the error handler of the window and returns the code.
int raise_on(MPI_Win win, char const* call, Failure const& failure) {
  int const code = make_code(call, failure);
  PMPI_Win_call_errhandler(win, code);
  return code;
}

/// Creates a window by `make`. On failure raises the component's specific error, because Open MPI reports the
/// same error for every failed window creation.
template <typename Make>
int make_window(Site const& site, MPI_Win* win, Make make) {
  int code = MPI_SUCCESS;
  {
    ReturnedErrors const returned(site.comm);
    code = make();
  }
  if (code == MPI_SUCCESS) {
    set_attributes(*win);
    return MPI_SUCCESS;
  }
  int error_class = MPI_ERR_OTHER;
  PMPI_Error_class(code, &error_class);
  return raise(site, newest_refusal(error_class));
}

}  // namespace

WindowKeys const& window_keys() {
  static WindowKeys made;
  static std::once_flag once;
  std::call_once(once, [] {
    PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, &forget_array<MPI_Aint>, &made.sizes, nullptr);
    PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, &forget_array<int>, &made.units, nullptr);
  });
  return made;
}

bool provides_windows() noexcept {
  mpix_host_ops const* const ops = mpix_host_operations();
  return ops != nullptr && ops->nam_ranks != nullptr;
}

bool can_create_windows() {
  open_engine();
  return prepare() == Readiness::ready && provides_windows();
}

int raise_without_windows(Site const& site) {
  if (prepare() != Readiness::ready) return raise_unusable(site.call, &site.comm);
  return raise(site, MPI_ERR_UNSUPPORTED_OPERATION, "the library does not provide windows with this MPI");
}

bool is_mpi_active() {
  Readiness const now = prepare();
  return now == Readiness::ready || now == Readiness::no_engine;
}

std::string value_of(MPI_Info info, char const* key) {
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int found = 0;
  if (info != MPI_INFO_NULL) PMPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
  return found != 0 ? value : "";
}

bool is_true(MPI_Info info, char const* key) {
  std::string const value = value_of(info, key);
  return value == "true" || value == "yes" || value == "1";
}

Failure newest_refusal(int error_class) {
  char const* text = "";
  int const refused = host().window_refusal(&text);
  return failure(refused != MPI_SUCCESS ? refused : error_class, "%s",
                 *text != '\0' ? text : "the window cannot be created");
}

int allocate_nam(Site const& site, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Win* win) {
  void* none = nullptr;
  return make_window(site, win,
                     [&] { return PMPI_Win_allocate(size, disp_unit, info, site.comm, &none, win); });
}

int connect_nam(Site const& site, MPI_Info info, NamPort const& port, MPI_Win* win) {
  InfoCopy keys(info);
  keys.set("deep_win_port_name", port.name.c_str());
  if (port.follow) keys.set("mpix_nam_follow", "true");
  if (port.encrypt) keys.set("mpix_nam_encrypt", "true");
  return make_window(site, win, [&] { return PMPI_Win_create_dynamic(keys.get(), site.comm, win); });
}

}  // namespace mpixrma

using namespace mpixrma;

extern "C" MPIX_RMA_API int MPI_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                                             void* baseptr, MPI_Win* win) try {
  // Any value: window creation reports an unknown one, at all processes.
  bool const is_nam = !value_of(info, "deep_mem_kind").empty();
  if (!is_nam || comm == MPI_COMM_NULL || win == nullptr)
    return PMPI_Win_allocate(size, disp_unit, info, comm, baseptr, win);
  if (!can_create_windows()) return raise_without_windows({"MPI_Win_allocate", comm});
  int const code = allocate_nam({"MPI_Win_allocate", comm}, size, disp_unit, info, win);
  if (code == MPI_SUCCESS && baseptr != nullptr) *static_cast<void**>(baseptr) = nullptr;
  return code;
} catch (...) {
  return raise_exception(&comm);
}

int MPIX_Win_allocate_nam(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win* win) try {
  char const* const call = "MPIX_Win_allocate_nam";
  if (comm == MPI_COMM_NULL) return raise_unusable(call, &comm);
  bool const able = can_create_windows();
  if (!is_mpi_active()) return raise_unusable(call, &comm);
  // All processes check together, because MPI would reject an argument only at the process that passes it.
  Failure wrong = check_region(size, disp_unit);
  if (win == nullptr) wrong = failure(MPI_ERR_ARG, "win is a null pointer");
  if (!able) wrong.error_class = no_engine_class;
  if (Verdict const verdict = agree_on_class(comm, wrong.error_class); verdict.error_class != MPI_SUCCESS)
    return able ? raise_agreed({call, comm}, wrong, verdict) : raise_without_windows({call, comm});
  InfoCopy keys(info);
  if (value_of(keys.get(), "deep_mem_kind").empty()) keys.set("deep_mem_kind", "deep_nam");
  return allocate_nam({call, comm}, size, disp_unit, keys.get(), win);
} catch (...) {
  return raise_exception(&comm);
}

int MPIX_Win_persist(MPI_Win win) try {
  char const* const call = "MPIX_Win_persist";
  if (prepare() != Readiness::ready) return raise_unusable(call, nullptr);
  bool const is_own = win != MPI_WIN_NULL && provides_windows() && host().window_targets(word_of(win)) >= 0;
  if (!is_own) return raise({call}, foreign_window(win));
  int const error_class = host().window_persist(word_of(win));
  return error_class == MPI_SUCCESS ? MPI_SUCCESS : raise_on(win, call, newest_refusal(error_class));
} catch (...) {
  return raise_exception(nullptr);
}

int MPIX_Win_query(MPI_Win win, int rank, MPI_Aint* size, int* disp_unit) try {
  char const* const call = "MPIX_Win_query";
  if (prepare() != Readiness::ready) return raise_unusable(call, nullptr);
  if (size == nullptr || disp_unit == nullptr)
    return raise({call}, MPI_ERR_ARG, "%s is a null pointer", size == nullptr ? "size" : "disp_unit");
  int const ranks = win == MPI_WIN_NULL || !provides_windows() ? -1 : host().window_targets(word_of(win));
  if (ranks < 0) return raise({call}, foreign_window(win));
  std::int64_t bytes = 0;
  int const error_class = host().window_region(word_of(win), rank, &bytes, disp_unit);
  if (error_class == MPI_SUCCESS) {
    *size = static_cast<MPI_Aint>(bytes);
    return MPI_SUCCESS;
  }
  if (error_class == MPI_ERR_RANK)
    return raise_on(win, call,
                    failure(error_class, "rank %d is not one of the window's %d ranks", rank, ranks));
  return raise_on(win, call, failure(error_class, "the window is dynamic: its ranks have no size or unit"));
} catch (...) {
  return raise_exception(nullptr);
}
