# Precompiled headers: the standard library, GoogleTest and nlohmann-json are parsed once for each set of compiler flags
# instead of once for each source. -D CMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds without them, which shows missing includes.
# mpix_precompile(TARGET [HEADER...])
#   TARGET's C++ sources see the headers of the standard library that most sources include, and HEADERs.
# mpix_precompile_tests(DIRECTORY)
#   Every C++ program of DIRECTORY and below, and what it has of objects for several programs, shares one precompiled
#   header, with GoogleTest where it is linked with it. Call it when all targets exist.
set(mpix_standard_headers <algorithm> <array> <atomic> <bit> <chrono> <cstddef> <cstdint> <cstdio> <cstdlib> <cstring> <functional>
    <map> <memory> <mutex> <optional> <span> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector>)

function(mpix_precompile target)
  set(headers "")
  foreach(header IN LISTS mpix_standard_headers ARGN)
    string(REPLACE ">" "$<ANGLE-R>" header "${header}")
    list(APPEND headers "$<$<COMPILE_LANGUAGE:CXX>:${header}>")
  endforeach()
  target_precompile_headers(${target} PRIVATE ${headers})
endfunction()

# The programs whose precompiled headers the others use.
function(mpix_add_precompiled_headers)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cpp CONTENT "int main() { return 0; }\n")
  add_executable(mpix_precompiled EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/precompiled.cpp)
  mpix_precompile(mpix_precompiled)
  add_executable(mpix_precompiled_gtest EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(mpix_precompiled_gtest PRIVATE GTest::gtest)
  mpix_precompile(mpix_precompiled_gtest <gtest/gtest.h>)
  foreach(target mpix_precompiled mpix_precompiled_gtest)
    target_compile_options(${target} PRIVATE ${mpix_test_options})
  endforeach()
endfunction()

function(mpix_precompile_tests directory)
  mpix_targets_below(${directory} targets)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(sources ${target} SOURCES)
    get_target_property(without ${target} DISABLE_PRECOMPILE_HEADERS)
    if(NOT without AND type MATCHES "EXECUTABLE|OBJECT_LIBRARY|STATIC_LIBRARY" AND sources MATCHES "\\.cpp")
      if(NOT type STREQUAL EXECUTABLE)
        # As programs are compiled; CMake takes it for a part of a shared library.
        set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
        target_compile_options(${target} PRIVATE -fPIE)
      endif()
      mpix_links_gtest(${target} gtest)
      if(gtest)
        target_precompile_headers(${target} REUSE_FROM mpix_precompiled_gtest)
      else()
        target_precompile_headers(${target} REUSE_FROM mpix_precompiled)
      endif()
    endif()
  endforeach()
endfunction()

function(mpix_links_gtest target result)
  get_target_property(libraries ${target} LINK_LIBRARIES)
  set(${result} OFF PARENT_SCOPE)
  if(libraries MATCHES "GTest::gtest|mpix_test_main")
    set(${result} ON PARENT_SCOPE)
  endif()
endfunction()
