# Run by CPack between installing and packing: compresses the manual, and adds what Debian wants in each package.
set(debian ${CMAKE_CURRENT_LIST_DIR}/debian)
string(TIMESTAMP changelog_date "%a, %d %b %Y %H:%M:%S +0000" UTC)

# Without name and time in it, the same text always gives the same file.
function(compress)
  execute_process(COMMAND gzip -9nf ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(package IN LISTS CPACK_COMPONENTS_ALL)
  set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${package}${CPACK_PACKAGING_INSTALL_PREFIX}/share)
  set(documents ${share}/doc/${package})
  configure_file(${debian}/copyright ${documents}/copyright COPYONLY)
  configure_file(${debian}/../../CHANGELOG.md ${documents}/changelog COPYONLY)
  configure_file(${debian}/changelog.in ${documents}/changelog.Debian @ONLY)
  if(EXISTS ${debian}/${package}.lintian-overrides)
    configure_file(${debian}/${package}.lintian-overrides ${share}/lintian/overrides/${package} COPYONLY)
  endif()
  file(GLOB pages ${share}/man/man*/*.[0-9])
  compress(${documents}/changelog ${documents}/changelog.Debian ${pages})
endforeach()
