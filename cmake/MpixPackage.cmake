# pkg-config and CMake package files; relocatable.
include(CMakePackageConfigHelpers)

file(RELATIVE_PATH MPIX_PC_PREFIX "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
# The MPI that the libraries are built against; a C compiler finds it without mpicc.
set(MPIX_MPI_CFLAGS "")
foreach(directory IN LISTS MPI_C_INCLUDE_DIRS)
  string(APPEND MPIX_MPI_CFLAGS " -I${directory}")
endforeach()
list(JOIN MPI_C_LIBRARIES " " MPIX_MPI_LIBS)
set(packages mpix-engine mpix-rma armci)
if(TARGET mpix_rma_fortran)
  list(APPEND packages mpix-rma-fortran)
  set(MPIX_MPI_FORTRAN_CFLAGS "")
  foreach(directory IN LISTS MPI_Fortran_INCLUDE_DIRS MPI_Fortran_F08_MODULE_DIR)
    string(APPEND MPIX_MPI_FORTRAN_CFLAGS " -I${directory}")
  endforeach()
  list(JOIN MPI_Fortran_LIBRARIES " " MPIX_MPI_FORTRAN_LIBS)
endif()
foreach(package IN LISTS packages)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${package}.pc.in ${PROJECT_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/MPIXRMA)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/MPIXRMAConfig.cmake.in
  ${PROJECT_BINARY_DIR}/MPIXRMAConfig.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/MPIXRMAConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/MPIXRMAConfig.cmake ${PROJECT_BINARY_DIR}/MPIXRMAConfigVersion.cmake
        DESTINATION ${config_dir})
install(EXPORT MPIXRMATargets NAMESPACE MPIXRMA:: DESTINATION ${config_dir})
if(TARGET mpix_rma_fortran)
  install(EXPORT MPIXRMAFortranTargets NAMESPACE MPIXRMA:: DESTINATION ${config_dir})
endif()
