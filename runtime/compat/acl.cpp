// The calls of acl/acl.h, on host memory.
#include "recent_error.h"

#include <acl/acl.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>

namespace {

using qdq::compat::fail_with;

constexpr size_t alignment = 64;

aclError invalid(const char *function, const char *rule) {
    return fail_with(ACL_ERROR_INVALID_PARAM, "%s: %s", function, rule);
}

aclError check_device(const char *function, int32_t device) {
    return device == 0 ? ACL_SUCCESS
                       : fail_with(ACL_ERROR_RT_INVALID_DEVICEID, "%s: deviceId: %d is not 0, the host", function,
                                   static_cast<int>(device));
}

}  // namespace

aclError aclInit(const char *) { return ACL_SUCCESS; }
aclError aclFinalize() { return ACL_SUCCESS; }

aclError aclrtSetDevice(int32_t deviceId) { return check_device("aclrtSetDevice", deviceId); }
aclError aclrtResetDevice(int32_t deviceId) { return check_device("aclrtResetDevice", deviceId); }

aclError aclrtCreateStream(aclrtStream *stream) {
    static std::atomic<uintptr_t> streams{0};
    if (!stream) {
        return invalid("aclrtCreateStream", "stream: NULL");
    }
    *stream = std::bit_cast<aclrtStream>(++streams);
    return ACL_SUCCESS;
}
aclError aclrtDestroyStream(aclrtStream stream) {
    return stream ? ACL_SUCCESS : invalid("aclrtDestroyStream", "stream: NULL");
}
aclError aclrtSynchronizeStream(aclrtStream) { return ACL_SUCCESS; }

aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy) {
    if (!devPtr || size == 0) {
        return invalid("aclrtMalloc", devPtr ? "size: 0" : "devPtr: NULL");
    }
    const size_t rounded = (size + alignment - 1) / alignment * alignment;
    *devPtr = rounded < size ? nullptr : std::aligned_alloc(alignment, rounded);
    return *devPtr ? ACL_SUCCESS : fail_with(ACL_ERROR_RT_MEMORY_ALLOCATION, "aclrtMalloc: out of memory");
}
aclError aclrtFree(void *devPtr) {
    if (!devPtr) {
        return invalid("aclrtFree", "devPtr: NULL");
    }
    std::free(devPtr);
    return ACL_SUCCESS;
}
aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind) {
    if (!dst || !src) {
        return invalid("aclrtMemcpy", dst ? "src: NULL" : "dst: NULL");
    }
    if (count > destMax) {
        return fail_with(ACL_ERROR_INVALID_PARAM, "aclrtMemcpy: count: %zu bytes for the %zu of destMax", count,
                         destMax);
    }
    std::memcpy(dst, src, count);
    return ACL_SUCCESS;
}
