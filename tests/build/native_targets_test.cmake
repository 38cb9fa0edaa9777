# Configures qdq with QDQ_TARGETS=native, and fails unless its targets are the one that a build of all chooses on this
# machine, and the last that can run here.
#
# cmake -DSOURCE_DIR=<qdq> -DWORK_DIR=<scratch> -DGENERATOR=<generator> -DQDQ=<the command qdq, of all targets>
#       -P native_targets_test.cmake
cmake_minimum_required(VERSION 3.28)

execute_process(COMMAND ${QDQ} targets OUTPUT_VARIABLE table COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[a-z0-9_]+ +yes" usable "${table}")
string(REGEX MATCH "[a-z0-9_]+ +yes +yes" chosen "${table}")
list(GET usable -1 plainest)
set(expected "${chosen}" "${plainest}")
list(TRANSFORM expected REPLACE " .*" "")
list(REMOVE_DUPLICATES expected)

file(REMOVE_RECURSE ${WORK_DIR})
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE_DIR} -B ${WORK_DIR} -G ${GENERATOR} -DQDQ_TARGETS=native -DQDQ_BUILD_TESTS=OFF
                -DQDQ_BUILD_BENCH=OFF OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
include(${WORK_DIR}/runtime/qdq-kernels.cmake)
get_property(built GLOBAL PROPERTY QDQ_LINKABLE_TARGETS)
if(NOT built STREQUAL expected)
    message(FATAL_ERROR "the targets are ${built}, not ${expected}")
endif()
