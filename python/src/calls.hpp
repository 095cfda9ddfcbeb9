/// Completion, notification, statistics, attributes, plans, windows at a memory server.
#pragma once

#include "python.hpp"

namespace mpixrma::python {

/// METH_FASTCALL functions, because a small put is followed by one of these calls.
extern PyMethodDef completion_methods[];

void define_completion(py::module_& module);
void define_notification(py::module_& module);
void define_attributes(py::module_& module);
void define_plans(py::module_& module);
void define_windows(py::module_& module);
/// The enumerations of the C interface as enum.IntEnum.
void define_constants(py::module_& module);

}  // namespace mpixrma::python
