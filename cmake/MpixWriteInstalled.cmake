# Run at installation by mpix_install_written: installs ${template} as ${destination}/(name of ${written}).
get_filename_component(prefix "${CMAKE_INSTALL_PREFIX}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
string(REPLACE "'" "'\\''" MPIX_SHELL_PREFIX "${prefix}")
set(MPIX_SHELL_PREFIX "'${MPIX_SHELL_PREFIX}'")
string(REGEX REPLACE "([][{}$\"; \\\\])" "\\\\\\1" MPIX_TCL_PREFIX "${prefix}")
string(REGEX REPLACE "([\"\\\\])" "\\\\\\1" MPIX_SYSTEMD_PREFIX "${prefix}")
string(REPLACE "%" "%%" MPIX_SYSTEMD_PREFIX "${MPIX_SYSTEMD_PREFIX}")
# Several installations of one build may run at a time.
string(RANDOM LENGTH 16 unique)
get_filename_component(name "${written}" NAME)
get_filename_component(folder "${written}" DIRECTORY)
configure_file("${template}" "${folder}/install-${unique}/${name}" @ONLY)
file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/${destination}" TYPE FILE FILES "${folder}/install-${unique}/${name}")
file(REMOVE_RECURSE "${folder}/install-${unique}")
