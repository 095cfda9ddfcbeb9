/// Complete, Fence, and their variants; error classes; statistics.
#include "calls.hpp"
#include "handles.hpp"
#include "kept.hpp"
#include "layout.hpp"
#include "target.hpp"

namespace mpixrma::python {

namespace {

struct Scope {
  MPI_Comm* communicator;
  int rank;
};

/// (comm, rank=ALL_RANKS), by position.
Scope scope_of(PyObject* const* values, Py_ssize_t count, char const* function) {
  if (count < 1 || count > 2) {
    PyErr_Format(PyExc_TypeError, "%s() takes a communicator and a rank, but %zd arguments were given",
                 function, count);
    raise_set();
  }
  return {comm_of(values[0]), count == 2 ? rank_of(values[1]) : MPIX_ALL_RANKS};
}

/// Waits without the GIL. Buffers of the operations that the call covers are released afterwards.
PyObject* complete_blocking(int (*call)(MPI_Comm*, int), PyObject* const* values, Py_ssize_t count,
                            char const* function) {
  return guarded([&]() -> PyObject* {
    Scope const scope = scope_of(values, count, function);
    require_mpi();  // MPI_Test of a dropped request ends the process after MPI_Finalize
    py::object const covered = take_buffers(*scope.communicator, scope.rank);
    int code = MPI_SUCCESS;
    {
      py::gil_scoped_release const others_run;
      code = call(scope.communicator, scope.rank);
    }
    reap_dropped_requests();
    check(code);
    raise_dropped_failure();  // the operations are complete nevertheless
    Py_RETURN_NONE;
  });
}

PyObject* complete(PyObject*, PyObject* const* values, Py_ssize_t count) {
  return complete_blocking(&MPIX_RMA_Complete, values, count, "complete");
}

PyObject* complete_local(PyObject*, PyObject* const* values, Py_ssize_t count) {
  return complete_blocking(&MPIX_RMA_Complete_local, values, count, "complete_local");
}

PyObject* fence(PyObject*, PyObject* const* values, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    Scope const scope = scope_of(values, count, "fence");
    check(MPIX_RMA_Fence(scope.communicator, scope.rank));
    Py_RETURN_NONE;
  });
}

/// The request keeps the buffers of the operations that it covers alive.
PyObject* complete_with_request(int (*call)(MPI_Comm*, int, MPI_Request*), PyObject* const* values,
                                Py_ssize_t count, char const* function) {
  return guarded([&] {
    Scope const scope = scope_of(values, count, function);
    MPI_Request request = MPI_REQUEST_NULL;
    check(call(scope.communicator, scope.rank, &request));
    return new_request(request, take_buffers(*scope.communicator, scope.rank)).release().ptr();
  });
}

PyObject* icomplete(PyObject*, PyObject* const* values, Py_ssize_t count) {
  return complete_with_request(&MPIX_RMA_Icomplete, values, count, "icomplete");
}

PyObject* icomplete_local(PyObject*, PyObject* const* values, Py_ssize_t count) {
  return complete_with_request(&MPIX_RMA_Icomplete_local, values, count, "icomplete_local");
}

int error_class(int which) {
  int number = 0;
  check(MPIX_RMA_Error_class(static_cast<MPIX_RMA_Error>(which), &number));
  return number;
}

py::tuple get_version() {
  int version = 0, subversion = 0;
  check(MPIX_RMA_Get_version(&version, &subversion));
  return py::make_tuple(version, subversion);
}

MPI_Count statistics(py::object const& communicator, int rank, int which, int protocol) {
  MPI_Count value = 0;
  check(MPIX_RMA_Statistics(*comm_of(communicator.ptr()), rank, static_cast<MPIX_RMA_Statistic>(which),
                            static_cast<MPIX_RMA_Protocol>(protocol), &value));
  return value;
}

PyMethodDef method(char const* name, PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t),
                   char const* text) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL, text};
}

}  // namespace

PyMethodDef completion_methods[] = {
    method("complete", &complete,
           "complete(comm, rank=ALL_RANKS): waits until all earlier operations are complete at the target."),
    method("complete_local", &complete_local,
           "complete_local(comm, rank=ALL_RANKS): waits until the buffers of all earlier operations may be "
           "reused."),
    method(
        "icomplete", &icomplete,
        "icomplete(comm, rank=ALL_RANKS): returns a request that completes when all earlier operations are "
        "complete at the target."),
    method("icomplete_local", &icomplete_local,
           "icomplete_local(comm, rank=ALL_RANKS): returns a request that completes when the buffers of all "
           "earlier operations may be reused."),
    method("fence", &fence,
           "fence(comm, rank=ALL_RANKS): orders all earlier operations before all later ones."),
    {nullptr, nullptr, 0, nullptr},
};

void define_completion(py::module_& module) {
  module.def("error_class", &error_class, py::arg("which"));
  module.def("get_version", &get_version);
  module.def("statistics", &statistics, py::arg("comm"), py::arg("rank"), py::arg("which"),
             py::arg("protocol") = static_cast<int>(MPIX_RMA_PROTOCOL_ALL));
  module.def("_kept_buffers", &kept_buffers);
  module.def("_dropped_requests", &dropped_requests);
  module.def("_cached_layouts", [] { return cached_layouts(); });
}

}  // namespace mpixrma::python
