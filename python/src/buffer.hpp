/// The origin's side of an operation: memory of this process as Python's objects name it.
#pragma once

#include "layout.hpp"
#include "python.hpp"

namespace mpixrma::python {

enum class Access { read, write };

struct Buffer {
  void* address = nullptr;
  MPI_Count count = 0;
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
  /// The predefined datatype of all elements, as element_of_given() has it, or MPI_DATATYPE_NULL if the
  /// program gave a derived datatype.
  MPI_Datatype element = MPI_DATATYPE_NULL;
  MPI_Count elements = 0;
  bool contiguous = true;
  /// Keeps the memory alive: the array itself, or an export of the buffer.
  PyObject* owner = nullptr;
  /// A new reference to `owner`; none for an array, which the caller holds.
  py::object holder;
  Layout layout;
};

/// Initialises what this file needs of NumPy.
void import_numpy();

/**
 * Finds the memory that an object names.
 *
 * @param object  a NumPy array; an object with a buffer; a tuple or list (buffer, datatype) or (buffer,
 * count, datatype), as mpi4py has it; an array of another library by __dlpack__
 * @param access  write for results
 *
 * Raises TypeError for other objects, for items that are Python objects, have the other byte order or a
 * format that NumPy does not know, and for memory of a device; ValueError for a read-only result, and for a
 * datatype that reaches beyond an end of the buffer.
 */
Buffer buffer_of(PyObject* object, Access access);

/// The element of NumPy's dtype. TypeError for Python objects and for the other byte order, also in records.
Element element_of_dtype(py::handle dtype);

/// A number as a buffer of one element, converted to `dtype` by NumPy's rules. ValueError if there is not one
/// number, or if `dtype` cannot hold it: floating types round numbers, but not to infinity.
Buffer converted_scalar(PyObject* value, py::handle dtype);

}  // namespace mpixrma::python
