/// MPIX_RMA_Get_version.
#include "include/mpix_rma.h"
#include "mpix/runtime/profiling.hpp"

MPIX_PROFILED(MPIX_RMA_Get_version)

int MPIX_RMA_Get_version(int* version, int* subversion) {
  if (version == nullptr || subversion == nullptr) return MPI_ERR_ARG;
  *version = MPIX_RMA_VERSION;
  *subversion = MPIX_RMA_SUBVERSION;
  return MPI_SUCCESS;
}
