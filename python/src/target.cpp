#include "target.hpp"

#include <structmember.h>

#include <algorithm>
#include <climits>
#include <new>
#include <string>
#include <vector>

#include "datatype.hpp"
#include "handles.hpp"

namespace mpixrma::python {

namespace {

struct TargetState {
  Target target;
  Layout layout;
  py::object dtype, shape, strides;
};

struct TargetObject {
  PyObject_HEAD  //
      TargetState state;
};

PyTypeObject* target_type = nullptr;

TargetState& state_of(PyObject* object) noexcept { return reinterpret_cast<TargetObject*>(object)->state; }

py::tuple c_order_strides(std::vector<Py_ssize_t> const& shape, Py_ssize_t item_size) {
  py::tuple strides(shape.size());
  Py_ssize_t stride = item_size;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

std::vector<Py_ssize_t> numbers(py::handle tuple) {
  std::vector<Py_ssize_t> found;
  for (py::handle const item : tuple) {
    found.push_back(PyNumber_AsSsize_t(item.ptr(), PyExc_OverflowError));
    if (found.back() == -1 && PyErr_Occurred() != nullptr) raise_set();
  }
  return found;
}

py::tuple tuple_of(std::vector<Py_ssize_t> const& found) {
  py::tuple result(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) result[i] = found[i];
  return result;
}

/// The extents of a shape: an integer, or a sequence of integers, of Python or NumPy.
std::vector<Py_ssize_t> extents_of(PyObject* shape) {
  if (shape == nullptr) return {};
  if (PyIndex_Check(shape) !=
      0) {  // NumPy's arrays pass, too, but have a number only if they have no dimension
    if (PyObject* const extent = PyNumber_Index(shape); extent != nullptr)
      return numbers(py::make_tuple(py::reinterpret_steal<py::object>(extent)));
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) raise_set();
    PyErr_Clear();
  }
  return numbers(py::tuple(py::reinterpret_borrow<py::object>(shape)));
}

/// Raises ValueError for negative extents, and for more bytes than memory has. As in NumPy, extents of 0 do
/// not excuse the others.
void require_possible(std::vector<Py_ssize_t> const& shape, Py_ssize_t item_size) {
  Py_ssize_t bytes = std::max(item_size, Py_ssize_t{1});
  for (Py_ssize_t const extent : shape) {
    if (extent < 0) throw py::value_error("the shape has a negative extent");
    if (__builtin_mul_overflow(bytes, std::max(extent, Py_ssize_t{1}), &bytes))
      throw py::value_error("the shape has more elements than memory holds");
  }
}

void set_elements(TargetState& state, py::object const& dtype) {
  state.dtype = py::module_::import("numpy").attr("dtype")(dtype);
  auto const item_size = state.dtype.attr("itemsize").cast<Py_ssize_t>();
  std::vector<Py_ssize_t> const shape = numbers(state.shape);
  for (Py_ssize_t const extent : shape)
    if (extent < 0) throw py::value_error("the shape has a negative extent");
  require_possible(shape, item_size);
  if (state.strides.is_none()) state.strides = c_order_strides(shape, item_size);
  std::vector<Py_ssize_t> const strides = numbers(state.strides);
  state.strides = tuple_of(strides);
  if (strides.size() != shape.size()) throw py::value_error("shape and strides have different lengths");
  Element const element = element_of_dtype(state.dtype);
  Strides const places{shape, strides, item_size};
  Target& target = state.target;
  target.element = element.datatype;
  target.elements = item_count(shape) * element.per_item;
  target.datatype = element.datatype;
  target.count = target.elements;
  target.dtype = state.dtype;
  if (is_contiguous(places)) return;
  target.contiguous = false;
  state.layout = strided_layout(element, places);
  target.datatype = state.layout.get();
  target.count = 1;
}

/// The target has an MPI datatype given by the program; the shape gives the count.
void set_datatype(TargetState& state, py::object const& datatype) {
  std::vector<Py_ssize_t> const shape = numbers(state.shape);
  if (!state.strides.is_none())
    throw py::type_error("strides belong to a dtype of NumPy, not to an MPI datatype");
  require_possible(shape, 1);
  state.dtype = datatype;
  state.target.datatype = datatype_of(datatype.ptr());
  state.target.element = element_of_given(state.target.datatype);
  state.target.count = state.target.elements = item_count(shape);
}

void initialise(TargetState& state, PyObject* args, PyObject* keywords) {
  static char const* const names[] = {"rank", "address", "dtype", "shape", "strides", nullptr};
  PyObject *rank = nullptr, *address = nullptr, *dtype = nullptr, *shape = nullptr, *strides = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "OO|OOO:Target", const_cast<char**>(names), &rank, &address,
                                  &dtype, &shape, &strides) == 0)
    raise_set();
  state.target.rank = rank_of(rank);
  state.target.address = address_of(address);
  state.strides = py::reinterpret_borrow<py::object>(strides);
  state.shape = tuple_of(extents_of(shape));
  if (dtype != nullptr && is_datatype(dtype)) {
    set_datatype(state, py::reinterpret_borrow<py::object>(dtype));
  } else {
    set_elements(state,
                 dtype != nullptr ? py::reinterpret_borrow<py::object>(dtype) : py::object(py::str("u1")));
  }
}

