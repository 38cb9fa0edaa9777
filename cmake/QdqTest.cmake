# qdq_add_test(NAME <label>.<name> SOURCES <file>... [LIBRARIES <target>...] LABEL <label> [TIMEOUT <seconds>])
# A GoogleTest executable as one CTest test. A test that skips says why in its output.
if(CMAKE_CROSSCOMPILING)  # Debian has it compiled for the build machine alone, and its source
  set(INSTALL_GTEST OFF)
  set(BUILD_GMOCK OFF)
  set(CMAKE_WARN_DEPRECATED OFF)
  add_subdirectory(/usr/src/googletest ${PROJECT_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
else()
  find_package(GTest REQUIRED)
endif()

function(qdq_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;LABEL;TIMEOUT" "SOURCES;LIBRARIES")
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBRARIES} GTest::gtest_main)
  qdq_precompile_gtest(${arg_NAME})
  add_test(NAME ${arg_NAME} COMMAND ${arg_NAME} --gtest_brief=1)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 1500)
  endif()
  set_tests_properties(${arg_NAME} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
endfunction()

# Of the 3 s that a test's source takes 1.3 are GoogleTest's header. The first test has it compiled, for itself and the others.
# Options must be the same for that, which they are not where only some targets count lines; clang takes macros for options.
function(qdq_precompile_gtest test)
  if(QDQ_COVERAGE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  get_property(first GLOBAL PROPERTY QDQ_PRECOMPILES_GTEST)
  if(first)
    target_precompile_headers(${test} REUSE_FROM ${first})
  else()
    set_property(GLOBAL PROPERTY QDQ_PRECOMPILES_GTEST ${test})
    target_precompile_headers(${test} PRIVATE <gtest/gtest.h> <algorithm> <functional> <map> <optional> <string> <vector>)
  endif()
endfunction()

# qdq_runnable(<out> <target>)
# What this machine can run: the target's file, or a script that hands it to the emulator. For programs that tests in
# Python start; those that CTest starts need no such thing.
function(qdq_runnable out target)
  if(NOT CMAKE_CROSSCOMPILING)
    set(${out} $<TARGET_FILE:${target}> PARENT_SCOPE)
    return()
  endif()
  list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
  set(script ${CMAKE_CURRENT_BINARY_DIR}/emulated/${target})
  file(GENERATE OUTPUT ${script} CONTENT "#!/bin/sh\nexec ${emulator} '$<TARGET_FILE:${target}>' \"$@\"\n"
       FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  set(${out} ${script} PARENT_SCOPE)
endfunction()

# qdq_add_c_header_use(NAME <name> SOURCE <file> FUNCTION <macro> LIBRARIES <target>...)
# A header in plain C: one source, built to both standards as the targets <name>_c99_header_use and <name>_c11_header_use.
# The macro is the function's name in each: use_<name>_from_c99 and use_<name>_from_c11.
function(qdq_add_c_header_use)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;SOURCE;FUNCTION" "LIBRARIES")
  foreach(standard IN ITEMS 99 11)
    set(target ${arg_NAME}_c${standard}_header_use)
    add_library(${target} OBJECT ${arg_SOURCE})
    set_target_properties(${target} PROPERTIES C_STANDARD ${standard} C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
    target_compile_definitions(${target} PRIVATE ${arg_FUNCTION}=use_${arg_NAME}_from_c${standard})
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Werror)
    target_link_libraries(${target} PRIVATE ${arg_LIBRARIES})
  endforeach()
endfunction()
