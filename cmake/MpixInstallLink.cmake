# mpix_install_link(TARGET PATH): installs a symbolic link to TARGET as PATH, which is relative to the prefix.
function(mpix_install_link target path)
  set(link ${PROJECT_BINARY_DIR}/links/${path})
  get_filename_component(built_in ${link} DIRECTORY)
  get_filename_component(installed_in ${path} DIRECTORY)
  file(MAKE_DIRECTORY ${built_in})
  file(CREATE_LINK ${target} ${link} SYMBOLIC)
  install(FILES ${link} DESTINATION ${installed_in})
endfunction()
