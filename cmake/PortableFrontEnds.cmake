# The libraries above the engine, cross-compiled with the mpi.h of the target's Open MPI. They are not linked and not
# run: Open MPI does not start under qemu. A test looks for the barriers that aarch64 needs and x86
# does not.
set(mpi_include ${CMAKE_SOURCE_DIR}/build/aarch64-root/usr/lib/aarch64-linux-gnu/openmpi/include)
if(NOT EXISTS ${mpi_include}/mpi.h)
  return()
endif()
add_library(MPI::MPI_C INTERFACE IMPORTED GLOBAL)
target_include_directories(MPI::MPI_C SYSTEM INTERFACE ${mpi_include} ${mpi_include}/openmpi)
add_subdirectory(hosts/common)
add_subdirectory(datatype)
add_subdirectory(mpix)
add_subdirectory(armci)
add_custom_target(front_ends ALL DEPENDS datatype_objects mpix_objects armci_objects)
find_program(MPIX_OBJDUMP aarch64-linux-gnu-objdump REQUIRED)
add_test(NAME aarch64.barriers
         COMMAND ${PROJECT_SOURCE_DIR}/tests/aarch64/barriers ${MPIX_OBJDUMP} $<TARGET_OBJECTS:mpix_objects>
                 $<TARGET_OBJECTS:armci_objects> $<TARGET_FILE:mpix_engine>
         COMMAND_EXPAND_LISTS)
