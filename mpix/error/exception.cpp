#include "mpix/error/exception.hpp"

#include <cstdio>
#include <new>
#include <stdexcept>

#include "engine/engine.hpp"
#include "mpix/error/error.hpp"

namespace mpix {

int code_of_exception() noexcept {
  try {
    throw;
  } catch (std::bad_alloc const&) {
    return MPI_ERR_NO_MEM;
  } catch (std::length_error const&) {  // a container that would be larger than any
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

int raise_exception(MPI_Comm const* communicator) noexcept {
  int const code = code_of_exception();
  engine::Engine const* const engine = engine::Engine::running();
  bool const live =
      communicator != nullptr && engine != nullptr && engine->host().communicator_is_live(*communicator) != 0;
  return raise(live ? *communicator : MPI_COMM_NULL, code);
}

}  // namespace mpix
