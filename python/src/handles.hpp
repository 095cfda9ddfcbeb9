/// MPI's handles in mpi4py's objects, and requests that are mpi4py's.
#pragma once

#include "python.hpp"

#include "mpix_rma.h"

namespace mpixrma::python {

/// Imports mpi4py.MPI, which calls MPI_Init unless mpi4py.rc forbids it.
void import_mpi4py_handles();

/// Each raises TypeError if the object is not mpi4py's of that kind. The address is valid as long as the
/// object.
MPI_Comm* comm_of(PyObject* object);
MPI_Datatype datatype_of(PyObject* object);
MPI_Op op_of(PyObject* object);
MPI_Win win_of(PyObject* object);
/// MPI_INFO_NULL for None.
MPI_Info info_of(PyObject* object);

bool is_datatype(PyObject* object) noexcept;

/// A window object like mpi4py's own: its error handler is MPI_ERRORS_RETURN.
py::object win_object(MPI_Win win);
py::object op_object(MPI_Op op);

/// The type of requests: a subclass of mpi4py's Request that keeps the operation's buffers until mpi4py sees
/// that the request is complete.
py::object make_request_type();
/// Announces the two subclasses in Python: the one of which new_request() makes instances, and that of
/// request objects, which have attributes.
void set_request_types(py::object request, py::object object);
/// A request that keeps `buffers` alive.
py::object new_request(MPI_Request request, py::object buffers);

/// The handle in a request of this package, or TypeError. The handle may be changed through the address.
MPI_Request* request_of(PyObject* object);
/// The same for a request object; ValueError if MPI has freed it with a failed operation.
MPI_Request* request_object_of(PyObject* object);
/// Makes the request keep `buffers`, and nothing else.
void set_buffers(PyObject* request, py::object buffers);

/// Tests the requests that the program dropped while their operations used buffers, and releases the buffers
/// of those that are complete. Keeps the first failure.
void reap_dropped_requests() noexcept;
/// Raises the failure of a dropped request, once.
void raise_dropped_failure();
/// Number of requests that were dropped and not yet released, for tests.
std::size_t dropped_requests() noexcept;

/// Whether MPI's calls may be made: between MPI_Init and MPI_Finalize.
bool mpi_is_usable() noexcept;

/// Raises mpix_rma.Error before MPI_Init and after MPI_Finalize, when MPI's functions end the process.
void require_mpi();

/// Raises mpix_rma.Error for a code other than MPI_SUCCESS.
void check(int code);
/// Raises mpix_rma.Error of a class, with a text of its own in place of the library's.
[[noreturn]] void raise_error(int error_class, char const* text);

}  // namespace mpixrma::python
