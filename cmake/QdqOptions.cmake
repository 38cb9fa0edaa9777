# Every option: what it does and its default.

# The targets to compile kernels for, best first; kernels/manifest.cmake describes each. Empty: all that are for the
# processor the compiler compiles for. native: the best that this machine can run, and the plainest to compare with.
set(QDQ_TARGETS "" CACHE STRING "Targets to compile kernels for")

# The kernel rows to compile, by globs over their names, which kernels/manifest.cmake's types make:
# "quantize_f32_i8;dequantize_i8_f32;*_bf16_f8e4m3". A glob that begins with * takes the types in either order, so the last
# one is both directions. Empty: all.
set(QDQ_KERNELS "" CACHE STRING "Kernel rows to compile")

# The same by types: only rows of these float types and stored types. Empty: all.
set(QDQ_FLOAT_TYPES "" CACHE STRING "Types of the float side to compile kernels for")
set(QDQ_STORED_TYPES "" CACHE STRING "Types of the stored side to compile kernels for")

# A processor that schedules/tuned/<target>.<microarchitecture>.json has measured parameters of, for targets that have such
# a file: amd_avx512_bf16. Empty: those of the targets, for any processor.
set(QDQ_MICROARCHITECTURE "" CACHE STRING "Processor whose tuned parameters the kernels have")

# Devices to compile kernels for, beside the processor's: cuda and opencl. Both take 160 seconds of one processor more, and
# make a library of 16 MB of one of 6.
set(QDQ_DEVICE_TARGETS "" CACHE STRING "Device targets to compile kernels for")

# Compute capabilities ("80;90") for which CUDA's kernels are compiled by ptxas here, so that a first call on such a device need
# not: docs/gpu.md says what that adds to the library. Others compile the PTX, as all do where this is empty.
set(QDQ_CUDA_ARCHITECTURES "" CACHE STRING "CUDA architectures to have kernels compiled for")

# For archives that are unpacked anywhere: pkg-config then finds the other files from where qdq.pc lies. Without it qdq.pc names
# the folder that it was installed to, as other packages do.
option(QDQ_RELOCATABLE "Let pkg-config find what is installed wherever it is moved" OFF)

option(QDQ_INSTALL "Have `cmake --install` install qdq" ${PROJECT_IS_TOP_LEVEL})

# build/release/generators/qdq_generators of another build of these sources: then none are built, which takes a minute, and
# nothing of Halide's compiler is looked for. For builds without tests.
set(QDQ_GENERATORS "" CACHE FILEPATH "The kernels' generators, built before")

# What a build for another machine makes on this one.
option(QDQ_GENERATORS_ONLY "Build nothing but the kernels' generators" OFF)
mark_as_advanced(QDQ_GENERATORS_ONLY)

# Halide's own run-time checks in every kernel: slower calls, for finding a dispatcher's mistakes.
option(QDQ_KERNEL_ASSERTS "Keep Halide's assertions in the kernels" OFF)

option(QDQ_BUILD_CLI "Build the qdq command line" ${PROJECT_IS_TOP_LEVEL})
option(QDQ_BUILD_EXAMPLES "Build the front ends' examples" ${PROJECT_IS_TOP_LEVEL})
option(QDQ_BUILD_TESTS "Build the tests (needs GoogleTest)" ${PROJECT_IS_TOP_LEVEL})
option(QDQ_BUILD_BENCH "Build the benchmarks (needs Google Benchmark)" ${PROJECT_IS_TOP_LEVEL})

# What `pip install .` sets, which builds nothing else (pyproject.toml). `make test` and `make wheel` build python/ by itself
# over the kernels that are compiled already.
option(QDQ_BUILD_PYTHON "Build the Python package's extension" OFF)

# address,undefined or thread: instruments the runtime, the command line and the tests, not the kernels.
set(QDQ_SANITIZE "" CACHE STRING "Value of -fsanitize for the C++ code")

# gcc's --coverage, for the same.
option(QDQ_COVERAGE "Count how often each line runs" OFF)

# Where it is installed, and no launcher is asked for.
option(QDQ_CCACHE "Compile by ccache, if it is there" ${PROJECT_IS_TOP_LEVEL})
find_program(QDQ_CCACHE_PROGRAM ccache)
mark_as_advanced(QDQ_CCACHE_PROGRAM)
if(QDQ_CCACHE AND QDQ_CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Files with precompiled headers are kept by these two leniencies alone (ccache's manual). A compiler launcher would stand in
  # compile_commands.json, where clang-tidy takes `env` for the compiler.
  set_property(GLOBAL PROPERTY RULE_LAUNCH_COMPILE
    "env CCACHE_SLOPPINESS=pch_defines,time_macros ${QDQ_CCACHE_PROGRAM}")
endif()

# Needs clang, and is for the preset fuzz: tests are not to run in such a build.
option(QDQ_BUILD_FUZZERS "Build the fuzzers with libFuzzer, instead of as tests of their corpora" OFF)

# Less time to compile all of it, and more for what changes of it: what `pip install .` and the presets demo and start do.
option(QDQ_UNITY_BUILD "Compile the command line and the generators in a few units" OFF)

# The interpreter with the packages of requirements/base.txt, for tests in Python.
set(QDQ_PYTHON "${PROJECT_SOURCE_DIR}/.venv/bin/python" CACHE FILEPATH "Python interpreter with requirements/base.txt installed")

# The Halide wheel keeps its CMake packages where CMake does not look.
set(packages "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages")
if(SKBUILD)  # the packages that pyproject.toml asks for
  set(packages ${CMAKE_PREFIX_PATH})
endif()
list(TRANSFORM packages APPEND /halide/lib64/cmake)
file(GLOB wheel LIST_DIRECTORIES true ${packages})
if(wheel)
  set(Halide_DIR "${wheel}/Halide" CACHE PATH "Halide's CMake package")
  set(HalideHelpers_DIR "${wheel}/HalideHelpers" CACHE PATH "Halide's CMake helpers")
endif()

# qdq_find_halide(<package> ...): find_package for one of that wheel's packages, which says where to get it.
macro(qdq_find_halide package)
  find_package(${package} 21 QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR
      "CMake's package ${package} of version 21 is not found. \"pip install halide==21.0.0\" brings it: configure with "
      "-D${package}_DIR=<site-packages>/halide/lib64/cmake/${package}. ${${package}_NOT_FOUND_MESSAGE}")
  endif()
endmacro()
