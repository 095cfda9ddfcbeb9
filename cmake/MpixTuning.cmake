# The libraries' code as fast as it gets, at all levels of optimisation but none. Sanitizers look at what runs, not at how fast.
set(mpix_fastest $<$<NOT:$<CONFIG:Debug>>:-O3>)
if(MPIX_SANITIZE)
  set(mpix_fastest "")
endif()
# Tools run for moments, and their command lines are templates of CLI11, which the optimiser takes long for.
set(mpix_tool_options $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)

# How GCC clears and copies what is too large for single stores and not worth a call: for processors in general it takes
# `rep stos` and `rep movs`, which begin slowly. Operations are described by structures of 100 to 300 bytes, on every path.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(mpix_by_vectors vector_loop:1024:noalign,libcall:-1:noalign)
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-mmemset-strategy=${mpix_by_vectors}>
                      $<$<COMPILE_LANGUAGE:C,CXX>:-mmemcpy-strategy=${mpix_by_vectors}>)
endif()

# GCC collects garbage a tenth of the time. Where two compilers find the room, each begins later.
cmake_host_system_information(RESULT mpix_memory QUERY TOTAL_PHYSICAL_MEMORY) # MiB
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND mpix_memory GREATER 6000)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=524288>)
endif()
