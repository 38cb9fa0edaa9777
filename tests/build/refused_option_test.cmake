# Configures qdq with an option that it refuses, and fails unless it stops with the reason.
#
# cmake -DSOURCE_DIR=<qdq> -DWORK_DIR=<scratch> -DGENERATOR=<generator> -DTOOLCHAIN=<toolchain file or nothing>
#       -DOPTION=<name>=<value> -DREASON=<regular expression> -P refused_option_test.cmake
cmake_minimum_required(VERSION 3.28)

file(REMOVE_RECURSE ${WORK_DIR})
execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${SOURCE_DIR} -B ${WORK_DIR} -G ${GENERATOR} -DCMAKE_TOOLCHAIN_FILE=${TOOLCHAIN}
            -D${OPTION}
    RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE error)
string(REGEX REPLACE "[ \n]+" " " error "${error}")  # CMake breaks lines where they are full
if(result EQUAL 0 OR NOT error MATCHES "${REASON}")
    message(FATAL_ERROR "ended with ${result}, and not with \"${REASON}\":\n${error}")
endif()
