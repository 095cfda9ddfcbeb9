/// Handlers for children made by fork(). A child inherits the connections and the shared memory of the
/// process but must not use them.
#pragma once

#include "engine/base/visibility.h"

namespace mpixrma {

/// Registers `in_child`, which runs in every child before fork() returns there, on the child's only thread.
/// It must take no locks, which other threads may have held at the fork. For initialisers of static objects.
MPIX_ENGINE_API void call_in_children(void (*in_child)() noexcept);

/// A registered handler of one module, which resets its state in a child.
class ChildHandler {
 public:
  explicit ChildHandler(void (*in_child)() noexcept) { call_in_children(in_child); }
};

}  // namespace mpixrma
