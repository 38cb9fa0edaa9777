# The tests of a build that picks kernel rows: those whose calls need no other. The rest is reported as disabled. A test that
# is in no list is one that needs every row.

# These follow whichever rows there are, or need none.
set(QDQ_TESTS_OF_ANY_ROWS
  "(reference|conformance|support|build)\\..*" "runtime\\.(targets|loops|regions|device_regions|spread|nontemporal_copies|rooms)"
  "kernel\\.(rows|unsupported)" "link\\.(direct_.*|in_tree|stochastic|not_stochastic)" "api\\.(dtype|c_header|cpu_features|symbols|last_error)"
  "compat\\.(headers|documented|aclnn_symbols)" "cli\\.(usage|headers)" "readme\\.(links|matches|changed_lines)"
  "device\\.(kernel_text|size)" "docs\\.figures")

# These follow the types, and take every row of those.
set(QDQ_TESTS_OF_ALL_ROWS_OF_THE_TYPES
  "kernel\\.(quantize|dequantize|lengths|consistency|float_environment|sweep)" "api\\.(allocation|random)"
  "fuzz\\.calls")

# These quantize f32 to i8 and dequantize i8 to f32.
set(QDQ_TESTS_OF_F32_AND_I8
  "api\\.(alias|blocks|first_header|large|plan|profile|shapes|strides|target|threads|cpp_wrapper)"
  "concurrency\\.(exit|faults|fork|plugins|signals|destructors)" "cli\\.(compare|corrupt|interrupt|output)"
  "fuzz\\.(descriptors|files|front_ends)" "readme\\.(example|pypto|torch_npu)" "docs\\.(commands|engine_ggml)")

# Disables the tests of a folder, and of those below it, whose names do not match.
function(qdq_disable_other_tests folder regex)
  get_property(tests DIRECTORY ${folder} PROPERTY TESTS)
  foreach(test ${tests})
    if(NOT test MATCHES "^(${regex})$")
      set_property(TEST ${test} DIRECTORY ${folder} PROPERTY DISABLED ON)
    endif()
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(below ${folders})
    qdq_disable_other_tests(${below} "${regex}")
  endforeach()
endfunction()

set(run ${QDQ_TESTS_OF_ANY_ROWS})
get_property(rows GLOBAL PROPERTY QDQ_LINKABLE_ROWS)
if("quantize_f32_i8" IN_LIST rows AND "dequantize_i8_f32" IN_LIST rows)
  list(APPEND run ${QDQ_TESTS_OF_F32_AND_I8})
endif()
if(NOT QDQ_KERNELS AND "quantize_f32_i8" IN_LIST rows)
  list(APPEND run ${QDQ_TESTS_OF_ALL_ROWS_OF_THE_TYPES})
endif()
list(JOIN run "|" run)
qdq_disable_other_tests(${CMAKE_CURRENT_SOURCE_DIR} "${run}")
message(STATUS "Tests that need other kernel rows than those of this build are disabled: tests/picked_rows.cmake")
