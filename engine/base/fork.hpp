/// Handlers for children made by fork(). A child inherits the connections and the shared memory of the
/// process but must not use them.
#pragma once

#include "engine/base/visibility.h"

namespace mpixrma::engine {

/// Registers `handler`, which runs in every child before fork() returns there, on the child's only thread.
/// It must take no locks, because another thread may have held them at the fork. Not thread-safe: call this
/// function from initialisers of static objects only.
MPIX_ENGINE_API void call_in_children(void (*handler)() noexcept);

/// A registered handler of one module, which resets its state in a child.
class ChildHandler {
 public:
  explicit ChildHandler(void (*handler)() noexcept) { call_in_children(handler); }
};

}  // namespace mpixrma::engine
