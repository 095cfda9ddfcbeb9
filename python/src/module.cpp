/// The extension mpix_rma._core. mpix_rma/__init__.py loads it, and offers its functions.
#include "buffer.hpp"
#include "calls.hpp"
#include "handles.hpp"
#include "keywords.hpp"
#include "memory.hpp"
#include "operations.hpp"
#include "target.hpp"

PYBIND11_MODULE(_core, module) {
  using namespace mpixrma::python;
  import_mpi4py_handles();
  import_numpy();
  prepare_keywords();
  for (PyMethodDef* const methods : {transfer_methods, rmw_methods, completion_methods})
    if (PyModule_AddFunctions(module.ptr(), methods) < 0) raise_set();
  module.attr("RequestBase") = make_request_type();
  module.attr("Target") = make_target_type();
  module.attr("Block") = make_block_type();
  define_memory(module);
  define_completion(module);
  define_notification(module);
  define_attributes(module);
  define_plans(module);
  define_windows(module);
  define_constants(module);
}
