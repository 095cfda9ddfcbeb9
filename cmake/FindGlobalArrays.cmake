# Debian's Global Arrays for Open MPI, whose ARMCI symbols are left to be resolved by a library of choice.
# Gives GlobalArrays::GA; link an ARMCI after it.
find_path(GlobalArrays_INCLUDE_DIR ga.h)
find_library(GlobalArrays_LIBRARY NAMES ga-openmpi)
find_library(GlobalArrays_SCALAPACK NAMES scalapack-openmpi)
find_library(GlobalArrays_LAPACK NAMES lapack)
find_library(GlobalArrays_BLAS NAMES blas)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(GlobalArrays REQUIRED_VARS GlobalArrays_INCLUDE_DIR GlobalArrays_LIBRARY
  GlobalArrays_SCALAPACK GlobalArrays_LAPACK GlobalArrays_BLAS)
if(GlobalArrays_FOUND AND NOT TARGET GlobalArrays::GA)
  add_library(GlobalArrays::GA INTERFACE IMPORTED)
  set(GlobalArrays_DEPENDENCIES ${GlobalArrays_SCALAPACK} ${GlobalArrays_LAPACK} ${GlobalArrays_BLAS} gfortran m quadmath pthread)
endif()

# link_global_arrays(target armci-target...): the static library in front, then the ARMCI, then what both need.
function(link_global_arrays target)
  target_include_directories(${target} PRIVATE ${GlobalArrays_INCLUDE_DIR})
  target_link_libraries(${target} PRIVATE ${GlobalArrays_LIBRARY} ${ARGN} ${GlobalArrays_DEPENDENCIES} MPI::MPI_C)
endfunction()
