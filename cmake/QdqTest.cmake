# qdq_add_test(NAME <label>.<name> SOURCES <file>... [LIBRARIES <target>...] LABEL <label> [TIMEOUT <seconds>])
# A GoogleTest executable as one CTest test. A test that skips says why in its output.
find_package(GTest REQUIRED)

function(qdq_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;LABEL;TIMEOUT" "SOURCES;LIBRARIES")
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBRARIES} GTest::gtest_main)
  add_test(NAME ${arg_NAME} COMMAND ${arg_NAME} --gtest_brief=1)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 1500)
  endif()
  set_tests_properties(${arg_NAME} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
endfunction()
