# mpix_unit_test(NAME [SOURCES a.cpp...] [LIBRARIES ...] [TIMEOUT seconds, above 1200] [LABELS ...] [VARIANT name] [ENVIRONMENT NAME=VALUE ...])
#   A GoogleTest binary that needs no MPI. Without SOURCES the target exists already; VARIANT then names the test with
#   this ENVIRONMENT.
# mpix_unit_group(GROUP SOURCES NAME.cpp... [LIBRARIES ...])
#   One program GROUP of several such sources, compiled together. Each is a test of its own, unit.NAME, which runs
#   GROUP --source=NAME; target NAME builds the group. What is in unnamed namespaces has a name of its own in the group, and
#   a suite the tests of one source.
# mpix_optimise(TARGET): a test that computes much itself, or whose own accesses race, is optimised, and does without the
# precompiled header of the others.
include(MpixSanitizers)

function(mpix_unit_test name)
  cmake_parse_arguments(arg "" "TIMEOUT;VARIANT" "SOURCES;LIBRARIES;LABELS;ENVIRONMENT" ${ARGN})
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
  get_property(group GLOBAL PROPERTY mpix_unit_group_of_${name})
  if(group)
    add_test(NAME ${test_name} COMMAND ${group} --source=${name})
  else()
    add_test(NAME ${test_name} COMMAND ${name})
  endif()
  if(MPIX_SANITIZE OR CMAKE_CROSSCOMPILING)
    math(EXPR arg_TIMEOUT "5 * ${arg_TIMEOUT}")
  endif()
  # UCX 1.18 starts a thread when it is loaded, which looks for a daemon and ends: a test that forks meanwhile gives the
  # child locks of UCX that this thread holds.
  set_tests_properties(${test_name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "unit;${arg_LABELS}" PROCESSORS 2
    ENVIRONMENT "${mpix_sanitizer_environment};UCX_VFS_ENABLE=n;${arg_ENVIRONMENT}")
  mpix_sanitized_tests(${test_name})
endfunction()

function(mpix_add_unit_tests program)
  if(NOT TARGET unit_tests)
    add_custom_target(unit_tests)
  endif()
  add_dependencies(unit_tests ${program})
endfunction()

function(mpix_unit_group group)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${group} ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/tests/support/unit_main.cpp)
  target_include_directories(${group} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${group} PRIVATE ${arg_LIBRARIES} GTest::gtest mpix_warnings)
  mpix_unity_test(${group})
  mpix_add_unit_tests(${group})
  foreach(source IN LISTS arg_SOURCES)
    cmake_path(GET source STEM name)
    set_property(GLOBAL PROPERTY mpix_unit_group_of_${name} ${group})
    add_custom_target(${name} DEPENDS ${group})
    mpix_unit_test(${name})
  endforeach()
endfunction()

function(mpix_optimise target)
  set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
endfunction()
