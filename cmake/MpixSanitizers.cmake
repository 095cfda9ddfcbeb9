# For the tests of a build with sanitizers:
#   mpix_sanitizer_environment  environment variables of the tested processes; mpirun passes them on
#   mpix_sanitized_tests(TEST...)  the tests fail on a report from any process, even if its exit code is lost
#   mpix_sanitized_program(TARGET) the program unloads no library before it ends, when leaks are detected and symbolized
set(mpix_sanitizer_environment "")
set(mpix_suppressions ${PROJECT_SOURCE_DIR}/tests/support)
if(MPIX_SANITIZE)
  # UCX's memory hooks replace the same functions as the sanitizers, and run at the end of a thread, which the thread
  # sanitizer has already forgotten.
  list(APPEND mpix_sanitizer_environment UCX_MEM_EVENTS=n UCX_MEM_MMAP_HOOK_MODE=none)
endif()
if(MPIX_SANITIZE MATCHES thread)
  list(APPEND mpix_sanitizer_environment
    "TSAN_OPTIONS=history_size=7 exitcode=66 suppressions=${mpix_suppressions}/tsan.supp")
endif()
if(MPIX_SANITIZE MATCHES address)
  # UCX 1.18 tests whether it can read a process by reading into the iovec array that describes this very read. The
  # kernel has copied the array before; the sanitizer inspects the array afterwards, and takes the data read for an
  # address.
  list(APPEND mpix_sanitizer_environment UCX_TLS=^cma)
  # Open MPI is compiled without frame pointers: the stacks of leaks need the slow unwinder.
  list(APPEND mpix_sanitizer_environment "ASAN_OPTIONS=exitcode=66 fast_unwind_on_malloc=0"
    "LSAN_OPTIONS=suppressions=${mpix_suppressions}/lsan.supp print_suppressions=0")
endif()
if(MPIX_SANITIZE MATCHES undefined)
  list(APPEND mpix_sanitizer_environment "UBSAN_OPTIONS=print_stacktrace=1")
endif()

function(mpix_sanitized_tests)
  if(MPIX_SANITIZE)
    set_tests_properties(${ARGN} PROPERTIES FAIL_REGULAR_EXPRESSION "(Address|Leak|Thread)Sanitizer:;runtime error:")
  endif()
endfunction()

if(MPIX_SANITIZE)
  add_library(mpix_keep_loaded OBJECT ${PROJECT_SOURCE_DIR}/tests/support/keep_loaded.c)
endif()
function(mpix_sanitized_program target)
  if(MPIX_SANITIZE)
    target_link_libraries(${target} PRIVATE mpix_keep_loaded)
    target_link_options(${target} PRIVATE -Wl,--export-dynamic-symbol=dlclose)
  endif()
endfunction()
