/// Attributes of communicators and of request objects, by their keys.
#include <dlfcn.h>

#include <string>

#include "calls.hpp"
#include "handles.hpp"
#include "keywords.hpp"
#include "target.hpp"

namespace mpixrma::python {

namespace {

int keyval(std::string const& name) {
  require_mpi();
  int const found = MPIX_RMA_Keyval(name.c_str());
  if (found != MPI_KEYVAL_INVALID) return found;
  if (MPIX_RMA_Keyval("MPIX_RMA_KEY_ORDERING") != MPI_KEYVAL_INVALID)
    throw py::value_error(name + " is no attribute key");
  // Without an engine there are no keys.
  int transport = MPI_ERR_OTHER;
  check(MPIX_RMA_Error_class(MPIX_RMA_ERR_TRANSPORT, &transport));
  raise_error(transport,
              "the attributes have no keys while the engine is not open: mpix_rma.allocate opens it");
}

/// The library's own MPI_Comm_set_attr, which checks values: in a program that has loaded MPI before, the
/// name belongs to MPI.
using SetAttribute = int (*)(MPI_Comm, int, void*);
SetAttribute set_attribute_of_library() {
  Dl_info info{};
  void* found = nullptr;
  if (::dladdr(reinterpret_cast<void*>(&MPIX_RMA_Keyval), &info) != 0)
    if (void* const library = ::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD); library != nullptr) {
      found = ::dlsym(library, "MPI_Comm_set_attr");
      ::dlclose(library);
    }
  return found != nullptr ? reinterpret_cast<SetAttribute>(found) : &MPI_Comm_set_attr;
}

/// `value`: as for MPI_Comm_set_attr, as an int or an operation.
void* value_of(py::object const& value) {
  return PyLong_Check(value.ptr()) != 0 ? address_of(value.ptr()) : MPIX_RMA_OP_VALUE(op_of(value.ptr()));
}

void set_comm_attribute(py::object const& communicator, std::string const& name, py::object const& value) {
  static SetAttribute const set = set_attribute_of_library();
  MPI_Comm const comm = *comm_of(communicator.ptr());
  check(set(comm, keyval(name), value_of(value)));
}

py::object get_comm_attribute(py::object const& communicator, std::string const& name) {
  void* value = nullptr;
  int flag = 0;
  check(MPI_Comm_get_attr(*comm_of(communicator.ptr()), keyval(name), static_cast<void*>(&value), &flag));
  return flag == 0 ? py::none() : owned(PyLong_FromVoidPtr(value));
}

void delete_comm_attribute(py::object const& communicator, std::string const& name) {
  check(MPI_Comm_delete_attr(*comm_of(communicator.ptr()), keyval(name)));
}

void set_request_attribute(py::object const& request, std::string const& name, py::object const& value) {
  check(MPIX_Req_set_attr(request_of(request.ptr()), keyval(name), value_of(value)));
}

py::object get_request_attribute(py::object const& request, std::string const& name) {
  void* value = nullptr;
  int flag = 0;
  check(MPIX_Req_get_attr(request_of(request.ptr()), keyval(name), static_cast<void*>(&value), &flag));
  return flag == 0 ? py::none() : owned(PyLong_FromVoidPtr(value));
}

void release_buffers(py::object const& request) {
  (void)request_of(request.ptr());
  set_buffers(request.ptr(), py::none());
}

/// Whether MPI_Init has found the library's component, which registers its parameters.
bool component_is_loaded() {
  int provided = 0, index = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return false;
  bool const found = MPI_T_cvar_get_index("osc_mpix_path", &index) == MPI_SUCCESS;
  MPI_T_finalize();
  return found;
}

}  // namespace

void define_attributes(py::module_& module) {
  module.def("keyval", &keyval, py::arg("name"));
  module.def("set_comm_attribute", &set_comm_attribute);
  module.def("get_comm_attribute", &get_comm_attribute);
  module.def("delete_comm_attribute", &delete_comm_attribute);
  module.def("set_request_attribute", &set_request_attribute);
  module.def("get_request_attribute", &get_request_attribute);
  module.def("release_buffers", &release_buffers);
  module.def("set_request_types", &set_request_types);
  module.def("component_is_loaded", &component_is_loaded);
}

}  // namespace mpixrma::python
