# mpix_unit_test(NAME SOURCES a.cpp... [LIBRARIES ...] [TIMEOUT seconds] [LABELS ...])
#   A GoogleTest binary that needs no MPI.
set(mpix_unit_environment "")
if(MPIX_SANITIZE MATCHES thread)
  # UCX's memory hooks run at the end of threads, when the sanitizer has forgotten them already.
  set(mpix_unit_environment "TSAN_OPTIONS=history_size=7 suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp"
    UCX_MEM_EVENTS=n UCX_MEM_MMAP_HOOK_MODE=none)
endif()

function(mpix_unit_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} GTest::gtest GTest::gtest_main mpix_warnings)
  add_test(NAME unit.${name} COMMAND ${name})
  set_tests_properties(unit.${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "unit;${arg_LABELS}"
    ENVIRONMENT "${mpix_unit_environment}")
endfunction()
