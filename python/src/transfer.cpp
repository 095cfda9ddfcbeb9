/// put, get, accumulate and xfer, and the same with a request.
#include "buffer.hpp"
#include "issue.hpp"
#include "operations.hpp"
#include "target.hpp"

namespace mpixrma::python {

namespace {

struct Transfer {
  MPIX_RMA_Op op;
  char const* name;
  Returns returns;
};

/// Keeps the scale, an element of the origin's type, during the call.
Buffer scale_of(Keywords& keywords, PyObject* origin) {
  PyObject* const dtype = PyObject_GetAttrString(origin, "dtype");
  if (dtype == nullptr) {
    PyErr_Clear();
    throw py::type_error("a scale needs a NumPy array as origin");
  }
  Buffer scale = converted_scalar(keywords.scale, py::reinterpret_steal<py::object>(dtype));
  keywords.attributes.accumulate_scale = scale.address;
  keywords.attributes.set |= MPIX_RMA_ATTR_ACCUMULATE_SCALE;
  return scale;
}

/// `values`: origin, target, communicator.
PyObject* transfer(Transfer const& kind, PyObject* const* values, Keywords& keywords) {
  Buffer const origin = buffer_of(values[0], kind.op == MPIX_RMA_GET ? Access::write : Access::read);
  Target const target = target_of(values[1], origin);
  MPI_Comm* const communicator = comm_of(values[2]);
  Buffer scale;
  if (keywords.scale != nullptr) scale = scale_of(keywords, values[0]);
  auto const call = [&](MPI_Request* request) {
    if (keywords.request != nullptr)
      return MPIX_RMA_xfer_req_c(kind.op, origin.address, origin.count, origin.datatype, target.rank,
                                 target.address, target.count, target.datatype, request, communicator);
    return MPIX_RMA_xfer_c(kind.op, origin.address, origin.count, origin.datatype, target.rank,
                           target.address, target.count, target.datatype, request, communicator,
                           keywords.argument());
  };
  return issue(keywords, communicator, target.rank, kind.returns, origin.elements, call,
               [&] { return py::reinterpret_borrow<py::object>(origin.owner); });
}

constexpr unsigned accepted(MPIX_RMA_Op op) {
  return accepts_request | (op == MPIX_RMA_ACCUMULATE ? accepts_operation : attributes_only);
}

template <Transfer Kind>
PyObject* transfer_method(PyObject*, PyObject* const* values, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    Arguments const arguments{values, count, names};
    arguments.require(3, Kind.name);
    Keywords keywords = parse_keywords(arguments, accepted(Kind.op), Kind.name);
    return transfer(Kind, values, keywords);
  });
}

template <Returns Result>
PyObject* xfer_method(PyObject*, PyObject* const* values, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    char const* const name = Result == Returns::request ? "rxfer" : "xfer";
    Arguments const arguments{values, count, names};
    arguments.require(4, name);
    auto const op = static_cast<MPIX_RMA_Op>(operation_of(values[0]));
    Keywords keywords = parse_keywords(arguments, accepts_request | accepts_operation, name);
    return transfer({op, name, Result}, values + 1, keywords);
  });
}

// A template argument of class type has no pointer to a literal.
constexpr char put_name[] = "put", get_name[] = "get", accumulate_name[] = "accumulate";
constexpr char rput_name[] = "rput", rget_name[] = "rget", raccumulate_name[] = "raccumulate";

template <auto Function>
PyMethodDef method(char const* name, char const* text) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(Function)),
          METH_FASTCALL | METH_KEYWORDS, text};
}

}  // namespace

PyMethodDef transfer_methods[] = {
    method<&transfer_method<Transfer{MPIX_RMA_PUT, put_name, Returns::nothing}>>(
        put_name, "put(origin, target, comm, **attributes): copies the origin to the target."),
    method<&transfer_method<Transfer{MPIX_RMA_GET, get_name, Returns::nothing}>>(
        get_name, "get(origin, target, comm, **attributes): copies the target to the origin."),
    method<&transfer_method<Transfer{MPIX_RMA_ACCUMULATE, accumulate_name, Returns::nothing}>>(
        accumulate_name,
        "accumulate(origin, target, comm, **attributes): combines the origin into the target."),
    method<&transfer_method<Transfer{MPIX_RMA_PUT, rput_name, Returns::request}>>(
        rput_name, "rput(origin, target, comm, **attributes): put, with a request."),
    method<&transfer_method<Transfer{MPIX_RMA_GET, rget_name, Returns::request}>>(
        rget_name, "rget(origin, target, comm, **attributes): get, with a request."),
    method<&transfer_method<Transfer{MPIX_RMA_ACCUMULATE, raccumulate_name, Returns::request}>>(
        raccumulate_name, "raccumulate(origin, target, comm, **attributes): accumulate, with a request."),
    method<&xfer_method<Returns::nothing>>("xfer", "xfer(operation, origin, target, comm, **attributes)"),
    method<&xfer_method<Returns::request>>("rxfer", "rxfer(operation, origin, target, comm, **attributes)"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mpixrma::python
