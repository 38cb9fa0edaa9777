# Configures qdq with options that pick kernel rows, and fails unless it has those, and the kernels that move their elements.
#
# cmake -DSOURCE_DIR=<qdq> -DWORK_DIR=<scratch> -DGENERATOR=<generator> -DTOOLCHAIN=<toolchain file or nothing>
#       -P picked_rows_test.cmake
cmake_minimum_required(VERSION 3.28)

# kernels_of(<QDQ_KERNELS> <QDQ_FLOAT_TYPES> <QDQ_STORED_TYPES> ARE <rows> MOVED_BY <kernels, 0 for each that there is not>)
function(kernels_of globs floats stored are rows moved_by moving)
    file(REMOVE_RECURSE ${WORK_DIR})
    execute_process(
        COMMAND ${CMAKE_COMMAND} -S ${SOURCE_DIR} -B ${WORK_DIR} -G ${GENERATOR} -DCMAKE_TOOLCHAIN_FILE=${TOOLCHAIN}
                -DQDQ_BUILD_TESTS=OFF "-DQDQ_KERNELS=${globs}" "-DQDQ_FLOAT_TYPES=${floats}" "-DQDQ_STORED_TYPES=${stored}"
        RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE error)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "${globs}, ${floats}, ${stored}: ended with ${result}:\n${error}")
    endif()
    include(${WORK_DIR}/runtime/qdq-kernels.cmake)
    get_property(built GLOBAL PROPERTY QDQ_LINKABLE_ROWS)
    if(NOT built STREQUAL rows)
        message(FATAL_ERROR "${globs}, ${floats}, ${stored}: the rows are ${built}, not ${rows}")
    endif()
    file(STRINGS ${WORK_DIR}/runtime/kernel_rows.cpp lines REGEX "^     {")
    list(GET lines 0 line)
    string(REGEX MATCHALL " 0|{0|transpose_[0-9]+|[a-z]+_nibbles|[a-z]+_halves|dense_codes" found "${line}")
    string(REGEX REPLACE "[ {]0" "0" found "${found}")
    if(NOT found STREQUAL moving)
        message(FATAL_ERROR "${globs}, ${floats}, ${stored}: ${found} move elements, not ${moving}")
    endif()
endfunction()

set(of_4_bits swap_nibbles split_halves join_halves)
kernels_of("quantize_bf16_f6e2m3" "" "" ARE "quantize_bf16_f6e2m3"
           MOVED_BY "transpose_8;transpose_16;0;0;0;0;dense_codes")
kernels_of("quantize_f32_i8;dequantize_i8_f32;*_bf16_f8e4m3" "" ""
           ARE "quantize_f32_i8;quantize_bf16_f8e4m3;dequantize_i8_f32;dequantize_f8e4m3_bf16"
           MOVED_BY "transpose_8;transpose_16;transpose_32;0;0;0;0")
kernels_of("dequantize_i4_?f16;dequantize_i4_f1*" "" "" ARE "dequantize_i4_f16;dequantize_i4_bf16"
           MOVED_BY "0;transpose_16;0;${of_4_bits};0")
kernels_of("" "f32" "i4;i8" ARE "quantize_f32_i8;quantize_f32_i4;dequantize_i8_f32;dequantize_i4_f32"
           MOVED_BY "transpose_8;0;transpose_32;${of_4_bits};0")
kernels_of("quantize_*" "f32" "i4" ARE "quantize_f32_i4" MOVED_BY "0;0;transpose_32;${of_4_bits};0")
