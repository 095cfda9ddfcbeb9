#include "buffer.hpp"

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

#include <array>
#include <cstring>
#include <limits>
#include <string>

#include "datatype.hpp"
#include "handles.hpp"

namespace mpixrma::python {

namespace {

/// Indexed by NumPy's type numbers, of which NPY_HALF is the largest in use.
std::array<MPI_Datatype, NPY_HALF + 1> datatypes;

/// Types of the same kind and size, such as `long` and `long long`, have one datatype.
void fill_datatypes() {
  datatypes.fill(MPI_DATATYPE_NULL);
  datatypes[NPY_BOOL] = MPI_C_BOOL;
  datatypes[NPY_BYTE] = signed_of_size(sizeof(char));
  datatypes[NPY_SHORT] = signed_of_size(sizeof(short));
  datatypes[NPY_INT] = signed_of_size(sizeof(int));
  datatypes[NPY_LONG] = signed_of_size(sizeof(long));
  datatypes[NPY_LONGLONG] = signed_of_size(sizeof(long long));
  datatypes[NPY_UBYTE] = unsigned_of_size(sizeof(char));
  datatypes[NPY_USHORT] = unsigned_of_size(sizeof(short));
  datatypes[NPY_UINT] = unsigned_of_size(sizeof(int));
  datatypes[NPY_ULONG] = unsigned_of_size(sizeof(long));
  datatypes[NPY_ULONGLONG] = unsigned_of_size(sizeof(long long));
  datatypes[NPY_FLOAT] = MPI_FLOAT;
  datatypes[NPY_DOUBLE] = MPI_DOUBLE;
  datatypes[NPY_LONGDOUBLE] = MPI_LONG_DOUBLE;
  datatypes[NPY_CFLOAT] = MPI_C_FLOAT_COMPLEX;
  datatypes[NPY_CDOUBLE] = MPI_C_DOUBLE_COMPLEX;
  datatypes[NPY_CLONGDOUBLE] = MPI_C_LONG_DOUBLE_COMPLEX;
  datatypes[NPY_DATETIME] = MPI_INT64_T;
  datatypes[NPY_TIMEDELTA] = MPI_INT64_T;
}

[[noreturn]] void raise_type(std::string const& text) { throw py::type_error(text); }

/// Whether items, or fields of them, have the other byte order. NumPy's `isnative` does not see arrays in
/// records.
bool is_foreign(PyArray_Descr* descr) {
  if (!PyArray_ISNBO(descr->byteorder)) return true;
  if (descr->type_num != NPY_VOID) [[likely]]
    return false;
  py::handle const dtype(reinterpret_cast<PyObject*>(descr));
  return !dtype.equal(dtype.attr("newbyteorder")("="));
}

Element element_of(PyArray_Descr* descr) {
  if (is_foreign(descr))
    raise_type("the array, or a field of it, has the byte order of other machines: byteswap it");
  if (PyDataType_REFCHK(descr)) raise_type("the array holds Python objects, which have no meaning elsewhere");
  auto const number = static_cast<std::size_t>(descr->type_num);
  if (number < datatypes.size() && datatypes[number] != MPI_DATATYPE_NULL) return {datatypes[number], 1};
  // Records, strings, half precision. NumPy 2 hides the field that has their size.
  return {MPI_BYTE, py::handle(reinterpret_cast<PyObject*>(descr)).attr("itemsize").cast<int>()};
}

/// Sets what follows from the elements and their places. `address` and `owner` are the caller's.
void describe(Buffer& buffer, Element element, Strides const& strides) {
  buffer.element = element.datatype;
  buffer.elements = item_count(strides.shape) * element.per_item;
  buffer.contiguous = is_contiguous(strides);
  if (buffer.contiguous) {
    buffer.count = buffer.elements;
    buffer.datatype = element.datatype;
  } else {
    buffer.layout = strided_layout(element, strides);
    buffer.count = 1;
    buffer.datatype = buffer.layout.get();
  }
}

[[noreturn]] void raise_read_only() {
  throw py::value_error("the result's buffer is read-only: pass an array that may be written");
}

Buffer buffer_of_array(PyArrayObject* array, Access access) {
  if (access == Access::write && !PyArray_ISWRITEABLE(array)) raise_read_only();
  Buffer buffer;
  buffer.address = PyArray_DATA(array);
  buffer.owner = reinterpret_cast<PyObject*>(array);
  Element const element = element_of(PyArray_DESCR(array));
  if (PyArray_IS_C_CONTIGUOUS(array)) [[likely]] {
    buffer.elements = buffer.count = PyArray_SIZE(array) * element.per_item;
    buffer.element = buffer.datatype = element.datatype;
    return buffer;
  }
  auto const dimensions = static_cast<std::size_t>(PyArray_NDIM(array));
  describe(
      buffer, element,
      {{PyArray_SHAPE(array), dimensions}, {PyArray_STRIDES(array), dimensions}, PyArray_ITEMSIZE(array)});
  return buffer;
}

/// Raises TypeError for an array in device memory, which loads of this process cannot reach. Called before
/// the buffer is requested, because some of these arrays export a buffer of another kind.
void refuse_device(PyObject* object) {
  constexpr long on_cpu = 1, on_cuda_host = 3, on_rocm_host = 11;
  bool device = PyObject_HasAttrString(object, "__cuda_array_interface__") != 0;
  if (!device && PyObject_HasAttrString(object, "__dlpack_device__") != 0) {
    py::tuple const where = py::handle(object).attr("__dlpack_device__")();
    long const kind = py::int_(where[0]).cast<long>();
    device = kind != on_cpu && kind != on_cuda_host && kind != on_rocm_host;
  }
  if (device)
    raise_type(std::string(Py_TYPE(object)->tp_name) +
               " is in the memory of a device, which MPIX_RMA does not reach: copy it to the host first");
}

Element element_of_view(py::handle view) {
  Py_buffer const& exported = *PyMemoryView_GET_BUFFER(view.ptr());
  char const* const format = exported.format;
  if (format == nullptr || std::strcmp(format, "B") == 0 || std::strcmp(format, "c") == 0)
    return {MPI_BYTE, static_cast<int>(exported.itemsize)};
  return element_of_dtype(py::module_::import("mpix_rma._values").attr("dtype_of")(view));
}

Buffer buffer_of_exporter(PyObject* object, Access access) {
  py::object view = owned(PyMemoryView_FromObject(object));
  Py_buffer const& exported = *PyMemoryView_GET_BUFFER(view.ptr());
  if (access == Access::write && exported.readonly != 0) raise_read_only();
  Buffer buffer;
  buffer.address = exported.buf;
  buffer.owner = view.ptr();
  auto const dimensions = static_cast<std::size_t>(exported.ndim);
  describe(buffer, element_of_view(view),
           {{exported.shape, dimensions}, {exported.strides, dimensions}, exported.itemsize});
  buffer.holder = std::move(view);
  return buffer;
}

MPI_Count count_of(py::object const& given) {
  int overflow = 0;
  long long const count = PyLong_AsLongLongAndOverflow(owned(PyNumber_Index(given.ptr())).ptr(), &overflow);
  if (overflow != 0) throw py::value_error("the count is too large");
  return count;
}

/// Offsets in bytes from the buffer's address.
struct Span {
  MPI_Count first = 0, end = 0;
};

/// The bytes that `count` of the datatype reach; up to the largest number if they are more than that.
Span span_of(MPI_Datatype datatype, MPI_Count count) {
  MPI_Count lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  check(MPI_Type_get_extent_x(datatype, &lower, &extent));
  check(MPI_Type_get_true_extent_x(datatype, &true_lower, &true_extent));
  if (count <= 0 || true_extent == 0) return {};
  MPI_Count last = 0;
  Span span{true_lower, true_lower + true_extent};
  MPI_Count& moved = extent < 0 ? span.first : span.end;
  bool const overflow =
      __builtin_mul_overflow(count - 1, extent, &last) || __builtin_add_overflow(moved, last, &moved);
  if (overflow)
    moved = extent < 0 ? std::numeric_limits<MPI_Count>::min() : std::numeric_limits<MPI_Count>::max();
  return span;
}

/// Raises ValueError if elements of the datatype lie outside of the buffer's bytes.
void require_within(MPI_Datatype datatype, MPI_Count count, MPI_Count bytes) {
  Span const span = span_of(datatype, count);
  if (span.end > bytes)
    throw py::value_error("the buffer has " + std::to_string(bytes) + " bytes, and the datatype reaches to " +
                          std::to_string(span.end));
  if (span.first < 0)
    throw py::value_error("the datatype reaches to byte " + std::to_string(span.first) +
                          ", before the buffer");
}

/// As mpi4py: (buffer, datatype) or (buffer, count, datatype); None is MPI_BOTTOM.
Buffer buffer_of_sequence(py::sequence const& given, Access access) {
  require_mpi();
  std::size_t const length = given.size();
  py::object const kind = length == 2 || length == 3 ? py::object(given[length - 1]) : py::none();
  if (!is_datatype(kind.ptr()))
    raise_type("a buffer with a datatype is (buffer, datatype) or (buffer, count, datatype)");
  Buffer buffer;
  MPI_Count available = -1;
  py::object const memory = given[0];
  if (!memory.is_none()) {
    buffer = buffer_of(memory.ptr(), access);
    if (!buffer.contiguous) raise_type("an array with gaps has its own layout: pass it without a datatype");
    int size = 0;
    check(MPI_Type_size(buffer.element, &size));
    available = buffer.elements * size;
  }
  buffer.datatype = datatype_of(kind.ptr());
  buffer.element = element_of_given(buffer.datatype);
  if (length == 3) {
    buffer.count = count_of(given[1]);
  } else {
    MPI_Count lower = 0, extent = 0;
    check(MPI_Type_get_extent_x(buffer.datatype, &lower, &extent));
    buffer.count = available < 0 || extent <= 0 ? 1 : available / extent;
  }
  if (available >= 0) require_within(buffer.datatype, buffer.count, available);
  if (buffer.element != MPI_DATATYPE_NULL) buffer.elements = buffer.count;
  py::object owner = buffer.owner != nullptr ? py::reinterpret_borrow<py::object>(buffer.owner) : py::none();
  buffer.holder = py::make_tuple(std::move(owner), kind);
  buffer.owner = buffer.holder.ptr();
  return buffer;
}

}  // namespace

void import_numpy() {
  if (_import_array() < 0) raise_set();
  fill_datatypes();
}

Element element_of_dtype(py::handle dtype) {
  PyArray_Descr* descr = nullptr;
  if (PyArray_DescrConverter(dtype.ptr(), &descr) == NPY_FAIL) raise_set();
  py::object const holder = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(descr));
  return element_of(descr);
}

