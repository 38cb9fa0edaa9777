// CANN's C functions. What C returns through a pointer, Python returns after the status.
#include "arguments.h"
#include "front_ends.h"

#include <acl/acl.h>
#include <aclnn/acl_meta.h>
#include <aclnnop/aclnn_quantize.h>
#include <nanobind/nanobind.h>

#include <optional>
#include <vector>

namespace qdq::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

// Addresses and handles are integers, as `ctypes` and `ndarray.ctypes.data` have them; 0 is NULL.
template<typename T = void> T *pointer(std::uintptr_t address) { return reinterpret_cast<T *>(address); }
std::uintptr_t address(const void *given) { return reinterpret_cast<std::uintptr_t>(given); }

std::uintptr_t create_tensor(nb::handle given_dims, std::uint64_t view_dims_num, int type, nb::handle given_stride,
                             std::int64_t offset, int format, nb::handle given_storage, std::uint64_t storage_dims_num,
                             std::uintptr_t data) {
    constexpr const char *function = "aclCreateTensor";
    constexpr std::size_t most = 64;
    const std::vector<std::int64_t> view_dims = integers(function, "viewDims", given_dims, most),
                                    storage_dims = integers(function, "storageDims", given_storage, most);
    std::optional<std::vector<std::int64_t>> stride;
    if (!given_stride.is_none()) {
        stride = integers(function, "stride", given_stride, most);
    }
    if (view_dims_num > view_dims.size() || storage_dims_num > storage_dims.size() ||
        (stride && view_dims_num > stride->size())) {
        throw nb::value_error(
            "aclCreateTensor: viewDims, stride or storageDims is shorter than its number of dimensions");
    }
    return address(aclCreateTensor(view_dims.data(), view_dims_num, static_cast<aclDataType>(type),
                                   stride ? stride->data() : nullptr, offset, static_cast<aclFormat>(format),
                                   storage_dims.data(), storage_dims_num, pointer(data)));
}

nb::tuple get_workspace_size(std::uintptr_t x, std::uintptr_t scales, std::uintptr_t zero_points, int dtype,
                             nb::handle given_axis, std::uintptr_t out) {
    const std::int32_t axis = integer_of_32_bits("aclnnQuantizeGetWorkspaceSize", "axis", given_axis);
    std::uint64_t size = 0;
    aclOpExecutor *executor = nullptr;
    const aclnnStatus status = aclnnQuantizeGetWorkspaceSize(
        pointer<aclTensor>(x), pointer<aclTensor>(scales), pointer<aclTensor>(zero_points),
        static_cast<aclDataType>(dtype), axis, pointer<aclTensor>(out), &size, &executor);
    return nb::make_tuple(status, size, address(executor));
}

}  // namespace

