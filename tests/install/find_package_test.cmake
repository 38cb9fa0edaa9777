# Installs the build, moves what was installed (a package must not remember where it was built), and builds and runs a
# project against it.
#
# cmake -DBUILD_DIR=<build tree> -DCONFIG=<build type> -DWORK_DIR=<scratch> -DCONSUMER_DIR=<find_package/>
#       -DPROGRAMS=<what it builds> -DGENERATOR=<generator> -DC=<compiler> -DCXX=<compiler> -DC_FLAGS=<flags> -DCXX_FLAGS=<flags>
#       -DTOOLCHAIN=<toolchain file or nothing> -DEMULATOR=<emulator or nothing> -P find_package_test.cmake
cmake_minimum_required(VERSION 3.28)

function(run)
    execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT result EQUAL 0)
        list(JOIN ARGV " " command)
        message(FATAL_ERROR "${command}\nended with ${result}:\n${output}")
    endif()
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --config ${CONFIG} --prefix ${WORK_DIR}/installed)
file(RENAME ${WORK_DIR}/installed ${WORK_DIR}/moved)

run(${CMAKE_COMMAND} -S ${CONSUMER_DIR} -B ${WORK_DIR}/build -G ${GENERATOR}
    -DCMAKE_BUILD_TYPE=${CONFIG}
    -DCMAKE_TOOLCHAIN_FILE=${TOOLCHAIN}
    --no-warn-unused-cli
    -DCMAKE_C_COMPILER=${C}
    -DCMAKE_C_FLAGS=${C_FLAGS}
    -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_CXX_FLAGS=${CXX_FLAGS}
    -DCMAKE_PREFIX_PATH=${WORK_DIR}/moved)
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build --config ${CONFIG})

foreach(program IN LISTS PROGRAMS)
    find_program(${program} ${program} PATHS ${WORK_DIR}/build ${WORK_DIR}/build/${CONFIG} NO_DEFAULT_PATH REQUIRED)
    run(${EMULATOR} ${${program}})
endforeach()

# Headers, libraries, a CMake package and perhaps the program: of the compiler, its license alone belongs to what is
# installed.
file(GLOB_RECURSE foreign ${WORK_DIR}/moved/*Halide*)
list(FILTER foreign EXCLUDE REGEX "/licenses/Halide\\.txt$")
if(foreign)
    message(FATAL_ERROR "installed: ${foreign}")
endif()
