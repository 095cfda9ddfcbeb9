/// Queries about a call on a window, for the libraries of broken promises.
#pragma once

#include <mpi.h>

#include <string>
#include <thread>

#include "spec-conformance/mutations/clause.hpp"

namespace mpixrma::broken {

inline std::thread::id const first_thread = std::this_thread::get_id();

/// Whether the calling thread is not the one that has loaded the library.
inline bool is_other_thread() { return std::this_thread::get_id() != first_thread; }

inline int own_rank(MPI_Win window) {
  MPI_Group group = MPI_GROUP_NULL;
  int rank = -1;
  PMPI_Win_get_group(window, &group);
  PMPI_Group_rank(group, &rank);
  PMPI_Group_free(&group);
  return rank;
}

/// The value of a key; empty if there is none.
inline std::string value_of(MPI_Info info, char const* key) {
  char value[MPI_MAX_INFO_VAL + 1];
  int found = 0;
  if (info != MPI_INFO_NULL) PMPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
  return found != 0 ? value : "";
}

/// The class of an error.
inline int class_of(int code) {
  int error_class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) PMPI_Error_class(code, &error_class);
  return error_class;
}

/// Returns `code`, or MPI_SUCCESS if `code` is of this class and the clause is broken.
inline int without_error(char const* clause, int code, int error_class) {
  return is(clause) && class_of(code) == error_class ? MPI_SUCCESS : code;
}

}  // namespace mpixrma::broken
