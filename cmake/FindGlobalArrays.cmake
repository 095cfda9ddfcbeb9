# Debian's static Global Arrays for Open MPI and, where installed, for MPICH. Their ARMCI symbols are undefined: the
# program chooses the library that resolves them.
find_path(GlobalArrays_INCLUDE_DIR ga.h)
foreach(mpi openmpi mpich)
  find_library(GlobalArrays_LIBRARY_${mpi} NAMES ga-${mpi})
  find_library(GlobalArrays_SCALAPACK_${mpi} NAMES scalapack-${mpi})
endforeach()
find_library(GlobalArrays_LAPACK NAMES lapack)
find_library(GlobalArrays_BLAS NAMES blas)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(GlobalArrays REQUIRED_VARS GlobalArrays_INCLUDE_DIR GlobalArrays_LIBRARY_openmpi
  GlobalArrays_SCALAPACK_openmpi GlobalArrays_LAPACK GlobalArrays_BLAS)

# link_static_global_arrays(target mpi library...): static Global Arrays, the libraries, then what Global Arrays needs.
function(link_static_global_arrays target mpi)
  target_include_directories(${target} PRIVATE ${GlobalArrays_INCLUDE_DIR})
  target_link_libraries(${target} PRIVATE ${GlobalArrays_LIBRARY_${mpi}} ${ARGN} ${GlobalArrays_SCALAPACK_${mpi}}
    ${GlobalArrays_LAPACK} ${GlobalArrays_BLAS} gfortran m quadmath pthread)
endfunction()

# link_global_arrays(target armci-target...): Global Arrays for Open MPI, on that ARMCI.
function(link_global_arrays target)
  link_static_global_arrays(${target} openmpi ${ARGN})
  target_link_libraries(${target} PRIVATE MPI::MPI_C)
endfunction()
