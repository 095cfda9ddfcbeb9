/// Transfers and read-modify-writes.
#pragma once

#include "python.hpp"

namespace mpixrma::python {

/// METH_FASTCALL functions, to keep the cost of a small put low.
extern PyMethodDef transfer_methods[];
extern PyMethodDef rmw_methods[];

}  // namespace mpixrma::python
