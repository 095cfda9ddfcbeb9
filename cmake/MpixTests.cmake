# mpix_mpi_test(NAME [SOURCES ...] [LIBRARIES ...] [RANKS 1 2 3 4, or none] [TIMEOUT seconds, above 1200] [LABELS ...]
#               [TWO_HOSTS [1x2] [2x2]] [MORE ranks or hosts...] [VARIANT name] [MCA key=value ...]
#               [ENVIRONMENT NAME=VALUE ...] [ARGUMENTS ...] [RESULTS directory])
#   A program run under mpirun at each rank count; with TWO_HOSTS also through scripts/two-hosts, whose exit code 77
#   means that the machine does not permit it: with one rank (1x2) and with two ranks (2x2) on each of two hosts, or
#   with the given one of these. MORE: the rank counts and hosts whose tests bear label `more` (CONTRIBUTING.md), as 2
#   or 1x2. Without SOURCES the target exists already; VARIANT then names the tests of this set of MCA parameters.
#   RESULTS: the directory for the results that GoogleTest writes as JSON. Under sanitizers a test has a tenth of the
#   operations of its ARGUMENTS (--ops) and five times its TIMEOUT.
# mpix_mpi_tests(TABLE [WITHOUT PROGRAM...])
#   The tests of a table of this folder, a row each: program | variant | ranks | hosts | labels | settings | arguments.
#   ranks: rank counts on one host, or "-"; hosts: "1x2" for one rank on each of two hosts, too, "2x2" for two, "two"
#   for both; settings: MCA parameters (lower case), variables of the environment (upper case), and "component" where
#   the program is not linked with the library; "-" where there is nothing. Several rows may have one program and
#   variant, and differ in ranks, hosts and labels. Rows of the programs after WITHOUT are left out.
# mpix_mpi_program(NAME SOURCES a.cpp... [LIBRARIES ...])
#   A program that the rows of a table run.
# mpix_armci_program(NAME SOURCES a.cpp... [LIBRARIES ...])
#   A program that sees this library's ARMCI headers, not the system's. mpix_mpi_test() without SOURCES runs it.
find_package(GTest REQUIRED)
# Most of the time that an optimised build takes goes into tests, which gain nothing from the optimiser.
set(mpix_test_options $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:C,CXX>>:-O1>)
# Programs with GoogleTest spend their time in the libraries: they are not optimised at all, except those passed to
# mpix_optimise().
set(mpix_gtest_options $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:C,CXX>>:-O0>)

function(mpix_mpi_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
endfunction()

function(mpix_armci_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} BEFORE PRIVATE ${PROJECT_SOURCE_DIR}/include/armci)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE armci ${arg_LIBRARIES})
endfunction()

# Debian's Open MPI may not be the default MPI of the machine.
find_program(MPIX_MPIRUN NAMES mpirun.openmpi mpirun REQUIRED)
include(MpixUnitTests)
# Rank counts whose tests bear label `sanitized`, except tests of faults: these limit the address space, which a
# sanitizer itself needs, and fork, after which a sanitizer misses the threads of the parent.
set(mpix_sanitized_ranks 2 3)
# On machines without a high-speed network Open MPI selects pml/ob1 after opening the libraries of all PMLs; with
# pml/ob1 named, a job starts in two thirds of the time. The tests of installed files leave the choice to Open MPI.
set(mpix_mpi_environment OMPI_MCA_pml=ob1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OPENBLAS_NUM_THREADS=1
    XDG_CACHE_HOME=${PROJECT_BINARY_DIR}/cache ${mpix_sanitizer_environment})
# Jobs run side by side: a process that waits yields its core to another job.
set(mpix_shared_cores OMPI_MCA_mpi_yield_when_idle=1)
# For programs that are not linked with the library, as in share/env.sh.in.
set(mpix_component_environment PMIX_MCA_mca_base_component_path=${PROJECT_BINARY_DIR}/lib/mpix-rma
    OMPI_MCA_mca_base_component_path=${PROJECT_BINARY_DIR}/lib/mpix-rma/openmpi:SYSTEM_DEFAULT)

