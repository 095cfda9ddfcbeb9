# mpix_limit_exports(TARGET): exports only names that cmake/exports.map lists. Builds with sanitizers, which need
# symbols of their own, export all.
function(mpix_limit_exports target)
  if(MPIX_SANITIZE)
    return()
  endif()
  set(map ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  target_link_options(${target} PRIVATE LINKER:--version-script=${map})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${map})
endfunction()
