# What the tests of a build with sanitizers need:
#   mpix_sanitizer_environment  variables of the processes that are tested; mpirun hands them on
#   mpix_sanitized_tests(TEST...)  these fail by a report of whichever process, also where its exit code is lost
#   mpix_sanitized_program(TARGET) keeps what it loads until its end, when leaks are looked for and named
set(mpix_sanitizer_environment "")
set(mpix_suppressions ${PROJECT_SOURCE_DIR}/tests/support)
if(MPIX_SANITIZE)
  # UCX's memory hooks replace what the sanitizers replace, and run at the end of threads, when the thread sanitizer
  # has forgotten them already.
  list(APPEND mpix_sanitizer_environment UCX_MEM_EVENTS=n UCX_MEM_MMAP_HOOK_MODE=none)
endif()
if(MPIX_SANITIZE MATCHES thread)
  list(APPEND mpix_sanitizer_environment
    "TSAN_OPTIONS=history_size=7 exitcode=66 suppressions=${mpix_suppressions}/tsan.supp")
endif()
if(MPIX_SANITIZE MATCHES address)
  # UCX 1.18 finds out whether a process can be read by reading it into the list that says where what is read goes. The
  # kernel has read the list before; the sanitizer looks at it afterwards, and takes what came for an address.
  list(APPEND mpix_sanitizer_environment UCX_TLS=^cma)
  # Open MPI is compiled without frame pointers: leaks are found by the tables of the unwinder.
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
