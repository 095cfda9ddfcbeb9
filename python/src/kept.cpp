#include "kept.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "handles.hpp"

namespace mpixrma::python {

namespace {

struct Kept {
  int rank;
  PyObject* owner;
};
using List = std::vector<Kept>;

constexpr std::size_t max_kept_buffers = 4096;  // for a communicator

std::unordered_map<MPI_Comm, List> lists;
/// Most programs use one communicator at a time.
MPI_Comm recent = MPI_COMM_NULL;
List* cached_list = nullptr;

/// A delete callback: MPI_Comm_free ends no operation, and another communicator may get the handle.
int communicator_freed(MPI_Comm communicator, int, void*, void*) {
  if (Py_IsInitialized() == 0) return MPI_SUCCESS;  // MPI_Finalize, after the interpreter
  int const code = MPIX_RMA_Complete_local(&communicator, MPIX_ALL_RANKS);
  py::gil_scoped_acquire const held;
  try {
    (void)take_buffers(communicator, MPIX_ALL_RANKS);
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("mpix_rma: a communicator is freed");
  }
  if (communicator == recent) recent = MPI_COMM_NULL;
  lists.erase(communicator);
  return code;
}

List& new_list_of(MPI_Comm communicator) {
  static int keyval = MPI_KEYVAL_INVALID;
  if (keyval == MPI_KEYVAL_INVALID)
    check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &communicator_freed, &keyval, nullptr));
  check(MPI_Comm_set_attr(communicator, keyval, nullptr));
  return lists[communicator];
}

List& list_of(MPI_Comm communicator) {
  if (communicator != recent) {
    auto const found = lists.find(communicator);
    cached_list =
        found != lists.end() ? &found->second : &new_list_of(communicator);  // nodes stay where they are
    recent = communicator;
  }
  return *cached_list;
}

void release_all(MPI_Comm* communicator) {
  int code = MPI_SUCCESS;
  py::object const taken = take_buffers(*communicator, MPIX_ALL_RANKS);
  {
    py::gil_scoped_release const others_run;
    code = MPIX_RMA_Complete_local(communicator, MPIX_ALL_RANKS);
  }
  check(code);
}

}  // namespace

void keep_buffer(MPI_Comm* communicator, int rank, PyObject* owner) {
  if (owner == nullptr) return;
  List& list = list_of(*communicator);
  if (!list.empty() && list.back().owner == owner && list.back().rank == rank) return;
  list.push_back({rank, Py_NewRef(owner)});
  if (list.size() >= max_kept_buffers) [[unlikely]]
    release_all(communicator);
}

py::object take_buffers(MPI_Comm communicator, int rank) {
  auto const found = lists.find(communicator);
  if (found == lists.end() || found->second.empty()) return py::none();
  List& list = found->second;
  auto const covered = std::partition(list.begin(), list.end(), [&](Kept const& kept) {
    return rank != MPIX_ALL_RANKS && kept.rank != rank;
  });
  py::list buffers;
  for (auto kept = covered; kept != list.end(); ++kept) {
    buffers.append(py::handle(kept->owner));
    Py_DECREF(kept->owner);
  }
  list.erase(covered, list.end());
  return buffers;
}

std::size_t kept_buffers() noexcept {
  std::size_t count = 0;
  for (auto const& [communicator, list] : lists) count += list.size();
  return count;
}

}  // namespace mpixrma::python