# mpix_processors(RANKS RESULT [LABEL...])
#   PROCESSORS of a test with RANKS ranks on one host, in halves of a core, of which scripts/test gives out eight: while
#   a job starts and ends, the cores are idle half of the time. Litmus tests, and more than three ranks, which wait for
#   each other on fewer cores, take several times as long beside another test: they get six halves, and leave two to a
#   small test.
function(mpix_processors ranks result)
  set(processors 2)
  if(ranks EQUAL 1)
    set(processors 1)
  elseif(ranks GREATER 3 OR "litmus" IN_LIST ARGN)
    set(processors 6)
  endif()
  set(${result} ${processors} PARENT_SCOPE)
endfunction()

# mpix_two_hosts_sharing(RANKS PROCESSORS ENVIRONMENT [LABEL...])
#   PROCESSORS of a test with RANKS ranks on each of two hosts, and the ENVIRONMENT with which the test shares the
#   cores.
function(mpix_two_hosts_sharing ranks processors environment)
  math(EXPR all "2 * ${ranks}")
  mpix_processors(${all} taken ${ARGN})
  set(${processors} ${taken} PARENT_SCOPE)
  set(${environment} ${mpix_shared_cores} PARENT_SCOPE)
  if("litmus" IN_LIST ARGN)
    set(${environment} "" PARENT_SCOPE)
  endif()
endfunction()

