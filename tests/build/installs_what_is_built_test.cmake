# Installs a build of nothing, and fails unless each component says what is not built, and nothing is installed.
#
# cmake -DSOURCE_DIR=<qdq> -DWORK_DIR=<scratch> -DGENERATOR=<generator> -DTOOLCHAIN=<file or nothing>
#       -P installs_what_is_built_test.cmake
cmake_minimum_required(VERSION 3.28)

file(REMOVE_RECURSE ${WORK_DIR})
set(options -DQDQ_KERNELS=quantize_f32_i8 -DQDQ_BUILD_TESTS=OFF -DQDQ_BUILD_BENCH=OFF)
if(TOOLCHAIN)
  list(APPEND options -DCMAKE_TOOLCHAIN_FILE=${TOOLCHAIN})
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE_DIR} -B ${WORK_DIR}/build -G ${GENERATOR} ${options}
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
foreach(component runtime development tools)
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${WORK_DIR}/build --prefix ${WORK_DIR}/prefix --component ${component}
                  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(status EQUAL 0 OR NOT output MATCHES "is not built: make build, or cmake --build [^ ]+, comes before cmake --install")
    message(FATAL_ERROR "${component}: status ${status}, ${output}")
  endif()
endforeach()
if(EXISTS ${WORK_DIR}/prefix)
  message(FATAL_ERROR "${WORK_DIR}/prefix is there")
endif()
