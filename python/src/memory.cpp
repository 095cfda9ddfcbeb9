#include "memory.hpp"

#include <optional>
#include <vector>

#include "handles.hpp"
#include "target.hpp"

namespace mpixrma::python {

namespace {

struct BlockObject {
  PyObject_HEAD  //
      void* base;
  Py_ssize_t size;
  Py_ssize_t exports;
};

BlockObject* block(PyObject* object) noexcept { return reinterpret_cast<BlockObject*>(object); }

/// Block(base, size); subclasses give __init__ other arguments.
PyObject* make_block(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  return guarded([&] {
    PyObject* base = nullptr;
    Py_ssize_t size = 0;
    if (keywords != nullptr || PyArg_ParseTuple(args, "On:Block", &base, &size) == 0) {
      if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_TypeError, "Block takes base and size");
      raise_set();
    }
    py::object object = owned(type->tp_alloc(type, 0));
    block(object.ptr())->base = address_of(base);
    block(object.ptr())->size = size;
    return object.release().ptr();
  });
}

void destroy_block(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

int export_buffer(PyObject* self, Py_buffer* view, int flags) {
  if (block(self)->base == nullptr && block(self)->size != 0) {
    PyErr_SetString(PyExc_ValueError, "the memory has been freed");
    view->obj = nullptr;
    return -1;
  }
  static char nothing = 0;  // a buffer without bytes has an address as well
  void* const start = block(self)->base != nullptr ? block(self)->base : &nothing;
  if (PyBuffer_FillInfo(view, self, start, block(self)->size, 0, flags) < 0) return -1;
  ++block(self)->exports;
  return 0;
}

void end_export(PyObject* self, Py_buffer*) { --block(self)->exports; }

/// Returns the base, and forgets it, so that it can be freed. Raises BufferError while arrays use the memory:
/// they would show what is allocated there next.
void* release_base(py::object const& object) {
  BlockObject* const memory = block(object.ptr());
  if (memory->exports != 0) {
    PyErr_Format(PyExc_BufferError, "%zd arrays or views still use the memory: delete them first",
                 memory->exports);
    raise_set();
  }
  if (memory->base == nullptr && memory->size != 0) throw py::value_error("the memory has been freed");
  void* const base = memory->base;
  memory->base = nullptr;
  return base;
}

/// Checks the result of a call that frees memory. A call that was refused has changed nothing: the object
/// keeps the memory.
void check_freed(py::object const& object, void* base, int code) {
  int is_there = 0;
  if (code != MPI_SUCCESS &&
      MPIX_RMA_Query(MPI_COMM_SELF, 0, base, &is_there, nullptr, nullptr) == MPI_SUCCESS && is_there != 0)
    block(object.ptr())->base = base;
  check(code);
}

PyObject* get_base(PyObject* self, void*) { return PyLong_FromVoidPtr(block(self)->base); }
PyObject* get_size(PyObject* self, void*) { return PyLong_FromSsize_t(block(self)->size); }

py::tuple allocate(MPI_Aint size, py::object const& communicator, py::object const& info) {
  MPI_Comm* const comm = comm_of(communicator.ptr());
  MPI_Info const hints = info_of(info.ptr());
  int ranks = 0, is_inter = 0;
  require_mpi();
  check(MPI_Comm_test_inter(*comm, &is_inter));
  check(is_inter != 0 ? MPI_Comm_remote_size(*comm, &ranks) : MPI_Comm_size(*comm, &ranks));
  std::vector<void*> bases(static_cast<std::size_t>(ranks));
  void* base = nullptr;
  int code = MPI_SUCCESS;
  {
    py::gil_scoped_release const others_run;
    code = MPIX_RMA_Allocate(size, hints, *comm, &base, bases.data());
  }
  check(code);
  py::tuple addresses(bases.size());
  for (std::size_t i = 0; i < bases.size(); ++i) addresses[i] = owned(PyLong_FromVoidPtr(bases[i]));
  return py::make_tuple(owned(PyLong_FromVoidPtr(base)), addresses);
}

void free_collective(py::object const& memory, py::object const& communicator) {
  MPI_Comm* const comm = comm_of(communicator.ptr());
  void* const base = release_base(memory);
  int code = MPI_SUCCESS;
  {
    py::gil_scoped_release const others_run;
    code = MPIX_RMA_Free(base, *comm);
  }
  check_freed(memory, base, code);
}

py::object allocate_local(MPI_Aint size, py::object const& info) {
  void* base = nullptr;
  check(MPIX_RMA_Allocate_local(size, info_of(info.ptr()), &base));
  return owned(PyLong_FromVoidPtr(base));
}

void free_local(py::object const& memory) {
  void* const base = release_base(memory);
  check_freed(memory, base, MPIX_RMA_Free_local(base));
}

void register_memory(py::object const& base, MPI_Aint size, py::object const& info) {
  check(MPIX_RMA_Register(address_of(base.ptr()), size, info_of(info.ptr())));
}

py::object address_of_view(py::memoryview const& view) {
  return owned(PyLong_FromVoidPtr(PyMemoryView_GET_BUFFER(view.ptr())->buf));
}

void deregister(py::object const& base, MPI_Aint size) {
  check(MPIX_RMA_Deregister(address_of(base.ptr()), size));
}

py::object query(py::object const& communicator, int rank, py::object const& address) {
  int flag = 0;
  void* base = nullptr;
  MPI_Aint size = 0;
  MPI_Comm const comm = *comm_of(communicator.ptr());
  check(MPIX_RMA_Query(comm, rank, address_of(address.ptr()), &flag, &base, &size));
  if (flag == 0) return py::none();
  return py::make_tuple(owned(PyLong_FromVoidPtr(base)), size);
}

py::list segments(py::object const& communicator, int rank) {
  MPI_Comm const comm = *comm_of(communicator.ptr());
  std::vector<MPIX_RMA_Segment> found(16);
  int count = 0;
  for (;;) {
    check(MPIX_RMA_Segments(comm, rank, static_cast<int>(found.size()), found.data(), &count));
    if (static_cast<std::size_t>(count) <= found.size()) break;
    found.resize(static_cast<std::size_t>(count) + 16);  // more may appear between the calls
  }
  py::list result;
  for (int i = 0; i < count; ++i) {
    MPIX_RMA_Segment const& segment = found[static_cast<std::size_t>(i)];
    result.append(py::make_tuple(owned(PyLong_FromVoidPtr(segment.base)), segment.size));
  }
  return result;
}

}  // namespace

py::object make_block_type() {
  static PyGetSetDef fields[] = {{"base", &get_base, nullptr, "Address of the first byte.", nullptr},
                                 {"size", &get_size, nullptr, "Bytes.", nullptr},
                                 {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(&make_block)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(&destroy_block)},
                                {Py_tp_getset, fields},
                                {Py_bf_getbuffer, reinterpret_cast<void*>(&export_buffer)},
                                {Py_bf_releasebuffer, reinterpret_cast<void*>(&end_export)},
                                {0, nullptr}};
  static PyType_Spec spec = {"mpix_rma._core.Block", sizeof(BlockObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  return owned(PyType_FromSpec(&spec));
}

void define_memory(py::module_& module) {
  module.def("allocate", &allocate);
  module.def("free_collective", &free_collective);
  module.def("allocate_local", &allocate_local);
  module.def("free_local", &free_local);
  module.def("register_memory", &register_memory);
  module.def("address_of_view", &address_of_view);
  module.def("deregister", &deregister);
  module.def("query", &query);
  module.def("segments", &segments);
}

}  // namespace mpixrma::python
