/// Buffers of operations without a request, which stay alive until a completion covers them.
#pragma once

#include "python.hpp"

#include "mpix_rma.h"

namespace mpixrma::python {

/// Keeps a buffer of an operation to `rank` until a completion of the communicator and rank. When too many
/// are kept, waits until the buffers of all operations of the communicator may be reused, as
/// MPIX_RMA_Complete_local does, and releases them.
void keep_buffer(MPI_Comm* communicator, int rank, PyObject* owner);

/// Takes the buffers that a completion covers out of those kept, before it begins: operations that other
/// threads issue meanwhile are not covered.
py::object take_buffers(MPI_Comm communicator, int rank);

/// Number of buffers kept for all communicators, for tests.
std::size_t kept_buffers() noexcept;

}  // namespace mpixrma::python
