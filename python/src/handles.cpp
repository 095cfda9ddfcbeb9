#include "handles.hpp"

#include <mpi4py/mpi4py.h>

#include <utility>
#include <vector>

namespace mpixrma::python {

namespace {

struct DroppedRequest {
  MPI_Request request;
  PyObject* buffers;
};

std::vector<DroppedRequest> dropped;
int dropped_failure = MPI_SUCCESS;      // of dropped requests, not raised yet
PyTypeObject* request_base = nullptr;   // of make_request_type()
PyTypeObject* request_class = nullptr;  // its subclass in Python
PyTypeObject* object_class = nullptr;   // of requests with attributes

template <typename Handle>
Handle* handle_of(Handle* found) {
  if (found == nullptr) raise_set();
  return found;
}

PyMPIRequestObject* native(PyObject* object) noexcept {
  return reinterpret_cast<PyMPIRequestObject*>(object);
}

/// Ignores the arguments, which are those of __init__ in Python.
PyObject* allocate_request(PyTypeObject* type, PyObject*, PyObject*) {
  return guarded([&] {
    py::tuple const none(0);
    return PyMPIRequest_Type.tp_new(type, none.ptr(), nullptr);
  });
}

/// A pending operation outlives its request object: its buffers must, too.
void finalize_request(PyObject* self) {
  PyMPIRequestObject* const object = native(self);
  if (object->ob_mpi == MPI_REQUEST_NULL || !mpi_is_usable()) return;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  int flag = 0;
  try {
    check(MPI_Test(&object->ob_mpi, &flag, MPI_STATUS_IGNORE));
    if (flag == 0) {
      dropped.push_back({object->ob_mpi, Py_NewRef(object->ob_buf)});
      object->ob_mpi = MPI_REQUEST_NULL;
    } else if (object->ob_mpi != MPI_REQUEST_NULL) {  // inactive, with attributes
      MPI_Request_free(&object->ob_mpi);
    }
  } catch (py::error_already_set& error) {
    error.restore();
    PyErr_WriteUnraisable(self);
  }
  PyErr_Restore(type, value, trace);
}

py::object error_type() { return py::module_::import("mpix_rma._errors").attr("Error"); }

[[noreturn]] void raise_object(py::object const& error) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  raise_set();
}

}  // namespace

void import_mpi4py_handles() {
  if (import_mpi4py() < 0) raise_set();
}

MPI_Comm* comm_of(PyObject* object) { return handle_of(PyMPIComm_Get(object)); }
MPI_Datatype datatype_of(PyObject* object) { return *handle_of(PyMPIDatatype_Get(object)); }
MPI_Op op_of(PyObject* object) { return *handle_of(PyMPIOp_Get(object)); }
MPI_Win win_of(PyObject* object) { return *handle_of(PyMPIWin_Get(object)); }

MPI_Info info_of(PyObject* object) {
  return object == Py_None ? MPI_INFO_NULL : *handle_of(PyMPIInfo_Get(object));
}

bool is_datatype(PyObject* object) noexcept { return PyObject_TypeCheck(object, &PyMPIDatatype_Type); }

py::object win_object(MPI_Win win) {
  check(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  return owned(PyMPIWin_New(win));
}
py::object op_object(MPI_Op op) { return owned(PyMPIOp_New(op)); }

py::object make_request_type() {
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(&allocate_request)},
                                {Py_tp_finalize, reinterpret_cast<void*>(&finalize_request)},
                                {0, nullptr}};
  static PyType_Spec spec = {"mpix_rma._core.RequestBase", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                             slots};
  PyObject* const base = reinterpret_cast<PyObject*>(&PyMPIRequest_Type);
  py::object type = owned(PyType_FromSpecWithBases(&spec, py::make_tuple(py::handle(base)).ptr()));
  request_base = reinterpret_cast<PyTypeObject*>(type.ptr());
  return type;
}

void set_request_types(py::object request, py::object object) {
  for (py::object* const type : {&request, &object})
    if (!PyType_Check(type->ptr()) ||
        !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type->ptr()), request_base))
      throw py::type_error("the type is not a subclass of RequestBase");
  request_class = reinterpret_cast<PyTypeObject*>(request.release().ptr());
  object_class = reinterpret_cast<PyTypeObject*>(object.release().ptr());
}

py::object new_request(MPI_Request request, py::object buffers) {
  if (!dropped.empty()) reap_dropped_requests();
  py::object object = owned(allocate_request(request_class, nullptr, nullptr));
  native(object.ptr())->ob_mpi = request;
  set_buffers(object.ptr(), std::move(buffers));
  return object;
}

MPI_Request* request_of(PyObject* object) {
  if (!PyObject_TypeCheck(object, request_base)) {
    PyErr_Format(PyExc_TypeError, "request must be an mpix_rma.Request, not %s", Py_TYPE(object)->tp_name);
    raise_set();
  }
  return &native(object)->ob_mpi;
}

MPI_Request* request_object_of(PyObject* object) {
  if (!PyObject_TypeCheck(object, object_class)) {
    PyErr_Format(PyExc_TypeError, "request must be an mpix_rma.RequestObject, not %s",
                 Py_TYPE(object)->tp_name);
    raise_set();
  }
  if (native(object)->ob_mpi == MPI_REQUEST_NULL)
    throw py::value_error(
        "the request object has been freed, by Free or because its operation failed: make another");
  return &native(object)->ob_mpi;
}

void set_buffers(PyObject* request, py::object buffers) {
  PyObject* const before = native(request)->ob_buf;
  native(request)->ob_buf = buffers.release().ptr();
  Py_XDECREF(before);
}

void reap_dropped_requests() noexcept {
  std::vector<PyObject*> released;  // released last: a destructor may drop further requests
  std::erase_if(dropped, [&](DroppedRequest& entry) {
    int flag = 0;
    int const code = MPI_Test(&entry.request, &flag, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && flag == 0) return false;
    if (dropped_failure == MPI_SUCCESS) dropped_failure = code;
    if (entry.request != MPI_REQUEST_NULL) MPI_Request_free(&entry.request);
    released.push_back(entry.buffers);
    return true;
  });
  for (PyObject* const buffers : released) Py_XDECREF(buffers);
}

void raise_dropped_failure() { check(std::exchange(dropped_failure, MPI_SUCCESS)); }

std::size_t dropped_requests() noexcept { return dropped.size(); }

bool mpi_is_usable() noexcept {
  int started = 0, ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  return started != 0 && ended == 0;
}

void require_mpi() {
  if (!mpi_is_usable()) check(MPI_ERR_OTHER);
}

void check(int code) {
  if (code == MPI_SUCCESS) [[likely]]
    return;
  raise_object(error_type()(code));
}

void raise_error(int error_class, char const* text) {
  raise_object(error_type().attr("of_class")(error_class, text));
}

}  // namespace mpixrma::python
