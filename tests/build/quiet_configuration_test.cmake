# Configures qdq where Python has no headers, as on a machine just installed, and fails where a line of CMake code warns.
#
# cmake -DSOURCE_DIR=<qdq> -DWORK_DIR=<scratch> -DGENERATOR=<generator> -DTOOLCHAIN=<toolchain file or nothing>
#       -P quiet_configuration_test.cmake
cmake_minimum_required(VERSION 3.28)

file(REMOVE_RECURSE ${WORK_DIR})
execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${SOURCE_DIR} -B ${WORK_DIR} -G ${GENERATOR} -DCMAKE_TOOLCHAIN_FILE=${TOOLCHAIN}
            -DCMAKE_DISABLE_FIND_PACKAGE_Python=ON
    RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE error)
if(NOT result EQUAL 0 OR error MATCHES "CMake Warning at")
    message(FATAL_ERROR "ended with ${result}:\n${error}")
endif()
