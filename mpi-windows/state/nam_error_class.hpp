/// Error classes of calls on memory at a memory server.
#pragma once

#include <mpi.h>

#include <exception>
#include <string>

#include "mpi-windows/nam/window.hpp"
#include "mpi-windows/state/error.hpp"

namespace mpixrma::windows {

/// Calls `call`. Returns the error class of its exception, with the text in `*text`, or MPI_SUCCESS.
template <typename Call>
int error_class_of_call(Call call, std::string* text) {
  try {
    call();
    return MPI_SUCCESS;
  } catch (NamError const& error) {
    *text = error.what();
    return error.error_class();
  } catch (std::exception const& error) {
    *text = error.what();
    return class_of_exception();
  }
}

}  // namespace mpixrma::windows
