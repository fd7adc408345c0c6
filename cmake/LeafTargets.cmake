# What every target of the project is built with.

add_library(leaf_build_options INTERFACE)
target_compile_options(leaf_build_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
target_link_options(leaf_build_options INTERFACE -Wl,--no-undefined -Wl,--as-needed)
# Fortified functions need optimization, and hide from sanitizers what they look for.
if(LEAF_HARDEN)
  include(CheckPIESupported)
  check_pie_supported()
  include(CheckCXXCompilerFlag)
  foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection)
    string(MAKE_C_IDENTIFIER LEAF_HAS${flag} known)
    check_cxx_compiler_flag("-Werror ${flag}" ${known})
    if(${known})
      target_compile_options(leaf_build_options INTERFACE ${flag})
    endif()
  endforeach()
  if(NOT LEAF_SANITIZE)
    target_compile_options(leaf_build_options INTERFACE
      $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE> $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=3>)
  endif()
  target_link_options(leaf_build_options INTERFACE -Wl,-z,relro -Wl,-z,noexecstack)
endif()

if(LEAF_WARNINGS_AS_ERRORS)
  target_compile_options(leaf_build_options INTERFACE -Werror)
endif()
if(LEAF_SANITIZE)
  # Where a sanitizer has changed the code, GCC warns of what is initialized.
  target_compile_options(leaf_build_options INTERFACE -fsanitize=${LEAF_SANITIZE} -fno-omit-frame-pointer
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(leaf_build_options INTERFACE -fsanitize=${LEAF_SANITIZE} -Wl,-z,undefs)
endif()
# What ThreadSanitizer has to be told of locks.
set(leaf_clock_locks)
if(LEAF_SANITIZE MATCHES thread)
  set(leaf_clock_locks ${PROJECT_SOURCE_DIR}/tests/sanitizers/clock_locks.cpp)
endif()

# leaf_embed_migrations(TARGET DATABASE): compiles migrations/DATABASE/*.sql into TARGET as the array
# leaf::store::DATABASE::migrations. The files are named here, in order, so that none comes in by accident.
function(leaf_embed_migrations target database)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${database}_migrations.cpp)
  set(files ${ARGN})
  list(TRANSFORM files PREPEND ${PROJECT_SOURCE_DIR}/migrations/${database}/)
  add_custom_command(OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} -DDATABASE=${database} -DOUTPUT=${generated} "-DFILES=${files}"
            -P ${PROJECT_SOURCE_DIR}/cmake/EmbedMigrations.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/EmbedMigrations.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${generated})
  # For the SQL of grants, as a text.
  list(POP_BACK ARGN newest)
  string(REGEX MATCH "^0*([0-9]+)" newest ${newest})
  set_property(SOURCE store/${database}/sql.cpp APPEND PROPERTY COMPILE_DEFINITIONS NEWEST_SCHEMA="${CMAKE_MATCH_1}")
  add_custom_target(${target}-migrations DEPENDS ${generated})
  add_dependencies(${target} ${target}-migrations)
  install(FILES ${files} DESTINATION ${CMAKE_INSTALL_DATADIR}/leafctl/migrations/${database}
    COMPONENT libleaf-${database})
endfunction()

# leaf_embed_functions(TARGET DATABASE): compiles migrations/DATABASE/functions.sql into TARGET as the text
# leaf::store::DATABASE::functions.
function(leaf_embed_functions target database)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${database}_functions.cpp)
  set(file ${PROJECT_SOURCE_DIR}/migrations/${database}/functions.sql)
  add_custom_command(OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} -DDATABASE=${database} -DOUTPUT=${generated} -DFILE=${file}
            -P ${PROJECT_SOURCE_DIR}/cmake/EmbedFunctions.cmake
    DEPENDS ${file} ${PROJECT_SOURCE_DIR}/cmake/EmbedFunctions.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${generated})
  add_custom_target(${target}-functions DEPENDS ${generated})
  add_dependencies(${target} ${target}-functions)
endfunction()

# leaf_find_library_from(TARGET FOLDER): installed in FOLDER, TARGET finds libleaf wherever the tree is moved to. In a
# folder that the loader searches anyway nothing is said: each start would pay for one more search.
function(leaf_find_library_from target folder)
  if(NOT CMAKE_INSTALL_FULL_LIBDIR IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
    file(RELATIVE_PATH to_library ${folder} ${CMAKE_INSTALL_FULL_LIBDIR})
    set_target_properties(${target} PROPERTIES INSTALL_RPATH $ORIGIN/${to_library})
  endif()
endfunction()
