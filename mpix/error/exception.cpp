#include "mpix/error/exception.hpp"

#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>

#include "datatype/datatype.hpp"
#include "datatype/handle.hpp"
#include "engine/runtime/engine.hpp"
#include "mpix/error/error.hpp"
#include "mpix/runtime/process_engine.hpp"

namespace mpixrma {

int code_of_exception() noexcept {
  try {
    throw;
  } catch (std::bad_alloc const&) {
    return MPI_ERR_NO_MEM;
  } catch (std::length_error const&) {  // a container would exceed its maximum size
    return MPI_ERR_NO_MEM;
  } catch (UnknownDatatype const&) {
    return MPI_ERR_TYPE;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "MPIX_RMA: internal error: %s\n", error.what());
    return MPI_ERR_INTERN;
  } catch (...) {
    return MPI_ERR_INTERN;
  }
}

int raise_exception(MPI_Comm const* communicator, char const* call) noexcept {
  int const error_class = code_of_exception();
  bool const live = communicator != nullptr && hosted_engine() != nullptr &&
                    host().communicator_is_live(word_of(*communicator)) != 0;
  MPI_Comm const comm = live ? *communicator : MPI_COMM_WORLD;
  try {
    char const* const reason = error_class == MPI_ERR_NO_MEM ? "out of memory"
                               : error_class == MPI_ERR_TYPE ? "a datatype has an unknown constructor"
                                                             : "internal error";
    return raise({call, comm}, error_class, "%s", reason);
  } catch (...) {  // no memory for the text
    MPI_Comm_call_errhandler(comm, error_class);
    return error_class;
  }
}

}  // namespace mpixrma
