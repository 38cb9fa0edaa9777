// CANN's sample of aclnnQuantize, its calls in their order. A program for CANN has the same lines: none had to change.
#include "acl/acl.h"
#include "aclnnop/aclnn_quantize.h"

#include <cstdio>
#include <vector>

#define CHECK(call)                                                                    \
    do {                                                                               \
        const int status = static_cast<int>(call);                                     \
        if (status != ACL_SUCCESS) {                                                   \
            std::fprintf(stderr, "%s: %d: %s\n", #call, status, aclGetRecentErrMsg()); \
            return status;                                                             \
        }                                                                              \
    } while (false)

static int64_t elements_of(const std::vector<int64_t> &shape) {
    int64_t count = 1;
    for (int64_t size : shape) {
        count *= size;
    }
    return count;
}

static int init(int32_t deviceId, aclrtStream *stream) {
    CHECK(aclInit(nullptr));
    CHECK(aclrtSetDevice(deviceId));
    CHECK(aclrtCreateStream(stream));
    return ACL_SUCCESS;
}

// A dense tensor in the device's memory, with the host's elements.
template<typename T>
static int create_tensor(const std::vector<T> &hostData, const std::vector<int64_t> &shape, aclDataType dataType,
                         void **deviceAddr, aclTensor **tensor) {
    const size_t bytes = static_cast<size_t>(elements_of(shape)) * sizeof(T);
    CHECK(aclrtMalloc(deviceAddr, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMemcpy(*deviceAddr, bytes, hostData.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t d = shape.size(); d-- > 1;) {
        strides[d - 1] = shape[d] * strides[d];
    }
    *tensor = aclCreateTensor(shape.data(), shape.size(), dataType, strides.data(), 0, ACL_FORMAT_ND, shape.data(),
                              shape.size(), *deviceAddr);
    return ACL_SUCCESS;
}

int main() {
    const int32_t deviceId = 0;
    aclrtStream stream;
    CHECK(init(deviceId, &stream));

    const std::vector<int64_t> xShape{4, 2}, channels{2};
    void *xAddr = nullptr, *scalesAddr = nullptr, *zeroPointsAddr = nullptr, *outAddr = nullptr;
    aclTensor *x = nullptr, *scales = nullptr, *zeroPoints = nullptr, *out = nullptr;
    const std::vector<float> xData{0.3382f, -0.0919f, 0.7564f, 0.0234f, 3.1024f, 1.0761f, 0.4228f, 1.4621f};
    CHECK(create_tensor<float>(xData, xShape, ACL_FLOAT, &xAddr, &x));
    CHECK(create_tensor<float>({1.0f, -3.0f}, channels, ACL_FLOAT, &scalesAddr, &scales));
    CHECK(create_tensor<int32_t>({2, 10}, channels, ACL_INT32, &zeroPointsAddr, &zeroPoints));
    std::vector<int32_t> outData(8, 0);
    CHECK(create_tensor(outData, xShape, ACL_INT32, &outAddr, &out));

    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = nullptr;
    CHECK(aclnnQuantizeGetWorkspaceSize(x, scales, zeroPoints, ACL_INT32, 1, out, &workspaceSize, &executor));
    void *workspaceAddr = nullptr;
    if (workspaceSize > 0) {
        CHECK(aclrtMalloc(&workspaceAddr, workspaceSize, ACL_MEM_MALLOC_HUGE_FIRST));
    }
    CHECK(aclnnQuantize(workspaceAddr, workspaceSize, executor, stream));
    CHECK(aclrtSynchronizeStream(stream));

    const size_t bytes = outData.size() * sizeof(outData[0]);
    CHECK(aclrtMemcpy(outData.data(), bytes, outAddr, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    for (size_t i = 0; i < outData.size(); i += 2) {
        std::printf("%8d%8d\n", static_cast<int>(outData[i]), static_cast<int>(outData[i + 1]));
    }

    for (aclTensor *tensor : {x, scales, zeroPoints, out}) {
        aclDestroyTensor(tensor);
    }
    for (void *memory : {xAddr, scalesAddr, zeroPointsAddr, outAddr}) {
        aclrtFree(memory);
    }
    if (workspaceSize > 0) {
        aclrtFree(workspaceAddr);
    }
    aclrtDestroyStream(stream);
    aclrtResetDevice(deviceId);
    aclFinalize();
    return 0;
}
