# mpix_install_written(TEMPLATE DESTINATION NAME)
#   Installs TEMPLATE as DESTINATION/NAME, written at installation: in it @MPIX_SHELL_PREFIX@, @MPIX_TCL_PREFIX@ and
#   @MPIX_SYSTEMD_PREFIX@ are the prefix of that installation (cmake --install --prefix, without DESTDIR), quoted for a
#   shell, for Tcl and within double quotes of a systemd unit. Other variables are replaced when CMake configures.
# MPIX_LIBDIR, MPIX_BINDIR, MPIX_MANDIR, MPIX_DATADIR: directories of an installation, relative to its prefix.
foreach(directory LIB BIN MAN DATA)
  file(RELATIVE_PATH MPIX_${directory}DIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_${directory}DIR})
endforeach()

function(mpix_install_written template destination name)
  set(configured ${PROJECT_BINARY_DIR}/installed/${name}.in)
  set(written ${PROJECT_BINARY_DIR}/installed/${name})
  # configure_file() leaves these variables in place: MpixWriteInstalled.cmake replaces them at installation.
  foreach(variable MPIX_SHELL_PREFIX MPIX_TCL_PREFIX MPIX_SYSTEMD_PREFIX)
    set(${variable} "@${variable}@")
  endforeach()
  configure_file(${template} ${configured} @ONLY)
  install(CODE "set(template [==[${configured}]==])
  set(written [==[${written}]==])
  set(destination [==[${destination}]==])
  include([==[${PROJECT_SOURCE_DIR}/cmake/MpixWriteInstalled.cmake]==])")
endfunction()
