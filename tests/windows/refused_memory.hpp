/// Memory that this process does not get while a window is created. Include this header in one source of a
/// program: it replaces functions of the system.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <new>
#include <vector>

#include "tests/support/slowness.hpp"

namespace mpixrma::test {

/// The allocations of the component that are refused: its module, the state of the window, or its table of
/// ranks.
enum class Refused { nothing, module, window, table };

inline thread_local std::size_t table_bytes = 0;  ///< size of the table

/// The allocations that can be refused here. A sanitizer needs its own calloc. The table of a few ranks is as
/// large as other objects.
inline std::vector<Refused> refusable(int ranks) {
  std::vector<Refused> all = {Refused::window};
  if (!sanitized) all.push_back(Refused::module);
  if (ranks >= 16) all.push_back(Refused::table);
  constexpr std::size_t entry_bytes = 64;
  table_bytes = static_cast<std::size_t>(ranks) * entry_bytes;
  return all;
}

inline thread_local Refused refused = Refused::nothing;
inline thread_local int refusals = 0;  ///< number of allocations that were refused

inline bool is_in_component(void* caller) {
  Dl_info info{};
  return ::dladdr(caller, &info) != 0 && std::strstr(info.dli_fname, "osc_mpix") != nullptr;
}

/// Refuses memory to this process in its scope. Counts what was refused in `refusals`.
class RefusedScope {
 public:
  explicit RefusedScope(Refused what) noexcept { refused = what, refusals = 0; }
  RefusedScope(RefusedScope const&) = delete;
  RefusedScope& operator=(RefusedScope const&) = delete;
  ~RefusedScope() { refused = Refused::nothing; }
};

}  // namespace mpixrma::test

#ifndef MPIX_TEST_SANITIZED
extern "C" __attribute__((visibility("default"))) void* calloc(std::size_t count,
                                                               std::size_t bytes) noexcept {
  using namespace mpixrma::test;
  using Calloc = void* (*)(std::size_t, std::size_t);
  static std::atomic<Calloc> system{nullptr};
  Calloc allocate = system.load(std::memory_order_relaxed);
  if (allocate == nullptr) {
    allocate = reinterpret_cast<Calloc>(::dlsym(RTLD_NEXT, "calloc"));
    system.store(allocate, std::memory_order_relaxed);
  }
  if (refused == Refused::module && is_in_component(__builtin_return_address(0))) {
    ++refusals;
    return nullptr;
  }
  return allocate(count, bytes);
}
#endif

__attribute__((visibility("default"))) void* operator new(std::size_t bytes) {
  using namespace mpixrma::test;
  constexpr std::size_t least_of_window = 512;
  static auto* const system = reinterpret_cast<void* (*)(std::size_t)>(::dlsym(RTLD_NEXT, "_Znwm"));
  if ((refused == Refused::window && bytes >= least_of_window) ||
      (refused == Refused::table && bytes == table_bytes)) {
    ++refusals;
    throw std::bad_alloc();
  }
  return system(bytes);
}
