/* aclnn.h in plain C: every function named once. Built as C99 and as C11, each under its own name. */
#include <qdq/compat/aclnn.h>

/* 0 on success, else the number of the step that failed. */
int QDQ_ACLNN_HEADER_USE(void);

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
    if (aclDestroyTensor(x) || aclDestroyTensor(scales)) {
        return 9;
    }
    if (aclDestroyTensor(zero_points) || aclDestroyTensor(out)) {
        return 9;
    }
    return out_data[0] == -1 && out_data[1] == 1 && out_data[2] == 2 && out_data[3] == 3 ? 0 : 10;
}
