# ccache is used where it is installed, unless a launcher is given. Precompiled headers need CCACHE_SLOPPINESS.
find_program(MPIX_CCACHE ccache DOC "ccache, or empty to compile without it")
if(MPIX_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER AND NOT DEFINED CMAKE_C_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${MPIX_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
endif()
