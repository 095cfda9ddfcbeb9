# Run at installation by mpix_install_written: installs ${template} as ${destination}/(name of ${written}).
get_filename_component(prefix "${CMAKE_INSTALL_PREFIX}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
string(REPLACE "'" "'\\''" MPIX_SHELL_PREFIX "${prefix}")
set(MPIX_SHELL_PREFIX "'${MPIX_SHELL_PREFIX}'")
string(REGEX REPLACE "([][{}$\"; \\\\])" "\\\\\\1" MPIX_TCL_PREFIX "${prefix}")
string(REGEX REPLACE "([\"\\\\])" "\\\\\\1" MPIX_SYSTEMD_PREFIX "${prefix}")
string(REPLACE "%" "%%" MPIX_SYSTEMD_PREFIX "${MPIX_SYSTEMD_PREFIX}")
configure_file("${template}" "${written}" @ONLY)
file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/${destination}" TYPE FILE FILES "${written}")
