# mpix_unit_test(NAME SOURCES a.cpp... [LIBRARIES ...] [TIMEOUT seconds] [LABELS ...]): a GoogleTest binary
#   that needs no MPI.
# mpix_mpi_test(NAME SOURCES ... [RANKS 1 2 3 4] [LIBRARIES ...] [TIMEOUT seconds] [LABELS ...] [MCA key=value ...]
#   [TWO_HOSTS] [ARGS ...]): one binary run under mpirun at each rank count, and with TWO_HOSTS
#   also through scripts/two-hosts. Exit code 77 of a two-hosts run means skipped.
find_package(GTest REQUIRED)
find_package(MPI REQUIRED COMPONENTS C)

function(mpix_unit_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} GTest::gtest GTest::gtest_main GTest::gmock mpix_warnings)
  add_test(NAME unit.${name} COMMAND ${name})
  set_tests_properties(unit.${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "unit;${arg_LABELS}")
endfunction()

function(mpix_mpi_test name)
  cmake_parse_arguments(arg "TWO_HOSTS" "TIMEOUT" "SOURCES;LIBRARIES;LABELS;RANKS;MCA;ARGS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(NOT arg_RANKS)
    set(arg_RANKS 1 2 3 4)
  endif()
  set(mca_flags "")
  foreach(pair IN LISTS arg_MCA)
    string(REPLACE "=" ";" pair "${pair}")
    list(APPEND mca_flags --mca ${pair})
  endforeach()
  if(arg_SOURCES)
    add_executable(${name} ${arg_SOURCES})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} mpix_warnings)
  endif()
  foreach(ranks IN LISTS arg_RANKS)
    add_test(NAME mpi.${name}.np${ranks}
             COMMAND ${MPIEXEC_EXECUTABLE} --oversubscribe --bind-to none -n ${ranks} ${mca_flags}
                     $<TARGET_FILE:${name}> ${arg_ARGS})
    set_tests_properties(mpi.${name}.np${ranks} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "mpi;${arg_LABELS}"
      PROCESSORS 2 ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
  endforeach()
  if(arg_TWO_HOSTS)
    add_test(NAME two_hosts.${name}
             COMMAND ${PROJECT_SOURCE_DIR}/scripts/two-hosts --ranks-per-host 1 -- ${mca_flags} $<TARGET_FILE:${name}> ${arg_ARGS})
    set_tests_properties(two_hosts.${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "two_hosts;${arg_LABELS}"
      SKIP_RETURN_CODE 77 RUN_SERIAL ON)
  endif()
endfunction()
