# mpix_unit_test(NAME [SOURCES a.cpp...] [LIBRARIES ...] [TIMEOUT seconds, above 1200] [LABELS ...] [VARIANT name] [ENVIRONMENT NAME=VALUE ...])
#   A GoogleTest binary that needs no MPI. Without SOURCES the target exists already; VARIANT then names the test with
#   this ENVIRONMENT.
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
    if(NOT TARGET unit_tests)
      add_custom_target(unit_tests)
    endif()
    add_dependencies(unit_tests ${name})
  endif()
  add_test(NAME ${test_name} COMMAND ${name})
  if(MPIX_SANITIZE OR CMAKE_CROSSCOMPILING)
    math(EXPR arg_TIMEOUT "5 * ${arg_TIMEOUT}")
  endif()
  # UCX 1.18 starts a thread when it is loaded, which looks for a daemon and ends: a test that forks meanwhile gives the
  # child locks of UCX that this thread holds.
  set_tests_properties(${test_name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "unit;${arg_LABELS}" PROCESSORS 2
    ENVIRONMENT "${mpix_sanitizer_environment};UCX_VFS_ENABLE=n;${arg_ENVIRONMENT}")
  mpix_sanitized_tests(${test_name})
endfunction()

function(mpix_optimise target)
  set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
endfunction()
