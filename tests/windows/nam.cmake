# Windows at memory servers, which each program or script starts.
foreach(name windows calls private lost servers striped)
  set(program nam_${name}_test)
  set(sources nam_${name}_test.cpp)
  set(libraries mpix_nam mpix_rma mpix_test_main)
  if(name STREQUAL calls)
    list(APPEND sources nam_names_test.cpp)
  endif()
  if(name STREQUAL windows)  # by MPI's interface alone
    set(sources nam_test.cpp)
    list(REMOVE_ITEM libraries mpix_rma)
  endif()
  mpix_mpi_program(${program} SOURCES ${sources} LIBRARIES ${libraries})
  target_compile_definitions(${program} PRIVATE MPIX_NAMD="$<TARGET_FILE:mpix-namd>")
  add_dependencies(${program} mpix-namd)
endforeach()
mpix_mpi_tests(nam_tests.table)

# mpix_nam_test(NAME [LABELS ...] [SETTINGS ...] [PROCESSORS halves of a core] COMMAND ...)
function(mpix_nam_test name)
  cmake_parse_arguments(arg "" "PROCESSORS" "COMMAND;LABELS;SETTINGS" ${ARGN})
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 2)
  endif()
  string(REGEX MATCH "^[a-z_]*" kind ${name})
  mpix_read_settings("${arg_SETTINGS}" mca environment)
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES TIMEOUT 1200 LABELS "${kind};nam;windows;${arg_LABELS}" SKIP_RETURN_CODE 77
    PROCESSORS ${arg_PROCESSORS} ENVIRONMENT "${mpix_mpi_environment};${environment}")
endfunction()

set(scripts ${PROJECT_SOURCE_DIR}/tests/nam)
set(servers $<TARGET_FILE_DIR:mpix-namd>)
# Both hosts are one machine, so the second one can reach the server's Unix socket: MPIX_NAM_TCP=1 prevents that.
set(private $<TARGET_FILE:nam_private_test> --gtest_filter=PrivateServerOfTwoHosts.*)
set(two_hosts ${PROJECT_SOURCE_DIR}/scripts/two-hosts --)
mpix_nam_test(two_hosts.nam_private.tcp0 COMMAND ${two_hosts} -x MPIX_NAM_TCP=0 ${private})
mpix_nam_test(two_hosts.nam_private.tcp1 COMMAND ${two_hosts} -x MPIX_NAM_TCP=1 ${private})
mpix_nam_test(two_hosts.nam_private.network
  COMMAND ${two_hosts} -x MPIX_NAM_TCP=1 --mca osc_mpix_network emulated ${private})
mpix_nam_test(two_hosts.nam_private.encrypted COMMAND ${two_hosts} -x MPIX_NAM_TCP=1 -x MPIX_NAM_ENCRYPT=1 ${private})
mpix_nam_test(two_hosts.nam_private.no_network COMMAND ${two_hosts} --mca osc_mpix_interfaces 127.0.0.0/8
  $<TARGET_FILE:nam_private_test> --gtest_filter=PrivateServerWithoutNetwork.*)

# Random programs whose windows are spread over two grants of a server, and random programs on two hosts.
set(spread ${scripts}/spread.sh ${servers} ${MPIX_MPIRUN} --oversubscribe --bind-to none -np 3 --mca osc mpix
           $<TARGET_FILE:random_windows> --ops 3000)
mpix_nam_test(mpi.random_windows.nam_spread SETTINGS component MPIX_TEST_MEMORY=deep_nam
  COMMAND ${spread} --without create,shared,dynamic)
# Without features that striped windows do not support: stores, reads without locks, and elements across stripes.
mpix_nam_test(mpi.random_windows.nam_striped SETTINGS component MPIX_TEST_MEMORY=deep_nam MPIX_TEST_STRIPE=4096
  COMMAND ${spread} --without create,shared,dynamic,stores,overlap,info,derived)
set(random ${scripts}/on_two_hosts.sh ${servers} 1 2 $<TARGET_FILE:random_windows> --ops 10000
           --without create,shared,dynamic,stores,info)
mpix_nam_test(two_hosts.random_windows.nam_encrypted COMMAND ${random}
  SETTINGS component MPIX_TEST_MEMORY=deep_nam MPIX_NAMD_ENCRYPT=1 MPIX_NAM_ENCRYPT=1)
foreach(keys never emulated)
  mpix_nam_test(two_hosts.random_windows.nam_network_${keys} COMMAND ${random}
    SETTINGS component MPIX_TEST_MEMORY=deep_nam MPIX_NAMD_RDMA=${keys} OMPI_MCA_osc_mpix_network=${keys})
endforeach()
set_property(TEST two_hosts.random_windows.nam_network_emulated APPEND PROPERTY LABELS more)

# Jobs of several users, who reach the server at its socket.
mpix_mpi_program(nam_guest SOURCES nam_guest.cpp LIBRARIES mpix_rma MPI::MPI_C mpix_warnings)
add_dependencies(nam_guest mpix-namd mpix-nam)
mpix_nam_test(mpi.nam_users SETTINGS component COMMAND ${scripts}/users.sh ${MPIX_MPIRUN} ${servers} $<TARGET_FILE:nam_guest>)
# The owner of a grant, and eight hostile users who try to exhaust the server.
mpix_mpi_program(nam_colluder SOURCES ${PROJECT_SOURCE_DIR}/tests/nam/colluder.cpp LIBRARIES mpix_nam mpix_warnings)
mpix_nam_test(mpi.nam_colluders SETTINGS component LABELS fault PROCESSORS 3
  COMMAND ${scripts}/colluders.sh ${MPIX_MPIRUN} ${servers} $<TARGET_FILE:nam_guest> $<TARGET_FILE:nam_colluder>)

mpix_mpi_program(nam_counter SOURCES nam_counter.cpp LIBRARIES MPI::MPI_C mpix_warnings)
mpix_nam_test(two_hosts.nam SETTINGS component LABELS more
  COMMAND ${scripts}/two_hosts.sh ${servers} $<TARGET_FILE:nam_counter> 100 1)
mpix_nam_test(two_hosts.nam_servers SETTINGS component
  COMMAND ${scripts}/two_hosts.sh ${servers} $<TARGET_FILE:nam_counter> 100 2)
if(MPIX_BUILD_EXAMPLES)
  mpix_nam_test(mpi.nam_jobs SETTINGS component
    COMMAND ${scripts}/jobs.sh ${MPIX_MPIRUN} ${servers} ${PROJECT_BINARY_DIR}/examples/nam_producer
            ${PROJECT_BINARY_DIR}/examples/nam_consumer $<TARGET_FILE:nam_counter>
            ${PROJECT_SOURCE_DIR}/examples/nam_reader.py)
endif()
