/// Transfers and read-modify-writes.
#pragma once

#include "python.hpp"

namespace mpixrma::python {

/// Functions of METH_FASTCALL: a small put costs no more than necessary.
extern PyMethodDef transfer_methods[];
extern PyMethodDef rmw_methods[];

}  // namespace mpixrma::python
