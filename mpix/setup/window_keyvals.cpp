#include "mpix/setup/window_keyvals.hpp"

#include <array>
#include <atomic>
#include <cstddef>

#include "include/mpix_rma.h"
#include "mpix/error/error.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/nam/windows.hpp"
#include "mpix/window_calls/call.hpp"
#include "mpix/window_calls/notification_keys.hpp"

namespace mpixrma {

namespace {

struct WindowKey {
  std::string_view name;
  int (*keyval)();
};

constexpr WindowKey table[] = {{"MPIX_WIN_SIZES", [] { return window_keys().sizes; }},
                               {"MPIX_WIN_DISP_UNITS", [] { return window_keys().units; }},
                               {"MPIX_WIN_NOTIFICATION_NUM_SB", [] { return notification_keys().suggested; }},
                               {"MPIX_WIN_NOTIFICATION_NUM_UB", [] { return notification_keys().most; }},
                               {"MPIX_WIN_NOTIFICATION_VALUE_UB", [] { return notification_keys().value; }}};

/// A program knows only the keys that it has requested; 0: not requested, else the key plus 1. The keys are
/// created at the first request, so the functions in the table must not be called to compare keys.
std::array<std::atomic<int>, std::size(table)> requested{};

/// Returns nullptr if the library does not own the key.
char const* owned_key(int keyval) noexcept {
  if (keyval == MPI_KEYVAL_INVALID) return nullptr;
  for (std::size_t i = 0; i < std::size(table); ++i)
    if (requested[i].load(std::memory_order_acquire) == keyval + 1) return table[i].name.data();
  return nullptr;
}

Failure belongs_to_library(char const* name) {
  return failure(MPI_ERR_KEYVAL, "the key and the attribute %s belong to the library", name);
}

}  // namespace

int window_keyval_of(std::string_view name) {
  for (std::size_t i = 0; i < std::size(table); ++i) {
    if (table[i].name != name) continue;
    int const keyval = table[i].keyval();
    if (keyval != MPI_KEYVAL_INVALID) requested[i].store(keyval + 1, std::memory_order_release);
    return keyval;
  }
  return MPI_KEYVAL_INVALID;
}

}  // namespace mpixrma

using namespace mpixrma;

extern "C" MPIX_RMA_API int MPI_Win_free_keyval(int* keyval) try {
  char const* const name = keyval != nullptr ? owned_key(*keyval) : nullptr;
  if (name == nullptr) return PMPI_Win_free_keyval(keyval);
  return raise({"MPI_Win_free_keyval"}, belongs_to_library(name));
} catch (...) {
  return raise_exception(nullptr);
}

extern "C" MPIX_RMA_API int MPI_Win_set_attr(MPI_Win win, int keyval, void* value) try {
  char const* const name = win != MPI_WIN_NULL ? owned_key(keyval) : nullptr;
  if (name == nullptr) return PMPI_Win_set_attr(win, keyval, value);
  return raise_on("MPI_Win_set_attr", win, belongs_to_library(name));
} catch (...) {
  return raise_exception(nullptr);
}

extern "C" MPIX_RMA_API int MPI_Win_delete_attr(MPI_Win win, int keyval) try {
  char const* const name = win != MPI_WIN_NULL ? owned_key(keyval) : nullptr;
  if (name == nullptr) return PMPI_Win_delete_attr(win, keyval);
  return raise_on("MPI_Win_delete_attr", win, belongs_to_library(name));
} catch (...) {
  return raise_exception(nullptr);
}
