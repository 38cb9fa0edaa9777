/* aclnn.h in plain C: every function named once. Built as C99 and as C11, each under its own name. */
#include <qdq/compat/aclnn.h>

/* 0 on success, else the number of the step that failed. */
int QDQ_ACLNN_HEADER_USE(void);

/* Both phases of the other functions, which refuse what they are given; 0 on success. */
static int use_others(const aclTensor *x, const aclTensor *s, const aclTensor *y) {
    uint64_t size = 1;
    aclOpExecutor *executor = NULL;
    char rint[] = "rint";
    const bool sqrt_mode = false;
    return aclnnAscendQuantGetWorkspaceSize(x, s, NULL, sqrt_mode, NULL, 2, y, &size, &executor) == ACLNN_SUCCESS ||
           aclnnAscendQuant(NULL, 0, executor, NULL) == ACLNN_SUCCESS ||
           aclnnAscendQuantV3GetWorkspaceSize(x, s, NULL, sqrt_mode, NULL, 2, -1, y, &size, &executor) ==
               ACLNN_SUCCESS ||
           aclnnAscendQuantV3(NULL, 0, executor, NULL) == ACLNN_SUCCESS ||
           aclnnAscendAntiQuantGetWorkspaceSize(x, s, NULL, 1, sqrt_mode, y, &size, &executor) == ACLNN_SUCCESS ||
           aclnnAscendAntiQuant(NULL, 0, executor, NULL) == ACLNN_SUCCESS ||
           aclnnDynamicQuantGetWorkspaceSize(x, NULL, y, s, &size, &executor) == ACLNN_SUCCESS ||
           aclnnDynamicQuant(NULL, 0, executor, NULL) == ACLNN_SUCCESS ||
           aclnnDynamicQuantV2GetWorkspaceSize(x, NULL, NULL, 2, y, s, NULL, &size, &executor) == ACLNN_SUCCESS ||
           aclnnDynamicQuantV2(NULL, 0, executor, NULL) == ACLNN_SUCCESS ||
           aclnnDynamicQuantV3GetWorkspaceSize(x, NULL, NULL, 2, true, "", y, s, NULL, &size, &executor) ==
               ACLNN_SUCCESS ||
           aclnnDynamicQuantV3(NULL, 0, executor, NULL) == ACLNN_SUCCESS ||
           aclnnDynamicMxQuantGetWorkspaceSize(x, -1, rint, 36, 32, 0, y, s, &size, &executor) == ACLNN_SUCCESS ||
           aclnnDynamicMxQuant(NULL, 0, executor, NULL) == ACLNN_SUCCESS;
}

int QDQ_ACLNN_HEADER_USE(void) {
    float x_data[4] = {-1.0f, 0.0f, 0.5f, 1.0f}, scale = 0.5f;
    int8_t out_data[4] = {0}, zero_point = 1;
    const int64_t shape[2] = {2, 2}, one[1] = {1}, strides[2] = {2, 1};
    aclTensor *x = aclCreateTensor(shape, 2, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, shape, 2, x_data);
    aclTensor *scales = aclCreateTensor(one, 1, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, one, 1, &scale);
    aclTensor *zero_points = aclCreateTensor(one, 1, ACL_INT8, NULL, 0, ACL_FORMAT_ND, one, 1, &zero_point);
    aclTensor *out = aclCreateTensor(shape, 2, ACL_INT8, NULL, 0, ACL_FORMAT_ND, shape, 2, out_data);
    uint64_t size = 1;
    aclOpExecutor *executor = NULL;
    const aclrtStream stream = NULL;
    aclnnStatus status;

    if (!x || !scales || !zero_points || !out) {
        return 1;
    }
    status = aclnnQuantizeGetWorkspaceSize(x, scales, zero_points, ACL_INT8, 0, out, &size, &executor);
    if (status != ACLNN_SUCCESS || size != 0) {
        return 2;
    }
    if (aclSetAclOpExecutorRepeatable(executor) != ACL_SUCCESS) {
        return 3;
    }
    if (aclSetInputTensorAddr(executor, 0, x, x_data) != ACLNN_SUCCESS) {
        return 4;
    }
    if (aclSetOutputTensorAddr(executor, 0, out, out_data) != ACLNN_SUCCESS) {
        return 5;
    }
    if (aclnnQuantize(NULL, size, executor, stream) != ACLNN_SUCCESS) {
        return 6;
    }
    if (aclDestroyAclOpExecutor(executor) != ACLNN_SUCCESS) {
        return 7;
    }
    if (aclnnQuantize(NULL, 0, NULL, stream) != ACLNN_ERR_PARAM_NULLPTR || !aclGetRecentErrMsg()) {
        return 8;
    }
    if (use_others(x, scales, out) != 0) {
        return 11;
    }
    if (aclDestroyTensor(x) || aclDestroyTensor(scales)) {
        return 9;
    }
    if (aclDestroyTensor(zero_points) || aclDestroyTensor(out)) {
        return 9;
    }
    return out_data[0] == -1 && out_data[1] == 1 && out_data[2] == 2 && out_data[3] == 3 ? 0 : 10;
}
