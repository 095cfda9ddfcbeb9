# Open MPI's internal headers, as Debian's libopenmpi-dev installs them. Gives OpenMPI::Devel.
find_program(OpenMPIDevel_MPICC NAMES mpicc.openmpi mpicc)
if(OpenMPIDevel_MPICC)
  execute_process(COMMAND ${OpenMPIDevel_MPICC} --showme:incdirs OUTPUT_VARIABLE incdirs OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${OpenMPIDevel_MPICC} --showme:libdirs OUTPUT_VARIABLE libdirs OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  separate_arguments(incdirs)
  separate_arguments(libdirs)
endif()
find_path(OpenMPIDevel_INCLUDE_DIR ompi/mca/osc/osc.h HINTS ${incdirs} PATH_SUFFIXES openmpi)
find_library(OpenMPIDevel_MPI_LIBRARY mpi HINTS ${libdirs})
find_library(OpenMPIDevel_PAL_LIBRARY open-pal HINTS ${libdirs})
if(OpenMPIDevel_INCLUDE_DIR)
  file(STRINGS ${OpenMPIDevel_INCLUDE_DIR}/opal_config.h version_lines REGEX "define OPAL_(MAJOR|MINOR|RELEASE)_VERSION")
  string(REGEX REPLACE "[^0-9;]" "" OpenMPIDevel_VERSION "${version_lines}")
  string(REPLACE ";" "." OpenMPIDevel_VERSION "${OpenMPIDevel_VERSION}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OpenMPIDevel
  REQUIRED_VARS OpenMPIDevel_INCLUDE_DIR OpenMPIDevel_MPI_LIBRARY OpenMPIDevel_PAL_LIBRARY
  VERSION_VAR OpenMPIDevel_VERSION
  REASON_FAILURE_MESSAGE "install Open MPI with its development headers (Debian: libopenmpi-dev)")
if(OpenMPIDevel_FOUND AND NOT TARGET OpenMPI::Devel)
  add_library(OpenMPI::Devel INTERFACE IMPORTED)
  get_filename_component(parent ${OpenMPIDevel_INCLUDE_DIR} DIRECTORY)
  set_target_properties(OpenMPI::Devel PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${OpenMPIDevel_INCLUDE_DIR};${parent}"
    INTERFACE_LINK_LIBRARIES "${OpenMPIDevel_MPI_LIBRARY};${OpenMPIDevel_PAL_LIBRARY}")
endif()
