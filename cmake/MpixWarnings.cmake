# Warnings for our own targets only; link mpix_warnings privately.
add_library(mpix_warnings INTERFACE)
target_compile_options(mpix_warnings INTERFACE
  -Wall -Wextra -Wshadow -Wconversion
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual>)
if(MPIX_WARNINGS_AS_ERRORS)
  target_compile_options(mpix_warnings INTERFACE -Werror)
endif()

# Sanitizers apply to everything that is built.
if(MPIX_SANITIZE)
  string(REPLACE ";" "," mpix_sanitizers "${MPIX_SANITIZE}")
  add_compile_options(-fsanitize=${mpix_sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=${mpix_sanitizers})
  if(MPIX_SANITIZE MATCHES thread)
    add_compile_options(-Wno-tsan)  # fences are not modelled: only locks and atomics are checked
  endif()
endif()

# The code that the fuzzers explore is instrumented for coverage.
if(MPIX_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
