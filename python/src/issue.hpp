/// The common part of operations: the request, the GIL, and the life of buffers.
#pragma once

#include <optional>

#include "handles.hpp"
#include "kept.hpp"
#include "keywords.hpp"
#include "python.hpp"

namespace mpixrma::python {

/// Whether a call returns a new request.
enum class Returns { nothing, request };

/// Attributes with which an operation may wait for other processes.
inline constexpr std::uint64_t waiting =
    MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_ATOMICITY | MPIX_RMA_ATTR_ORDERING;

/// Operations that may wait for other processes, or copy much, let Python's other threads run. Attributes of
/// the communicator do not count.
inline bool may_take_long(Keywords const& keywords, MPI_Count elements) noexcept {
  constexpr MPI_Count much = 4096;
  return keywords.has(waiting) || elements > much;
}

/**
 * Issues an operation and keeps its buffers as long as it uses them.
 *
 * @param call   issues it: int (MPI_Request*), with null for no request
 * @param owners returns an object that keeps all buffers, a py::object
 *
 * A request object of the program has the attributes, so that the call must have none.
 */
template <typename Call, typename Owners>
PyObject* issue(Keywords const& keywords, MPI_Comm* communicator, int rank, Returns returns,
                MPI_Count elements, Call&& call, Owners&& owners) {
  MPI_Request created = MPI_REQUEST_NULL;
  MPI_Request* const given = keywords.request != nullptr ? request_object_of(keywords.request) : nullptr;
  if (given != nullptr && (returns == Returns::request || keywords.argument() != nullptr))
    throw py::type_error(
        "the attributes are those of the request object: the call has none, and no new request");
  MPI_Request* const used = given != nullptr ? given : returns == Returns::request ? &created : nullptr;
  int code = MPI_SUCCESS;
  {
    std::optional<py::gil_scoped_release> others_run;
    if (may_take_long(keywords, elements)) others_run.emplace();
    code = call(used);
  }
  check(code);
  bool const complete = keywords.has(MPIX_RMA_ATTR_BLOCKING);
  if (used == nullptr) {
    if (!complete) keep_buffer(communicator, rank, owners().ptr());
    Py_RETURN_NONE;
  }
  py::object buffers = complete ? py::none() : py::object(owners());
  if (given == nullptr) return new_request(created, std::move(buffers)).release().ptr();
  set_buffers(keywords.request, std::move(buffers));
  return Py_NewRef(keywords.request);
}

}  // namespace mpixrma::python
