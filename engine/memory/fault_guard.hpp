/// Accesses to memory of this process that may be gone or protected: the process survives the fault.
///
/// A handler of SIGSEGV and SIGBUS, in place from the first guarded access on, returns to the guard when the
/// thread is in a guarded access and the fault lies in its range. All other faults go to the handler that was
/// there before. A handler that the program installs later and that calls this one is fine, with one argument
/// as well as with three.
///
/// A fault ends the process while the thread blocks these signals. So a guarded access needs a FaultScope.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

namespace mpixrma::engine {

struct FaultRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

/// From the first admit_faults() in the outermost scope of a thread to the end of that scope, the thread lets
/// SIGSEGV and SIGBUS through. Costs nothing before, and one system call then.
class FaultScope {
 public:
  FaultScope() noexcept;
  ~FaultScope();
  FaultScope(FaultScope const&) = delete;
  FaultScope& operator=(FaultScope const&) = delete;

  /// For a thread that never blocks these signals: it needs no scope.
  static void admit_always() noexcept;

 private:
  friend bool admit_faults() noexcept;
  friend bool are_faults_admitted() noexcept;
  [[gnu::cold]] void unblock() noexcept;

  bool outermost_;
  bool admits_ = false;
  bool blocks_segv_ = false;  ///< to be blocked again
  bool blocks_bus_ = false;
};

/// False: faults of this thread end the process, for want of a scope or of the handler.
bool admit_faults() noexcept;

/// Whether a fault of this thread would come through. In a scope without a system call.
bool are_faults_admitted() noexcept;

namespace detail {
/// False, with the place of the fault in `*fault`: the access faulted. Not as an optional: to put one
/// together in memory and to read it at once holds the processor up.
bool run_guarded(FaultRange range, void (*access)(void*), void* argument, std::uintptr_t* fault) noexcept;
}  // namespace detail

/// Calls access(). Returns the address in `range`, rounded to pages, at which it faulted, if it did: then it
/// ended there, without destructors, and its effects so far stay. The caller has called admit_faults().
template <typename Access>
std::optional<std::uintptr_t> run_guarded(FaultRange range, Access&& access) noexcept {
  using Callable = std::remove_reference_t<Access>;
  auto const call = [](void* argument) { (*static_cast<Callable*>(argument))(); };
  std::uintptr_t fault = 0;
  if (detail::run_guarded(range, call, std::addressof(access), &fault)) [[likely]]
    return std::nullopt;
  return fault;
}

}  // namespace mpixrma::engine
