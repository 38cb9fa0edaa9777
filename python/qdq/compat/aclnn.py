"""CANN's aclnnQuantize in two phases, with CANN's names, numbers and statuses, on host memory.

Each function has C's arguments in C's order. What C writes through a pointer follows the status in what Python returns:

    status, workspaceSize, executor = aclnnQuantizeGetWorkspaceSize(x, scales, zeroPoints, dtype, axis, out)

Addresses and handles are integers, as ndarray.ctypes.data is one, and 0 is NULL. They are trusted, as in C: memory
stays as long as what refers to it.
"""

from qdq._core.compat import (
    ACLNN_ERR_INNER as ACLNN_ERR_INNER,
    ACLNN_ERR_INNER_CREATE_EXECUTOR as ACLNN_ERR_INNER_CREATE_EXECUTOR,
    ACLNN_ERR_INNER_FIND_KERNEL_ERROR as ACLNN_ERR_INNER_FIND_KERNEL_ERROR,
    ACLNN_ERR_INNER_NULLPTR as ACLNN_ERR_INNER_NULLPTR,
    ACLNN_ERR_PARAM_INVALID as ACLNN_ERR_PARAM_INVALID,
    ACLNN_ERR_PARAM_NULLPTR as ACLNN_ERR_PARAM_NULLPTR,
    ACLNN_ERR_RUNTIME_ERROR as ACLNN_ERR_RUNTIME_ERROR,
    ACLNN_SUCCESS as ACLNN_SUCCESS,
    ACL_BF16 as ACL_BF16,
    ACL_ERROR_INVALID_PARAM as ACL_ERROR_INVALID_PARAM,
    ACL_ERROR_NONE as ACL_ERROR_NONE,
    ACL_ERROR_RT_INVALID_DEVICEID as ACL_ERROR_RT_INVALID_DEVICEID,
    ACL_ERROR_RT_MEMORY_ALLOCATION as ACL_ERROR_RT_MEMORY_ALLOCATION,
    ACL_FLOAT as ACL_FLOAT,
    ACL_FLOAT16 as ACL_FLOAT16,
    ACL_FORMAT_NCHW as ACL_FORMAT_NCHW,
    ACL_FORMAT_ND as ACL_FORMAT_ND,
    ACL_FORMAT_NHWC as ACL_FORMAT_NHWC,
    ACL_FORMAT_UNDEFINED as ACL_FORMAT_UNDEFINED,
    ACL_INT16 as ACL_INT16,
    ACL_INT32 as ACL_INT32,
    ACL_INT8 as ACL_INT8,
    ACL_MEMCPY_DEVICE_TO_DEVICE as ACL_MEMCPY_DEVICE_TO_DEVICE,
    ACL_MEMCPY_DEVICE_TO_HOST as ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_HOST_TO_DEVICE as ACL_MEMCPY_HOST_TO_DEVICE,
    ACL_MEMCPY_HOST_TO_HOST as ACL_MEMCPY_HOST_TO_HOST,
    ACL_MEM_MALLOC_HUGE_FIRST as ACL_MEM_MALLOC_HUGE_FIRST,
    ACL_MEM_MALLOC_HUGE_ONLY as ACL_MEM_MALLOC_HUGE_ONLY,
    ACL_MEM_MALLOC_NORMAL_ONLY as ACL_MEM_MALLOC_NORMAL_ONLY,
    ACL_SUCCESS as ACL_SUCCESS,
    ACL_UINT16 as ACL_UINT16,
    ACL_UINT8 as ACL_UINT8,
    aclCreateTensor as aclCreateTensor,
    aclDestroyAclOpExecutor as aclDestroyAclOpExecutor,
    aclDestroyTensor as aclDestroyTensor,
    aclFinalize as aclFinalize,
    aclGetRecentErrMsg as aclGetRecentErrMsg,
    aclInit as aclInit,
    aclSetAclOpExecutorRepeatable as aclSetAclOpExecutorRepeatable,
    aclSetInputTensorAddr as aclSetInputTensorAddr,
    aclSetOutputTensorAddr as aclSetOutputTensorAddr,
    aclnnQuantize as aclnnQuantize,
    aclnnQuantizeGetWorkspaceSize as aclnnQuantizeGetWorkspaceSize,
    aclrtCreateStream as aclrtCreateStream,
    aclrtDestroyStream as aclrtDestroyStream,
    aclrtFree as aclrtFree,
    aclrtMalloc as aclrtMalloc,
    aclrtMemcpy as aclrtMemcpy,
    aclrtResetDevice as aclrtResetDevice,
    aclrtSetDevice as aclrtSetDevice,
    aclrtSynchronizeStream as aclrtSynchronizeStream,
)
