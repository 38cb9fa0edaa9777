# musl's C library and LLVM's C++ library, linked statically, for a command line that runs on any Linux: by zig, which the
# wheel ziglang has. QDQ_MUSL_PROCESSOR is x86_64, by default, or aarch64.
if(NOT QDQ_MUSL_PROCESSOR)
  set(QDQ_MUSL_PROCESSOR x86_64)
endif()
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES QDQ_MUSL_PROCESSOR)
file(GLOB zig ${CMAKE_CURRENT_LIST_DIR}/../.venv/lib/python3*/site-packages/ziglang/zig)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${QDQ_MUSL_PROCESSOR})
set(CMAKE_C_COMPILER ${zig} cc -target ${QDQ_MUSL_PROCESSOR}-linux-musl)
set(CMAKE_CXX_COMPILER ${zig} c++ -target ${QDQ_MUSL_PROCESSOR}-linux-musl)
foreach(tool IN ITEMS ar ranlib)
  string(TOUPPER CMAKE_${tool} variable)
  set(${variable} ${CMAKE_BINARY_DIR}/zig-${tool})
  file(WRITE ${${variable}} "#!/bin/sh\nexec ${zig} ${tool} \"$@\"\n")
  file(CHMOD ${${variable}} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endforeach()
# musl's threads have 128 KiB of stack, where the program does not ask for more.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static -s -Wl,-z,stack-size=8388608")
# What it makes of x86_64 runs here as it is.
set(CMAKE_CROSSCOMPILING_EMULATOR env)
if(QDQ_MUSL_PROCESSOR STREQUAL aarch64)
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
endif()
