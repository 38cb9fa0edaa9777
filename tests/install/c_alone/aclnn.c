/* CANN's aclnnQuantize in a program without C++, under CANN's paths. */
#include <acl/acl.h>
#include <aclnnop/aclnn_quantize.h>

#include <stdio.h>
#include <string.h>

int main(void) {
    float xData[] = {0.3382f, -0.0919f, 0.7564f, 0.0234f, 3.1024f, 1.0761f, 0.4228f, 1.4621f};
    float scalesData[] = {1.0f, -3.0f};
    int32_t zeroPointsData[] = {2, 10};
    int32_t outData[8];
    const int32_t expected[8] = {2, 10, 3, 10, 5, 10, 2, 10};
    const int64_t shape[] = {4, 2}, strides[] = {2, 1}, channels[] = {2}, next[] = {1};

    aclTensor *x = aclCreateTensor(shape, 2, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, shape, 2, xData);
    aclTensor *scales = aclCreateTensor(channels, 1, ACL_FLOAT, next, 0, ACL_FORMAT_ND, channels, 1, scalesData);
    aclTensor *zeroPoints =
        aclCreateTensor(channels, 1, ACL_INT32, next, 0, ACL_FORMAT_ND, channels, 1, zeroPointsData);
    aclTensor *out = aclCreateTensor(shape, 2, ACL_INT32, strides, 0, ACL_FORMAT_ND, shape, 2, outData);

    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = NULL;
    aclnnStatus ret =
        aclnnQuantizeGetWorkspaceSize(x, scales, zeroPoints, ACL_INT32, 1, out, &workspaceSize, &executor);
    if (ret == ACLNN_SUCCESS) {
        ret = aclnnQuantize(NULL, workspaceSize, executor, NULL);
    }
    if (ret != ACLNN_SUCCESS) {
        fprintf(stderr, "error %d: %s\n", (int)ret, aclGetRecentErrMsg());
    }
    aclDestroyTensor(x);
    aclDestroyTensor(scales);
    aclDestroyTensor(zeroPoints);
    aclDestroyTensor(out);
    return ret == ACLNN_SUCCESS && memcmp(outData, expected, sizeof expected) == 0 ? 0 : 1;
}
