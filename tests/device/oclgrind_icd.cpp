// Oclgrind's driver for OpenCL's loader, but that it says of its division what is true: it is the processor's, rounded
// correctly. Without, qdq refuses the device.
#include <CL/cl.h>
#include <CL/cl_icd.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace {

void *oclgrind(const char *function) {
    static void *const library = dlopen(QDQ_OCLGRIND, RTLD_NOW | RTLD_GLOBAL);
    return library != nullptr ? dlsym(library, function) : nullptr;
}

decltype(&clGetDeviceInfo) of_oclgrind = nullptr;

cl_int device_info(cl_device_id device, cl_device_info what, size_t size, void *value, size_t *needed) {
    const cl_int error = of_oclgrind(device, what, size, value, needed);
    if (error == CL_SUCCESS && what == CL_DEVICE_SINGLE_FP_CONFIG && value != nullptr) {
        *static_cast<cl_device_fp_config *>(value) |= CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
    }
    return error;
}

// What a handle of a driver begins with.
struct handle {
    cl_icd_dispatch *functions;
};

}  // namespace

extern "C" {

cl_int clIcdGetPlatformIDsKHR(cl_uint entries, cl_platform_id *platforms, cl_uint *count);
cl_int clIcdGetPlatformIDsKHR(cl_uint entries, cl_platform_id *platforms, cl_uint *count) {
    auto *const list = reinterpret_cast<decltype(&clIcdGetPlatformIDsKHR)>(oclgrind("clIcdGetPlatformIDsKHR"));
    if (list == nullptr) {
        return CL_INVALID_VALUE;
    }
    const cl_int error = list(entries, platforms, count);
    if (error == CL_SUCCESS && platforms != nullptr) {
        cl_icd_dispatch &functions = *reinterpret_cast<handle *>(platforms[0])->functions;
        if (functions.clGetDeviceInfo != device_info) {
            // Its own way out of the process ends in "corrupted double-linked list".
            on_exit([](int status, void *) { std::fflush(nullptr), _exit(status); }, nullptr);
            of_oclgrind = functions.clGetDeviceInfo;
            functions.clGetDeviceInfo = device_info;
        }
    }
    return error;
}

// By which the loader finds the function above.
void *clGetExtensionFunctionAddress(const char *name);
void *clGetExtensionFunctionAddress(const char *name) {
    if (std::strcmp(name, "clIcdGetPlatformIDsKHR") == 0) {
        return reinterpret_cast<void *>(clIcdGetPlatformIDsKHR);
    }
    using function = void *(const char *);
    auto *const find = reinterpret_cast<function *>(oclgrind("clGetExtensionFunctionAddress"));
    return find != nullptr ? find(name) : nullptr;
}
}
