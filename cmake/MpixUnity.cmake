# Unity builds: sources that are compiled as one parse their headers and instantiate templates once for all of them. Their
# unnamed namespaces become one, too: names in them must differ. A source with the property SKIP_UNITY_BUILD_INCLUSION
# stays alone. -D CMAKE_UNITY_BUILD=OFF compiles each source by itself, which shows missing includes.
# mpix_unity(TARGET [BATCH])
#   All C++ sources of TARGET as one, or BATCH of them at a time.
# mpix_unity_by_folder(TARGET)
#   The C++ sources of each folder as one. Call it in the directory that creates TARGET.
# mpix_unity_tests(DIRECTORY)
#   The sources of every test program of DIRECTORY and below as one, or 16 at a time. Call it when all targets exist.
# mpix_unity_test(TARGET)
#   The sources of one such program. Without -Wshadow, because a global name of one source may be a local variable of
#   the next; a build without unity finds names that are hidden in their own source.
function(mpix_unity target)
  if(DEFINED CMAKE_UNITY_BUILD AND NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  set(batch 0)
  if(ARGC GREATER 1)
    set(batch ${ARGV1})
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
endfunction()

function(mpix_unity_by_folder target)
  if(DEFINED CMAKE_UNITY_BUILD AND NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(MAKE_C_IDENTIFIER ${folder} folder)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

add_library(mpix_fewer_warnings INTERFACE)
target_compile_options(mpix_fewer_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow>
                       $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
function(mpix_unity_test target)
  mpix_unity(${target} 16)  # as many at a time as take a compiler some seconds
  get_target_property(together ${target} UNITY_BUILD)
  if(together)
    target_link_libraries(${target} PRIVATE mpix_fewer_warnings)  # behind mpix_warnings
  endif()
endfunction()

# Test programs with more than one source.
function(mpix_unity_tests directory)
  mpix_targets_below(${directory} targets)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    list(LENGTH sources count)
    get_target_property(chosen ${target} UNITY_BUILD)
    if(type MATCHES "EXECUTABLE|OBJECT_LIBRARY|STATIC_LIBRARY" AND count GREATER 1 AND chosen STREQUAL "chosen-NOTFOUND")
      mpix_unity_test(${target})
    endif()
  endforeach()
endfunction()
