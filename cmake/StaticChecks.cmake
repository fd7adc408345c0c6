# check-tidy and check-cppcheck read the program and the library as they are compiled; scripts/check runs both.
find_program(RUN_CLANG_TIDY NAMES run-clang-tidy)
find_program(CPPCHECK cppcheck)
mark_as_advanced(RUN_CLANG_TIDY CPPCHECK)
set(checked_sources "^${PROJECT_SOURCE_DIR}/(lib|cmd)/")

if(RUN_CLANG_TIDY)
  add_custom_target(check-tidy
    COMMAND ${RUN_CLANG_TIDY} -quiet -p ${PROJECT_BINARY_DIR} ${checked_sources}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL VERBATIM)
endif()
if(CPPCHECK)
  add_custom_target(check-cppcheck
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/cppcheck
    COMMAND ${CPPCHECK} --project=${PROJECT_BINARY_DIR}/compile_commands.json
      --cppcheck-build-dir=${PROJECT_BINARY_DIR}/cppcheck
      --file-filter=${PROJECT_SOURCE_DIR}/lib/* --file-filter=${PROJECT_SOURCE_DIR}/cmd/*
      --enable=warning,performance,portability --inline-suppr --error-exitcode=1 --quiet
    VERBATIM)
  # cppcheck wants every file of the project to be there, also those that it is not to read.
  add_dependencies(check-cppcheck leaf-postgresql-migrations leaf-postgresql-functions leaf-sqlite-migrations)
endif()
