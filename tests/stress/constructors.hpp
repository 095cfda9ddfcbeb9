/// MPI's datatype constructors, each with the definition of its typemap beside it.
#pragma once

#include <vector>

#include "tests/stress/shapes.hpp"

namespace mpixrma::stress {

/// A new, uncommitted datatype by a random constructor over `old`; type, base and pieces are set. Where all
/// elements are of one type that computes, they stand at multiples of its size. `others`: what else a struct
/// may hold.
Shape construct(Random& random, Shape const& old, std::vector<Shape const*> const& others);

}  // namespace mpixrma::stress