Buffer buffer_of(PyObject* object, Access access) {
  if (PyArray_Check(object)) [[likely]]
    return buffer_of_array(reinterpret_cast<PyArrayObject*>(object), access);
  if (PyTuple_Check(object) || PyList_Check(object))
    return buffer_of_sequence(py::reinterpret_borrow<py::sequence>(object), access);
  refuse_device(object);
  if (PyObject_CheckBuffer(object)) return buffer_of_exporter(object, access);
  if (PyObject_HasAttrString(object, "__dlpack__") != 0) {
    py::object array = py::module_::import("numpy").attr("from_dlpack")(py::handle(object));
    Buffer buffer = buffer_of_array(reinterpret_cast<PyArrayObject*>(array.ptr()), access);
    buffer.holder = std::move(array);
    return buffer;
  }
  raise_type(std::string(Py_TYPE(object)->tp_name) +
             " is no buffer: pass a NumPy array, or an object with a buffer");
}

Buffer converted_scalar(PyObject* value, py::handle dtype) {
  py::object array = py::module_::import("mpix_rma._values").attr("number")(py::handle(value), dtype);
  Buffer buffer = buffer_of_array(reinterpret_cast<PyArrayObject*>(array.ptr()), Access::read);
  buffer.holder = std::move(array);
  return buffer;
}

}  // namespace mpixrma::python
