/// Communicatable memory.
#pragma once

#include "python.hpp"

namespace mpixrma::python {

/// The type Block: memory with a buffer, which counts the arrays that use it.
py::object make_block_type();

void define_memory(py::module_& module);

}  // namespace mpixrma::python
