/// The target's side of an operation: elements in the memory of a rank.
#pragma once

#include "buffer.hpp"
#include "python.hpp"

namespace mpixrma::python {

struct Target {
  int rank = MPI_PROC_NULL;
  void* address = nullptr;
  MPI_Count count = 0;
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
  MPI_Datatype element = MPI_DATATYPE_NULL;  // as in Buffer
  MPI_Count elements = 0;
  bool contiguous = true;  // unless an MPI datatype has gaps
  py::handle dtype;        // of NumPy, or null
};

/// The type Target of Python.
py::object make_target_type();

/// A Target, or a tuple (rank, address), which has the origin's elements without gaps. TypeError for others,
/// and for elements of another type than the origin's, unless one of them is of bytes or of a derived
/// datatype.
Target target_of(PyObject* object, Buffer const& origin);
/// A Target, or a tuple (rank, address) without elements.
Target target_of(PyObject* object);

/// Returns the address that an integer of Python or NumPy holds.
void* address_of(PyObject* object);
int rank_of(PyObject* object);
/// Returns the number of an operation, known or not. ValueError beyond int.
int operation_of(PyObject* object);

}  // namespace mpixrma::python
