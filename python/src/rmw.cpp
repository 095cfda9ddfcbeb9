/// rmw and rmw2, and the same with a request.
#include <string>

#include "buffer.hpp"
#include "issue.hpp"
#include "operations.hpp"
#include "target.hpp"

namespace mpixrma::python {

namespace {

/// An operand, or the result: a buffer of `count` elements, or no buffer.
Buffer elements_of(PyObject* object, Access access, Target const& target) {
  if (object == nullptr || object == Py_None) return {};
  bool const scalar = PyLong_Check(object) || PyFloat_Check(object) || PyComplex_Check(object);
  if (scalar && target.dtype.ptr() == nullptr)
    throw py::type_error("a number as operand needs a target with a dtype");
  Buffer buffer = scalar ? converted_scalar(object, target.dtype) : buffer_of(object, access);
  if (!buffer.contiguous) throw py::type_error("operands and results of a read-modify-write have no gaps");
  return buffer;
}

bool is_missing(Buffer const& buffer) noexcept { return buffer.datatype == MPI_DATATYPE_NULL; }

struct Rmw {
  int op;
  Buffer operand, operand2, result;
  Target target;
  MPI_Count count = 0;
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
  MPI_Datatype element = MPI_DATATYPE_NULL;  // as in Buffer
};

/// All buffers must have the operation's number and type of elements: the C call cannot check their sizes.
void require_same(Rmw const& rmw, Buffer const& buffer, char const* name) {
  if (is_missing(buffer)) return;
  bool const same_element = buffer.element == rmw.element && rmw.element != MPI_DATATYPE_NULL;
  if (buffer.datatype != rmw.datatype && !same_element)
    throw py::value_error(std::string(name) + " has elements of another type than the operation");
  if (buffer.count != rmw.count)
    throw py::value_error(std::string(name) + " has " + std::to_string(buffer.count) +
                          " elements, and the operation " + std::to_string(rmw.count));
}

/// Takes the elements from the first of target, operand and result that specifies them.
void agree_on_elements(Rmw& rmw) {
  Target const& target = rmw.target;
  if (target.datatype != MPI_DATATYPE_NULL) {
    if (!target.contiguous) throw py::type_error("the target of a read-modify-write must be contiguous");
    rmw.count = target.count;
    rmw.datatype = target.datatype;
    rmw.element = target.element;
  } else if (Buffer const& first = !is_missing(rmw.operand) ? rmw.operand : rmw.result; !is_missing(first)) {
    rmw.count = first.count;
    rmw.datatype = first.datatype;
    rmw.element = first.element;
  } else {
    throw py::type_error("neither target, operand nor result says what the elements are");
  }
  require_same(rmw, rmw.operand, "operand");
  require_same(rmw, rmw.operand2, "operand2");
  require_same(rmw, rmw.result, "result");
}

py::object owners_of(Rmw const& rmw) {
  auto const one = [](Buffer const& buffer) {
    return buffer.owner != nullptr ? py::reinterpret_borrow<py::object>(buffer.owner) : py::none();
  };
  return py::make_tuple(one(rmw.operand), one(rmw.operand2), one(rmw.result));
}

int call_rmw(Rmw const& rmw, MPI_Request* request, MPI_Comm* communicator, Keywords const& keywords) {
  auto const disp = reinterpret_cast<MPI_Aint>(rmw.target.address);
  auto const op = static_cast<MPIX_RMW_Op>(rmw.op);
  if (keywords.request != nullptr)
    return MPIX_RMA_rmw_req_c(op, rmw.operand.address, rmw.count, rmw.datatype, rmw.result.address,
                              rmw.target.rank, disp, request, communicator);
  return MPIX_RMA_rmw_c(op, rmw.operand.address, rmw.count, rmw.datatype, rmw.result.address, rmw.target.rank,
                        disp, request, communicator, keywords.argument());
}

int call_rmw2(Rmw const& rmw, MPI_Request* request, MPI_Comm* communicator, Keywords const& keywords) {
  auto const disp = reinterpret_cast<MPI_Aint>(rmw.target.address);
  auto const op = static_cast<MPIX_RMW2_Op>(rmw.op);
  if (keywords.request != nullptr)
    return MPIX_RMA_rmw2_req_c(op, rmw.operand.address, rmw.count, rmw.datatype, rmw.operand2.address,
                               rmw.result.address, rmw.target.rank, disp, request, communicator);
  return MPIX_RMA_rmw2_c(op, rmw.operand.address, rmw.count, rmw.datatype, rmw.operand2.address,
                         rmw.result.address, rmw.target.rank, disp, request, communicator,
                         keywords.argument());
}

/// `values`: op, operands, target, communicator.
template <int Operands>
PyObject* rmw(PyObject* const* values, Keywords const& keywords, Returns returns) {
  Rmw rmw;
  rmw.op = operation_of(values[0]);
  rmw.target = target_of(values[1 + Operands]);
  rmw.operand = elements_of(values[1], Access::read, rmw.target);
  if constexpr (Operands == 2) rmw.operand2 = elements_of(values[2], Access::read, rmw.target);
  rmw.result = elements_of(keywords.result, Access::write, rmw.target);
  agree_on_elements(rmw);
  MPI_Comm* const communicator = comm_of(values[2 + Operands]);
  return issue(
      keywords, communicator, rmw.target.rank, returns, rmw.count,
      [&](MPI_Request* request) {
        return Operands == 2 ? call_rmw2(rmw, request, communicator, keywords)
                             : call_rmw(rmw, request, communicator, keywords);
      },
      [&] { return owners_of(rmw); });
}

constexpr char const* method_names[2][2] = {{"rmw", "rrmw"}, {"rmw2", "rrmw2"}};

template <int Operands, Returns Result>
PyObject* rmw_method(PyObject*, PyObject* const* values, Py_ssize_t count, PyObject* keyword_names) {
  return guarded([&] {
    char const* const name = method_names[Operands - 1][Result == Returns::request ? 1 : 0];
    Arguments const arguments{values, count, keyword_names};
    arguments.require(3 + Operands, name);
    return rmw<Operands>(values, parse_keywords(arguments, accepts_request | accepts_result, name), Result);
  });
}

template <auto Function>
PyCFunction entry() {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(Function));
}

}  // namespace

PyMethodDef rmw_methods[] = {
    {method_names[0][0], entry<&rmw_method<1, Returns::nothing>>(), METH_FASTCALL | METH_KEYWORDS,
     "rmw(op, operand, target, comm, *, result=None, **attributes)"},
    {method_names[0][1], entry<&rmw_method<1, Returns::request>>(), METH_FASTCALL | METH_KEYWORDS,
     "rrmw(op, operand, target, comm, *, result=None, **attributes): rmw, with a request"},
    {method_names[1][0], entry<&rmw_method<2, Returns::nothing>>(), METH_FASTCALL | METH_KEYWORDS,
     "rmw2(op, operand, operand2, target, comm, *, result=None, **attributes)"},
    {method_names[1][1], entry<&rmw_method<2, Returns::request>>(), METH_FASTCALL | METH_KEYWORDS,
     "rrmw2(op, operand, operand2, target, comm, *, result=None, **attributes): rmw2, with a request"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mpixrma::python
