# mpix_unit_test(NAME [SOURCES a.cpp...] [LIBRARIES ...] [TIMEOUT seconds, above 1200] [LABELS ...] [VARIANT name]
#                [ENVIRONMENT NAME=VALUE ...] [PROCESSORS halves of a core] [COST seconds])
#   A GoogleTest binary that needs no MPI. Without SOURCES the target exists already; VARIANT then names the test with
#   this ENVIRONMENT. PROCESSORS is 2 by default; give 1 for a test that mostly waits. COST: see mpix_order_test.
# mpix_unit_group(GROUP SOURCES NAME.cpp... [LIBRARIES ...] [PREFIX prefix] [LABELS ...] [PROCESSORS ...] [COST ...])
#   One program GROUP of several such sources, compiled together. Each source is a test of its own, unit.PREFIXNAME,
#   which runs GROUP --source=NAME; target PREFIXNAME builds the group. Names in unnamed namespaces must be unique in
#   the group. A suite may have tests in several sources if these share a fixture class from a header.
# mpix_unit_tests(TABLE)
#   Variants of unit tests, a row each: program | variant | labels | settings (MpixTests.cmake).
# mpix_order_test(TEST PROCESSORS [SECONDS])
#   Makes ctest start the tests that need more than a core first, which would otherwise wait until all other tests have
#   ended while cores are idle, and then the tests that take long (SECONDS).
# mpix_optimise(TARGET): compiles a test that computes much itself, or whose own accesses race, with optimisation, and
# without the precompiled header of the other tests.
include(MpixSanitizers)

function(mpix_unit_test name)
  cmake_parse_arguments(arg "" "TIMEOUT;VARIANT;PROCESSORS;COST" "SOURCES;LIBRARIES;LABELS;ENVIRONMENT" ${ARGN})
  # A bound against hanging: what usually takes a second may take a hundred times as long on a slow machine.
  if(NOT arg_TIMEOUT OR arg_TIMEOUT LESS 1200)
    set(arg_TIMEOUT 1200)
  endif()
  set(test_name unit.${name})
  if(arg_VARIANT)
    set(test_name ${test_name}.${arg_VARIANT})
  endif()
  if(arg_SOURCES)
    add_executable(${name} ${arg_SOURCES})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} GTest::gtest GTest::gtest_main mpix_warnings)
    mpix_add_unit_tests(${name})
  endif()
  get_property(command GLOBAL PROPERTY mpix_command_of_${name})
  if(NOT command)
    set(command ${name})
  endif()
  add_test(NAME ${test_name} COMMAND ${command})
  if(MPIX_SANITIZE OR CMAKE_CROSSCOMPILING)
    math(EXPR arg_TIMEOUT "5 * ${arg_TIMEOUT}")
  endif()
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 2)
  endif()
  # UCX 1.18 starts a thread when it is loaded, which looks for a daemon and ends: a test that forks meanwhile gives the
  # child locks of UCX that this thread holds. By default UCX writes to 512 receive buffers for each kind of shared memory
  # when it starts, which takes a fifth of the time of tests that start several processes.
  set_tests_properties(${test_name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "unit;${arg_LABELS}"
    ENVIRONMENT "${mpix_sanitizer_environment};UCX_VFS_ENABLE=n;UCX_POSIX_RX_BUFS_GROW=64;UCX_SYSV_RX_BUFS_GROW=64;XDG_CACHE_HOME=${PROJECT_BINARY_DIR}/cache;${arg_ENVIRONMENT}")
  mpix_order_test(${test_name} ${arg_PROCESSORS} ${arg_COST})
  mpix_sanitized_tests(${test_name})
endfunction()

function(mpix_order_test test processors)
  set(cost 0)
  if(ARGC GREATER 2)
    set(cost ${ARGV2})
  endif()
  if(processors GREATER 2)
    math(EXPR cost "1000 * ${processors} + ${cost}")
  endif()
  set_tests_properties(${test} PROPERTIES PROCESSORS ${processors} COST ${cost})
endfunction()

function(mpix_add_unit_tests program)
  if(NOT TARGET unit_tests)
    add_custom_target(unit_tests)
  endif()
  add_dependencies(unit_tests ${program})
endfunction()

function(mpix_unit_group group)
  cmake_parse_arguments(arg "" "PREFIX;PROCESSORS;COST" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  add_executable(${group} ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/tests/support/unit_main.cpp)
  target_include_directories(${group} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${group} PRIVATE ${arg_LIBRARIES} GTest::gtest mpix_warnings)
  mpix_unity_test(${group})
  mpix_add_unit_tests(${group})
  foreach(source IN LISTS arg_SOURCES)
    cmake_path(GET source STEM name)
    set(test ${arg_PREFIX}${name})
    set_property(GLOBAL PROPERTY mpix_command_of_${test} ${group} --source=${name})
    add_custom_target(${test} DEPENDS ${group})
    mpix_unit_test(${test} LABELS ${arg_LABELS} PROCESSORS ${arg_PROCESSORS} COST ${arg_COST})
  endforeach()
endfunction()

function(mpix_unit_tests table)
  mpix_read_table(${table} rows)
  foreach(row IN LISTS rows)
    string(REPLACE "|" ";" row "${row}")
    list(POP_FRONT row program variant labels settings)
    string(REGEX REPLACE "^-$" "" labels "${labels}")
    set(timeout 1200)
    if(labels STREQUAL "long")
      set(timeout 3600)
    endif()
    mpix_read_settings("${settings}" mca environment)
    mpix_unit_test(${program} VARIANT ${variant} LABELS ${labels} ENVIRONMENT ${environment} TIMEOUT ${timeout})
  endforeach()
endfunction()

function(mpix_optimise target)
  set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
endfunction()
