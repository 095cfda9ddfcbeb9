/// Children of the process, made by fork(), inherit its connections and its shared memory: they must not
/// touch them.
#pragma once

#include "engine/base/visibility.h"

namespace mpixrma {

/// Has `in_child` called in every child before fork() returns there, on the one thread that the child has. It
/// takes no locks: other threads may have held any when the child was made. For initialisers of static
/// objects.
MPIX_ENGINE_API void call_in_children(void (*in_child)() noexcept);

/// One for each of those who have something to forget in a child.
class ChildHandler {
 public:
  explicit ChildHandler(void (*in_child)() noexcept) { call_in_children(in_child); }
};

}  // namespace mpixrma
