# mpix_run_path(TARGET...): programs find the libraries beside them, in the build tree as in an installation.
# A path that CMake replaces at installation ends in an empty entry, and the loader takes the working directory for
# that: whoever writes there would choose the libraries. If libraries are installed elsewhere than in lib, the build
# tree remains like that.
function(mpix_run_path)
  set_target_properties(${ARGN} PROPERTIES INSTALL_RPATH "$ORIGIN/../${MPIX_LIBDIR}")
  if(MPIX_LIBDIR STREQUAL "lib")
    set_target_properties(${ARGN} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
  endif()
endfunction()