void define_aclnn(nb::module_ &m) {
    m.def("aclInit", [](nb::handle) { return aclInit(nullptr); }, "configPath"_a.none());  // which is not read
    m.def("aclFinalize", aclFinalize);
    m.def("aclrtSetDevice", aclrtSetDevice, "deviceId"_a);
    m.def("aclrtResetDevice", aclrtResetDevice, "deviceId"_a);
    m.def("aclrtCreateStream", [] {
        aclrtStream stream = nullptr;
        const aclError status = aclrtCreateStream(&stream);
        return nb::make_tuple(status, address(stream));
    });
    m.def("aclrtDestroyStream", [](std::uintptr_t stream) { return aclrtDestroyStream(pointer(stream)); }, "stream"_a);
    m.def(
        "aclrtSynchronizeStream", [](std::uintptr_t stream) { return aclrtSynchronizeStream(pointer(stream)); },
        "stream"_a);
    m.def(
        "aclrtMalloc",
        [](std::size_t size, int policy) {
            void *memory = nullptr;
            const aclError status = aclrtMalloc(&memory, size, static_cast<aclrtMemMallocPolicy>(policy));
            return nb::make_tuple(status, address(memory));
        },
        "size"_a, "policy"_a);
    m.def("aclrtFree", [](std::uintptr_t memory) { return aclrtFree(pointer(memory)); }, "devPtr"_a);
    m.def(
        "aclrtMemcpy",
        [](std::uintptr_t to, std::size_t most, std::uintptr_t from, std::size_t count, int kind) {
            return aclrtMemcpy(pointer(to), most, pointer(from), count, static_cast<aclrtMemcpyKind>(kind));
        },
        "dst"_a, "destMax"_a, "src"_a, "count"_a, "kind"_a);
    m.def("aclCreateTensor", create_tensor, "viewDims"_a, "viewDimsNum"_a, "dataType"_a, "stride"_a.none(), "offset"_a,
          "format"_a, "storageDims"_a, "storageDimsNum"_a, "tensorData"_a);
    m.def(
        "aclDestroyTensor", [](std::uintptr_t tensor) { return aclDestroyTensor(pointer<aclTensor>(tensor)); },
        "tensor"_a);
    m.def("aclnnQuantizeGetWorkspaceSize", get_workspace_size, "x"_a, "scales"_a, "zeroPoints"_a, "dtype"_a,
          "axis"_a.none(), "out"_a);
    m.def(
        "aclnnQuantize",
        [](std::uintptr_t workspace, std::uint64_t size, std::uintptr_t executor, std::uintptr_t stream) {
            const nb::gil_scoped_release others_run;
            return aclnnQuantize(pointer(workspace), size, pointer<aclOpExecutor>(executor), pointer(stream));
        },
        "workspace"_a, "workspaceSize"_a, "executor"_a, "stream"_a);
    m.def(
        "aclSetAclOpExecutorRepeatable",
        [](std::uintptr_t executor) { return aclSetAclOpExecutorRepeatable(pointer<aclOpExecutor>(executor)); },
        "executor"_a);
    m.def(
        "aclDestroyAclOpExecutor",
        [](std::uintptr_t executor) { return aclDestroyAclOpExecutor(pointer<aclOpExecutor>(executor)); },
        "executor"_a);
    m.def(
        "aclSetInputTensorAddr",
        [](std::uintptr_t executor, std::size_t index, std::uintptr_t tensor, std::uintptr_t memory) {
            return aclSetInputTensorAddr(pointer<aclOpExecutor>(executor), index, pointer<aclTensor>(tensor),
                                         pointer(memory));
        },
        "executor"_a, "index"_a, "tensor"_a, "addr"_a);
    m.def(
        "aclSetOutputTensorAddr",
        [](std::uintptr_t executor, std::size_t index, std::uintptr_t tensor, std::uintptr_t memory) {
            return aclSetOutputTensorAddr(pointer<aclOpExecutor>(executor), index, pointer<aclTensor>(tensor),
                                          pointer(memory));
        },
        "executor"_a, "index"_a, "tensor"_a, "addr"_a);
    m.def("aclGetRecentErrMsg", aclGetRecentErrMsg);
#define QDQ_CONSTANT(name) m.attr(#name) = nb::int_(static_cast<int>(name))
    QDQ_CONSTANT(ACL_FLOAT), QDQ_CONSTANT(ACL_FLOAT16), QDQ_CONSTANT(ACL_BF16), QDQ_CONSTANT(ACL_INT8);
    QDQ_CONSTANT(ACL_UINT8), QDQ_CONSTANT(ACL_INT16), QDQ_CONSTANT(ACL_UINT16), QDQ_CONSTANT(ACL_INT32);
    QDQ_CONSTANT(ACL_FORMAT_UNDEFINED), QDQ_CONSTANT(ACL_FORMAT_NCHW), QDQ_CONSTANT(ACL_FORMAT_NHWC);
    QDQ_CONSTANT(ACL_FORMAT_ND);
    QDQ_CONSTANT(ACL_SUCCESS), QDQ_CONSTANT(ACLNN_SUCCESS), QDQ_CONSTANT(ACLNN_ERR_PARAM_NULLPTR);
    QDQ_CONSTANT(ACLNN_ERR_PARAM_INVALID), QDQ_CONSTANT(ACLNN_ERR_RUNTIME_ERROR), QDQ_CONSTANT(ACLNN_ERR_INNER);
    QDQ_CONSTANT(ACLNN_ERR_INNER_FIND_KERNEL_ERROR), QDQ_CONSTANT(ACLNN_ERR_INNER_CREATE_EXECUTOR);
    QDQ_CONSTANT(ACLNN_ERR_INNER_NULLPTR);
    QDQ_CONSTANT(ACL_ERROR_NONE), QDQ_CONSTANT(ACL_ERROR_INVALID_PARAM), QDQ_CONSTANT(ACL_ERROR_RT_INVALID_DEVICEID);
    QDQ_CONSTANT(ACL_ERROR_RT_MEMORY_ALLOCATION);
    QDQ_CONSTANT(ACL_MEM_MALLOC_HUGE_FIRST), QDQ_CONSTANT(ACL_MEM_MALLOC_HUGE_ONLY);
    QDQ_CONSTANT(ACL_MEM_MALLOC_NORMAL_ONLY);
    QDQ_CONSTANT(ACL_MEMCPY_HOST_TO_HOST), QDQ_CONSTANT(ACL_MEMCPY_HOST_TO_DEVICE);
    QDQ_CONSTANT(ACL_MEMCPY_DEVICE_TO_HOST), QDQ_CONSTANT(ACL_MEMCPY_DEVICE_TO_DEVICE);
#undef QDQ_CONSTANT
}

}  // namespace qdq::python
