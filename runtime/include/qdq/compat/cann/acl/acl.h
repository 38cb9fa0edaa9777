/* The calls of CANN's acl/acl.h that programs make around aclnnQuantize, on host memory.
 *
 * There is one device, 0, which is the host, and nothing is initialized. A stream is a number: every call has finished
 * when it returns. Memory of aclrtMalloc is the host's, and any other may take its place. */
#ifndef QDQ_COMPAT_CANN_ACL_H
#define QDQ_COMPAT_CANN_ACL_H

#include <qdq/compat/aclnn.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef enum {
    ACL_MEM_MALLOC_HUGE_FIRST,
    ACL_MEM_MALLOC_HUGE_ONLY,
    ACL_MEM_MALLOC_NORMAL_ONLY,
    ACL_MEM_MALLOC_HUGE_FIRST_P2P,
    ACL_MEM_MALLOC_HUGE_ONLY_P2P,
    ACL_MEM_MALLOC_NORMAL_ONLY_P2P,
    ACL_MEM_TYPE_LOW_BAND_WIDTH = 0x0100,
    ACL_MEM_TYPE_HIGH_BAND_WIDTH = 0x1000
} aclrtMemMallocPolicy;

typedef enum {
    ACL_MEMCPY_HOST_TO_HOST,
    ACL_MEMCPY_HOST_TO_DEVICE,
    ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_DEVICE_TO_DEVICE
} aclrtMemcpyKind;

enum {
    ACL_ERROR_NONE = 0,
    ACL_ERROR_INVALID_PARAM = 100000,
    ACL_ERROR_RT_INVALID_DEVICEID = 107001,
    ACL_ERROR_RT_MEMORY_ALLOCATION = 207001
};

aclError aclInit(const char *configPath); /* which is not read, and may be NULL */
aclError aclFinalize(void);

/* ACL_ERROR_RT_INVALID_DEVICEID: a device other than 0. */
aclError aclrtSetDevice(int32_t deviceId);
aclError aclrtResetDevice(int32_t deviceId);

/* ACL_ERROR_INVALID_PARAM: nowhere to put the stream; NULL is no stream to destroy. */
aclError aclrtCreateStream(aclrtStream *stream);
aclError aclrtDestroyStream(aclrtStream stream);
aclError aclrtSynchronizeStream(aclrtStream stream);

/* ACL_ERROR_INVALID_PARAM: NULL, a size of 0, more bytes than there is room for. */
aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy); /* at a multiple of 64 */
aclError aclrtFree(void *devPtr);
aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind);

#if defined(__cplusplus)
}
#endif

#endif /* QDQ_COMPAT_CANN_ACL_H */
