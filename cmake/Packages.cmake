# Debian packages, a component of the install rules for each; scripts/package builds them.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME leafctl)
set(CPACK_PACKAGE_CONTACT "leafctl developers <leafctl@example.org>")
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_DEBIAN_PACKAGE_RELEASE 0.1)  # below what a distribution makes of the same version
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)

set(package_version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
set(library libleaf${PROJECT_VERSION_MAJOR})
set(CPACK_COMPONENTS_ALL)

# leaf_add_package(NAME SECTION s DESCRIPTION text [DEPENDS ...] [NEEDS ...] [SUGGESTS ...]): NAME is the component and the
# package. What it depends on is of its own version: driver and library know each other's insides. What it needs is others'.
function(leaf_add_package name)
  cmake_parse_arguments(arg "" "SECTION;DESCRIPTION" "DEPENDS;NEEDS;SUGGESTS" ${ARGN})
  string(TOUPPER ${name} component)
  list(TRANSFORM arg_DEPENDS APPEND " (= ${package_version})")
  list(APPEND arg_DEPENDS ${arg_NEEDS})
  list(JOIN arg_DEPENDS ", " depends)
  list(JOIN arg_SUGGESTS ", " suggests)
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${component}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${component}_PACKAGE_SECTION ${arg_SECTION} PARENT_SCOPE)
  set(CPACK_DEBIAN_${component}_DESCRIPTION ${arg_DESCRIPTION} PARENT_SCOPE)
  set(CPACK_DEBIAN_${component}_PACKAGE_DEPENDS ${depends} PARENT_SCOPE)
  set(CPACK_DEBIAN_${component}_PACKAGE_SUGGESTS ${suggests} PARENT_SCOPE)
endfunction()

leaf_add_package(leafctl SECTION database DEPENDS ${library} libleaf-sqlite SUGGESTS bash-completion leafctl-serve libleaf-postgresql
  DESCRIPTION "unique 64-bit IDs from the command line
leafctl hands out dense IDs per tag from segments, and time-ordered
snowflake IDs, the way Meituan's Leaf does. It needs no server of its own:
the counters live in a SQLite file or in PostgreSQL.")
if(LEAF_SERVE)
  leaf_add_package(leafctl-serve SECTION database DEPENDS leafctl ${library}
    DESCRIPTION "unique 64-bit IDs over HTTP and Redis' protocol
With it leafctl serves IDs over HTTP, as Leaf and tinyid do, and over the
protocol of Redis, with units for systemd.")
  set(CPACK_DEBIAN_LEAFCTL-SERVE_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/debian/leafctl-serve/postinst
    ${CMAKE_CURRENT_LIST_DIR}/debian/leafctl-serve/postrm ${CMAKE_CURRENT_LIST_DIR}/debian/leafctl-serve/prerm)
endif()
leaf_add_package(${library} SECTION libs SUGGESTS libleaf-sqlite libleaf-postgresql
  DESCRIPTION "unique 64-bit IDs for C++ programs
The library of leafctl: dense IDs and snowflake IDs from granted ranges,
served from memory. The driver of the database that grants them is a
package of its own.")
leaf_add_package(libleaf-sqlite SECTION libs DEPENDS ${library}
  DESCRIPTION "SQLite driver of libleaf
With it libleaf and leafctl keep their counters in a SQLite file.")
leaf_add_package(libleaf-postgresql SECTION libs DEPENDS ${library}
  DESCRIPTION "PostgreSQL driver of libleaf
With it libleaf and leafctl keep their counters in a PostgreSQL database,
which several hosts share.")
leaf_add_package(libleaf-dev SECTION libdevel DEPENDS ${library} SUGGESTS libleaf-sqlite libleaf-postgresql
  DESCRIPTION "unique 64-bit IDs for C++ programs (development files)
The headers of libleaf, its manual page, and what CMake and pkg-config need
to find it.")
if(LEAF_BASH)
  leaf_add_package(leafctl-bash SECTION shells DEPENDS leafctl ${library} NEEDS "bash (>= 5.2)"
    DESCRIPTION "unique 64-bit IDs for bash, without a process
The builtin leaf, which bash loads: it draws the IDs that this host has
buffered into variables, and runs leafctl for the rest.")
endif()
if(LEAF_ZSH)
  get_filename_component(zsh_version ${LEAF_ZSH_DIR} NAME)  # whose folder no other version looks into
  leaf_add_package(leafctl-zsh SECTION shells DEPENDS leafctl ${library}
    NEEDS "zsh (>= ${zsh_version})" "zsh (<< ${zsh_version}.~)"
    DESCRIPTION "unique 64-bit IDs for zsh, without a process
The module leaf, which zsh loads: its builtin leaf draws the IDs that this
host has buffered into parameters, and runs leafctl for the rest.")
endif()
if(LEAF_PHP)
  leaf_add_package(php-leaf SECTION php DEPENDS ${library} NEEDS "php-ffi" SUGGESTS libleaf-sqlite libleaf-postgresql
    DESCRIPTION "unique 64-bit IDs for PHP programs
One file, leaf.php: dense IDs and snowflake IDs from the buffers that all
programs of a host share, by libleaf and FFI.")
  set(CPACK_DEBIAN_PHP-LEAF_PACKAGE_ARCHITECTURE all)
endif()
if(LEAF_PYTHON)
  leaf_add_package(python3-leaf SECTION python DEPENDS ${library} NEEDS "python3 (>= 3.11)"
    SUGGESTS libleaf-sqlite libleaf-postgresql
    DESCRIPTION "unique 64-bit IDs for Python programs
The package leaf: dense IDs and snowflake IDs from the buffers that all
programs of a host share, by libleaf.")
  set(CPACK_DEBIAN_PYTHON3-LEAF_PACKAGE_CONTROL_EXTRA
    ${CMAKE_CURRENT_LIST_DIR}/debian/python3-leaf/postinst ${CMAKE_CURRENT_LIST_DIR}/debian/python3-leaf/prerm)
endif()
if(LEAF_NODE)
  leaf_add_package(node-leaf SECTION javascript DEPENDS ${library} NEEDS "nodejs (>= 18)"
    SUGGESTS libleaf-sqlite libleaf-postgresql
    DESCRIPTION "unique 64-bit IDs for Node.js programs
The package leaf: dense IDs and snowflake IDs from the buffers that all
programs of a host share, by libleaf.")
endif()
if(LEAF_GO)
  leaf_add_package(golang-leaf-dev SECTION golang DEPENDS libleaf-dev NEEDS "pkg-config" SUGGESTS libleaf-sqlite libleaf-postgresql
    DESCRIPTION "unique 64-bit IDs for Go programs (development files)
The source of package leaf: dense IDs and snowflake IDs from the buffers that
all programs of a host share, by libleaf. Programs are compiled with cgo.")
  set(CPACK_DEBIAN_GOLANG-LEAF-DEV_PACKAGE_ARCHITECTURE all)
endif()

string(TOUPPER ${library} component)
set(CPACK_DEBIAN_${component}_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/debian/triggers)

# What Debian wants in each package beside the files that are installed.
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/DebianDocumentation.cmake)
include(CPack)
