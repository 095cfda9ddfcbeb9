# pkg-config and CMake package files; relocatable.
include(CMakePackageConfigHelpers)

file(RELATIVE_PATH MPIX_PC_PREFIX "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
# The MPI that the libraries are built against; a C compiler finds it without mpicc.
set(MPIX_MPI_CFLAGS "")
foreach(directory IN LISTS MPI_C_INCLUDE_DIRS)
  string(APPEND MPIX_MPI_CFLAGS " -I${directory}")
endforeach()
list(JOIN MPI_C_LIBRARIES " " MPIX_MPI_LIBS)
foreach(package mpix-engine mpix-rma armci)
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
