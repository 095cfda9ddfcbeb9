/// MPI's datatype constructors, each with an independent definition of its type map.
#pragma once

#include <vector>

#include "tests/stress/shapes.hpp"

namespace mpixrma::stress {

/// Makes an uncommitted datatype by a random constructor over `old`, and sets type, base and pieces. If all
/// elements are of one type that has a zone of its own, their displacements are multiples of the type's size.
/// `others` are further members of a struct.
Shape construct(Random& random, Shape const& old, std::vector<Shape const*> const& others);

}  // namespace mpixrma::stress
