# mpix_run_path(TARGET...): programs find the libraries beside them, in the build tree as in an installation.
# A run path that CMake replaces at installation ends in an empty entry, which the loader takes for the working
# directory: anyone who can write there could choose the libraries. So the build tree has the installed run path, except
# where libraries are installed elsewhere than in lib.
function(mpix_run_path)
  set_target_properties(${ARGN} PROPERTIES INSTALL_RPATH "$ORIGIN/../${MPIX_LIBDIR}")
  if(MPIX_LIBDIR STREQUAL "lib")
    set_target_properties(${ARGN} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
  endif()
endfunction()