Elements elements_without_gaps(Buffer const& origin) {
  if (origin.element == MPI_DATATYPE_NULL) return without_gaps(origin.datatype, origin.count);
  if (!origin.contiguous) return {origin.element, origin.elements};
  return {origin.datatype, origin.count};  // not by another name of the type, for an accumulate
}

PyObject* make_target(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  return guarded([&] {
    py::object object = owned(type->tp_alloc(type, 0));
    TargetState& state = *new (&state_of(object.ptr())) TargetState();
    initialise(state, args, keywords);
    return object.release().ptr();
  });
}

void destroy_target(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  state_of(self).~TargetState();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* represent(PyObject* self) {
  return guarded([&] {
    TargetState const& state = state_of(self);
    py::object const number = owned(PyLong_FromVoidPtr(state.target.address));
    py::object const address = owned(PyNumber_ToBase(number.ptr(), 16));  // unlike %p, also for 0
    return PyUnicode_FromFormat("%s(rank=%d, address=%U, dtype=%R, shape=%R)", Py_TYPE(self)->tp_name,
                                state.target.rank, address.ptr(), state.dtype.ptr(), state.shape.ptr());
  });
}

template <auto Read>
PyObject* getter(PyObject* self, void*) {
  return guarded([&] { return Read(state_of(self)).release().ptr(); });
}

py::object rank(TargetState const& state) { return py::int_(state.target.rank); }
py::object address(TargetState const& state) { return owned(PyLong_FromVoidPtr(state.target.address)); }
py::object dtype(TargetState const& state) { return state.dtype; }
py::object shape(TargetState const& state) { return state.shape; }
py::object strides(TargetState const& state) { return state.strides; }

}  // namespace

py::object make_target_type() {
  static PyGetSetDef fields[] = {
      {"rank", &getter<&rank>, nullptr, "Rank of the target.", nullptr},
      {"address", &getter<&address>, nullptr, "Address of the first element in the target process.", nullptr},
      {"dtype", &getter<&dtype>, nullptr, "NumPy's dtype, or the MPI datatype.", nullptr},
      {"shape", &getter<&shape>, nullptr, "Extents.", nullptr},
      {"strides", &getter<&strides>, nullptr, "Bytes between elements, or None for an MPI datatype.",
       nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(&make_target)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(&destroy_target)},
                                {Py_tp_repr, reinterpret_cast<void*>(&represent)},
                                {Py_tp_getset, fields},
                                {0, nullptr}};
  static PyType_Spec spec = {"mpix_rma._core.Target", sizeof(TargetObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  py::object type = owned(PyType_FromSpec(&spec));
  target_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  return type;
}

Target target_of(PyObject* object) {
  if (PyObject_TypeCheck(object, target_type)) [[likely]]
    return state_of(object).target;
  if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != 2) {
    PyErr_Format(PyExc_TypeError, "the target must be an mpix_rma.Target or a tuple (rank, address), not %s",
                 Py_TYPE(object)->tp_name);
    raise_set();
  }
  Target target;
  target.rank = rank_of(PyTuple_GET_ITEM(object, 0));
  target.address = address_of(PyTuple_GET_ITEM(object, 1));
  return target;
}

Target target_of(PyObject* object, Buffer const& origin) {
  Target target = target_of(object);
  if (target.datatype == MPI_DATATYPE_NULL) {
    Elements const elements = elements_without_gaps(origin);
    target.datatype = elements.datatype;
    target.count = elements.count;
  } else if (target.element != origin.element && target.element != MPI_DATATYPE_NULL &&
             origin.element != MPI_DATATYPE_NULL && target.element != MPI_BYTE &&
             origin.element != MPI_BYTE) {
    throw py::type_error(std::string("origin and target have elements of different types") +
                         (target.dtype ? ": convert the origin by astype(target.dtype)" : ""));
  }
  return target;
}

void* address_of(PyObject* object) {
  py::object const number = owned(PyNumber_Index(object));
  void* const address = PyLong_AsVoidPtr(number.ptr());
  if (address == nullptr && PyErr_Occurred() != nullptr) raise_set();
  return address;
}

int rank_of(PyObject* object) {
  long const rank = PyLong_AsLong(object);
  if (rank == -1 && PyErr_Occurred() != nullptr) raise_set();
  if (rank > INT_MAX || rank < INT_MIN) {
    PyErr_SetString(PyExc_OverflowError, "the rank is too large");
    raise_set();
  }
  return static_cast<int>(rank);
}

int operation_of(PyObject* object) {
  int overflow = 0;
  long const operation = PyLong_AsLongAndOverflow(object, &overflow);
  if (operation == -1 && PyErr_Occurred() != nullptr) raise_set();
  if (overflow != 0 || operation > INT_MAX || operation < INT_MIN)
    throw py::value_error("the number is none of an operation");
  return static_cast<int>(operation);
}

}  // namespace mpixrma::python