# mpix_read_table(TABLE ROWS): rows that are no comments, blanks around columns taken away, columns separated by "|".
function(mpix_read_table table result)
  cmake_path(ABSOLUTE_PATH table BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  file(STRINGS ${table} lines REGEX "^[^#]")
  set(rows "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE " *[|] *" "|" line "${line}")
    list(APPEND rows "${line}")
  endforeach()
  set(${result} ${rows} PARENT_SCOPE)
endfunction()

# mpix_read_settings(SETTINGS MCA ENVIRONMENT): the words of a row's settings, by kind.
function(mpix_read_settings settings mca environment)
  string(REPLACE " " ";" settings "${settings}")
  set(parameters "")
  set(variables "")
  foreach(setting IN LISTS settings)
    if(setting STREQUAL "component")
      list(APPEND variables ${mpix_component_environment})
    elseif(setting MATCHES "^[A-Z]")
      list(APPEND variables ${setting})
    elseif(setting MATCHES "^[a-z][a-z_]*=")
      list(APPEND parameters ${setting})
    elseif(NOT setting STREQUAL "-")
      message(FATAL_ERROR "\"${setting}\" is no setting: expected NAME=VALUE, parameter=value or component")
    endif()
  endforeach()
  set(${mca} ${parameters} PARENT_SCOPE)
  set(${environment} ${variables} PARENT_SCOPE)
endfunction()

function(mpix_mpi_tests table)
  cmake_parse_arguments(arg "" "" "WITHOUT" ${ARGN})
  mpix_read_table(${table} rows)
  foreach(row IN LISTS rows)
    string(REPLACE "|" ";" row "${row}")
    list(APPEND row "-")  # the arguments of a row without any
    list(POP_FRONT row program variant ranks hosts labels settings arguments)
    if(program IN_LIST arg_WITHOUT)
      continue()
    elseif(NOT TARGET ${program})
      message(FATAL_ERROR "${table}: no program is named ${program}")
    endif()
    foreach(column variant hosts labels arguments)
      string(REGEX REPLACE "^-$" "" ${column} "${${column}}")
    endforeach()
    string(REPLACE "two" "1x2;2x2" hosts "${hosts}")
    string(REPLACE "," ";" hosts "${hosts}")
    if(hosts)
      list(PREPEND hosts TWO_HOSTS)
    endif()
    string(REPLACE "," ";" ranks "${ranks}")
    string(REGEX REPLACE "^-$" "none" ranks "${ranks}")
    string(REPLACE "," ";" labels "${labels}")
    string(REPLACE " " ";" arguments "${arguments}")
    set(timeout 1200)
    if("long" IN_LIST labels)
      set(timeout 3600)
    endif()
    mpix_read_settings("${settings}" mca environment)
    mpix_mpi_test(${program} VARIANT ${variant} RANKS ${ranks} LABELS ${labels} MCA ${mca} ENVIRONMENT ${environment}
                  ARGUMENTS ${arguments} TIMEOUT ${timeout} ${hosts})
  endforeach()
endfunction()

function(mpix_mpi_test name)
  cmake_parse_arguments(arg "" "TIMEOUT;VARIANT;RESULTS"
    "SOURCES;LIBRARIES;LABELS;RANKS;TWO_HOSTS;MORE;MCA;ENVIRONMENT;ARGUMENTS" ${ARGN})
  if("TWO_HOSTS" IN_LIST arg_KEYWORDS_MISSING_VALUES)
    set(arg_TWO_HOSTS 1x2 2x2)
  endif()
  # A bound against hanging: what usually takes a second may take a hundred times as long on a slow machine.
  if(NOT arg_TIMEOUT OR arg_TIMEOUT LESS 1200)
    set(arg_TIMEOUT 1200)
  endif()
  if(NOT arg_RANKS)
    set(arg_RANKS 1 2 3 4)
  endif()
  set(mca_flags "")
  foreach(pair IN LISTS arg_MCA)
    string(REPLACE "=" ";" pair "${pair}")
    list(APPEND mca_flags --mca ${pair})
  endforeach()
  set(test_name ${name})
  if(arg_VARIANT)
    set(test_name ${name}.${arg_VARIANT})
  endif()
  if(arg_SOURCES)
    mpix_mpi_program(${name} SOURCES ${arg_SOURCES} LIBRARIES ${arg_LIBRARIES})
  endif()
  mpix_sanitized_program(${name})
  if(MPIX_SANITIZE)
    string(REGEX REPLACE "(--ops;[0-9]+)0(;|$)" "\\1\\2" arg_ARGUMENTS "${arg_ARGUMENTS}")
    math(EXPR arg_TIMEOUT "5 * ${arg_TIMEOUT}")
  endif()
  list(REMOVE_ITEM arg_RANKS none)
  foreach(ranks IN LISTS arg_RANKS)
    set(sanitized "")
    if(ranks IN_LIST mpix_sanitized_ranks AND NOT "fault" IN_LIST arg_LABELS)
      set(sanitized sanitized)
    endif()
    set(more "")
    if(ranks IN_LIST arg_MORE)
      set(more more)
    endif()
    set(result "")
    if(arg_RESULTS)
      set(result "GTEST_OUTPUT=json:${arg_RESULTS}/${test_name}.np${ranks}.json")
    endif()
    mpix_processors(${ranks} processors ${arg_LABELS})
    add_test(NAME mpi.${test_name}.np${ranks}
             COMMAND ${MPIX_MPIRUN} --oversubscribe --bind-to none -np ${ranks} ${mca_flags} $<TARGET_FILE:${name}> ${arg_ARGUMENTS})
    set_tests_properties(mpi.${test_name}.np${ranks} PROPERTIES TIMEOUT ${arg_TIMEOUT}
      LABELS "mpi;${arg_LABELS};${sanitized};${more}"
      ENVIRONMENT "${mpix_mpi_environment};${mpix_shared_cores};${arg_ENVIRONMENT};${result}")
    mpix_order_test(mpi.${test_name}.np${ranks} ${processors})
    mpix_sanitized_tests(mpi.${test_name}.np${ranks})
  endforeach()
  foreach(hosts IN LISTS arg_TWO_HOSTS)
    if(NOT hosts MATCHES "^([12])x2$")
      message(FATAL_ERROR "${test_name}: \"${hosts}\" is not 1x2 or 2x2")
    endif()
    set(ranks ${CMAKE_MATCH_1}) # on each host
    set(more "")
    if(hosts IN_LIST arg_MORE)
      set(more more)
    endif()
    set(result "")
    if(arg_RESULTS)
      set(result "GTEST_OUTPUT=json:${arg_RESULTS}/${test_name}.${hosts}.json")
    endif()
    mpix_two_hosts_sharing(${ranks} processors shared ${arg_LABELS})
    add_test(NAME two_hosts.${test_name}.${hosts}
             COMMAND ${PROJECT_SOURCE_DIR}/scripts/two-hosts --ranks-per-host ${ranks} -- ${mca_flags} $<TARGET_FILE:${name}> ${arg_ARGUMENTS})
    set_tests_properties(two_hosts.${test_name}.${hosts} PROPERTIES TIMEOUT ${arg_TIMEOUT}
      LABELS "two_hosts;${arg_LABELS};${more}" SKIP_RETURN_CODE 77
      ENVIRONMENT "${mpix_mpi_environment};${shared};${arg_ENVIRONMENT};${result}")
    mpix_order_test(two_hosts.${test_name}.${hosts} ${processors})
  endforeach()
endfunction()
