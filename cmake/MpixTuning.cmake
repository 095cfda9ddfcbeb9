# The front ends, windows and conversions of datatypes are compiled with -O3 in every configuration but Debug. Builds
# with sanitizers have the configuration's own options, because their speed does not matter.
set(mpix_fastest $<$<NOT:$<CONFIG:Debug>>:-O3>)
if(MPIX_SANITIZE)
  set(mpix_fastest "")
endif()
# Tools run briefly, and the optimiser takes long for the templates of CLI11 that parse their command lines.
set(mpix_tool_options $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)

# How GCC clears and copies blocks too large for single stores and too small for a call. Its generic tuning uses `rep
# stos` and `rep movs`, which start slowly; every path clears or copies structures of 100 to 300 bytes that describe
# operations.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(mpix_copy_strategy vector_loop:1024:noalign,libcall:-1:noalign)
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-mmemset-strategy=${mpix_copy_strategy}>
                      $<$<COMPILE_LANGUAGE:C,CXX>:-mmemcpy-strategy=${mpix_copy_strategy}>)
endif()

# GCC spends a tenth of its time on garbage collection. Where two compilers have room in memory, each collects later.
cmake_host_system_information(RESULT mpix_memory QUERY TOTAL_PHYSICAL_MEMORY) # MiB
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND mpix_memory GREATER 6000)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=524288>)
endif()
