// For tests of the driver and tests over it: a call that fails, and what kernels did. Found by dlsym in the library
// that is loaded.
#pragma once

#include <cstdint>

extern "C" {

// Of the driver's calls from now on, the one after so many others fails with this error and does nothing. -1: none
// fails.
void ptx_driver_fail(int64_t after, int error);

// How many calls there were since.
int64_t ptx_driver_calls();

// What kernels have done since the last time that this was asked: threads, instructions of threads, sectors of 32 bytes
// that warps' accesses touched, and bytes that they were for. After the work, by cuStreamSynchronize.
void ptx_driver_counts(uint64_t counts[4]);

// Devices have this compute capability from now on, 10 times the major number and the minor number; 70 otherwise.
void ptx_driver_capability(int of_devices);

// The architecture of the cubin that was last to be loaded, since this was last asked; 0: none was. The interpreter
// runs no SASS: it says so on stderr and refuses it, as a driver does that is older than a cubin.
int ptx_driver_refused_cubin();
}
