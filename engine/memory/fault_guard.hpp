/// Accesses to memory of this process that may be unmapped or protected: the process survives the fault.
///
/// A handler of SIGSEGV and SIGBUS, installed before the first guarded access, returns to the guard if the
/// thread is in a guarded access and the fault lies in the access's range. All other faults are passed to the
/// previous handler. The program may later install a handler that calls this one, with one argument or with
/// three.
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

/// From the first admit_faults() in the outermost scope of a thread to the end of that scope, SIGSEGV and
/// SIGBUS are unblocked in the thread. Costs nothing before, then one system call, and another one at the end
/// if the thread had blocked them. Needs no system call if the previous scope left the signals unblocked and
/// ended so recently that the thread cannot have blocked them since.
class alignas(std::uintptr_t) FaultScope {
 public:
  FaultScope() noexcept;
  ~FaultScope();
  FaultScope(FaultScope const&) = delete;
  FaultScope& operator=(FaultScope const&) = delete;

  /// For a thread that never blocks these signals and so needs no scope.
  static void admit_always() noexcept;

 private:
  friend bool admit_faults() noexcept;
  friend bool are_faults_admitted() noexcept;
  [[gnu::cold]] void unblock() noexcept;

  bool outermost_;
  bool admits_ = false;
  bool blocks_segv_ = false;  ///< must be blocked again
  bool blocks_bus_ = false;
};

/// Returns false if a fault of this thread may end the process, because the scope or the handler is missing.
bool admit_faults() noexcept;

/// Whether a fault of this thread would reach the handler. Needs no system call once admit_faults() has
/// succeeded in the scope.
bool are_faults_admitted() noexcept;

namespace detail {
/// Returns false if the access faulted, with the address of the fault in `*fault`. Does not return an
/// optional: storing one and loading it at once would stall the processor.
bool run_guarded(FaultRange range, void (*access)(void*), void* argument, std::uintptr_t* fault) noexcept;
}  // namespace detail

/// Calls access(). If it faults in a page of `range`, returns the address of the fault; the access has then
/// ended there, without destructors, and its effects so far remain. The thread's faults must be admitted.
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
