/// pybind11 with the settings of this extension, and short names for what all its files use.
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

namespace mpixrma::python {

namespace py = pybind11;

/// Raises the Python exception that is set.
[[noreturn]] inline void raise_set() { throw py::error_already_set(); }

/// Returns a new reference as an object, or raises the exception that is set.
inline py::object owned(PyObject* reference) {
  if (reference == nullptr) raise_set();
  return py::reinterpret_steal<py::object>(reference);
}

/// The positional arguments and keywords of a call, as METH_FASTCALL passes them.
struct Arguments {
  PyObject* const* values;
  Py_ssize_t positional;
  PyObject* keywords;  // tuple of names, or null

  Py_ssize_t keyword_count() const noexcept { return keywords != nullptr ? PyTuple_GET_SIZE(keywords) : 0; }
  PyObject* keyword_value(Py_ssize_t index) const noexcept { return values[positional + index]; }
  /// Raises TypeError unless `count` positional arguments were given.
  void require(Py_ssize_t count, char const* function) const {
    if (positional == count) return;
    PyErr_Format(PyExc_TypeError, "%s() takes %zd positional arguments but %zd were given", function, count,
                 positional);
    raise_set();
  }
};

/// The body of a function that Python calls: exceptions of C++ become Python's.
template <typename Body>
PyObject* guarded(Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (py::builtin_exception const& error) {
    error.set_error();
  } catch (std::bad_alloc const&) {
    PyErr_NoMemory();
  } catch (std::exception const& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

}  // namespace mpixrma::python
