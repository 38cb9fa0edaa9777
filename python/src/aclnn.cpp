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

// What a first phase gives: the status, the size and the executor.
template<typename First> nb::tuple first_phase(First &&first) {
    std::uint64_t size = 0;
    aclOpExecutor *executor = nullptr;
    const aclnnStatus status = first(&size, &executor);
    return nb::make_tuple(status, size, address(executor));
}

nb::tuple quantize_size(std::uintptr_t x, std::uintptr_t scales, std::uintptr_t zero_points, int dtype,
                        nb::handle given_axis, std::uintptr_t out) {
    const std::int32_t axis = integer_of_32_bits("aclnnQuantizeGetWorkspaceSize", "axis", given_axis);
    return first_phase([&](auto *size, auto *executor) {
        return aclnnQuantizeGetWorkspaceSize(pointer<aclTensor>(x), pointer<aclTensor>(scales),
                                             pointer<aclTensor>(zero_points), static_cast<aclDataType>(dtype), axis,
                                             pointer<aclTensor>(out), size, executor);
    });
}

// A mode's text, or NULL for None.
const char *text_or_null(const char *function, const char *name, nb::handle given) {
    return given.is_none() ? nullptr : text(function, name, given).data();
}

nb::tuple ascend_quant_size(std::uintptr_t x, std::uintptr_t scale, std::uintptr_t offset, bool sqrt_mode,
                            nb::handle round_mode, std::int32_t dst_type, std::uintptr_t y) {
    const char *const mode = text_or_null("aclnnAscendQuantGetWorkspaceSize", "roundMode", round_mode);
    return first_phase([&](auto *size, auto *executor) {
        return aclnnAscendQuantGetWorkspaceSize(pointer<aclTensor>(x), pointer<aclTensor>(scale),
                                                pointer<aclTensor>(offset), sqrt_mode, mode, dst_type,
                                                pointer<aclTensor>(y), size, executor);
    });
}

nb::tuple ascend_quant_v3_size(std::uintptr_t x, std::uintptr_t scale, std::uintptr_t offset, bool sqrt_mode,
                               nb::handle round_mode, std::int32_t dst_type, nb::handle given_axis, std::uintptr_t y) {
    constexpr const char *function = "aclnnAscendQuantV3GetWorkspaceSize";
    const std::int32_t axis = integer_of_32_bits(function, "axis", given_axis);
    const char *const mode = text_or_null(function, "roundMode", round_mode);
    return first_phase([&](auto *size, auto *executor) {
        return aclnnAscendQuantV3GetWorkspaceSize(pointer<aclTensor>(x), pointer<aclTensor>(scale),
                                                  pointer<aclTensor>(offset), sqrt_mode, mode, dst_type, axis,
                                                  pointer<aclTensor>(y), size, executor);
    });
}

nb::tuple anti_quant_size(std::uintptr_t x, std::uintptr_t scale, std::uintptr_t offset, std::int64_t dst_type,
                          bool sqrt_mode, std::uintptr_t y) {
    return first_phase([&](auto *size, auto *executor) {
        return aclnnAscendAntiQuantGetWorkspaceSize(pointer<aclTensor>(x), pointer<aclTensor>(scale),
                                                    pointer<aclTensor>(offset), dst_type, sqrt_mode,
                                                    pointer<aclTensor>(y), size, executor);
    });
}

nb::tuple dynamic_quant_size(std::uintptr_t x, std::uintptr_t smooth_scales, std::uintptr_t y, std::uintptr_t scale) {
    return first_phase([&](auto *size, auto *executor) {
        return aclnnDynamicQuantGetWorkspaceSize(pointer<aclTensor>(x), pointer<aclTensor>(smooth_scales),
                                                 pointer<aclTensor>(y), pointer<aclTensor>(scale), size, executor);
    });
}

nb::tuple dynamic_quant_v2_size(std::uintptr_t x, std::uintptr_t smooth_scales, std::uintptr_t group_index,
                                std::int64_t dst_type, std::uintptr_t y, std::uintptr_t scale, std::uintptr_t offset) {
    return first_phase([&](auto *size, auto *executor) {
        return aclnnDynamicQuantV2GetWorkspaceSize(
            pointer<aclTensor>(x), pointer<aclTensor>(smooth_scales), pointer<aclTensor>(group_index), dst_type,
            pointer<aclTensor>(y), pointer<aclTensor>(scale), pointer<aclTensor>(offset), size, executor);
    });
}

nb::tuple dynamic_quant_v3_size(std::uintptr_t x, std::uintptr_t smooth_scales, std::uintptr_t group_index,
                                std::int64_t dst_type, bool is_symmetrical, nb::handle quant_mode, std::uintptr_t y,
                                std::uintptr_t scale, std::uintptr_t offset) {
    const char *const mode = text_or_null("aclnnDynamicQuantV3GetWorkspaceSize", "quantMode", quant_mode);
    return first_phase([&](auto *size, auto *executor) {
        return aclnnDynamicQuantV3GetWorkspaceSize(pointer<aclTensor>(x), pointer<aclTensor>(smooth_scales),
                                                   pointer<aclTensor>(group_index), dst_type, is_symmetrical, mode,
                                                   pointer<aclTensor>(y), pointer<aclTensor>(scale),
                                                   pointer<aclTensor>(offset), size, executor);
    });
}

nb::tuple dynamic_mx_quant_size(std::uintptr_t x, std::int64_t axis, nb::handle round_mode, std::int64_t dst_type,
                                std::int64_t block_size, std::int64_t scale_alg, std::uintptr_t y,
                                std::uintptr_t scale) {
    const char *const mode = text_or_null("aclnnDynamicMxQuantGetWorkspaceSize", "roundModeOptional", round_mode);
    return first_phase([&](auto *size, auto *executor) {
        return aclnnDynamicMxQuantGetWorkspaceSize(pointer<aclTensor>(x), axis, const_cast<char *>(mode), dst_type,
                                                   block_size, scale_alg, pointer<aclTensor>(y),
                                                   pointer<aclTensor>(scale), size, executor);
    });
}

template<auto second> void define_second_phase(nb::module_ &m, const char *name) {
    m.def(
        name,
        [](std::uintptr_t workspace, std::uint64_t size, std::uintptr_t executor, std::uintptr_t stream) {
            const nb::gil_scoped_release others_run;
            return second(pointer(workspace), size, pointer<aclOpExecutor>(executor), pointer(stream));
        },
        "workspace"_a, "workspaceSize"_a, "executor"_a, "stream"_a);
}

void define_functions_in_two_phases(nb::module_ &m) {
    m.def("aclnnQuantizeGetWorkspaceSize", quantize_size, "x"_a, "scales"_a, "zeroPoints"_a, "dtype"_a, "axis"_a.none(),
          "out"_a);
    m.def("aclnnAscendQuantGetWorkspaceSize", ascend_quant_size, "x"_a, "scale"_a, "offset"_a, "sqrtMode"_a,
          "roundMode"_a.none(), "dstType"_a, "y"_a);
    m.def("aclnnAscendQuantV3GetWorkspaceSize", ascend_quant_v3_size, "x"_a, "scale"_a, "offset"_a, "sqrtMode"_a,
          "roundMode"_a.none(), "dstType"_a, "axis"_a.none(), "y"_a);
    m.def("aclnnAscendAntiQuantGetWorkspaceSize", anti_quant_size, "x"_a, "scale"_a, "offset"_a, "dstType"_a,
          "sqrtMode"_a, "y"_a);
    m.def("aclnnDynamicQuantGetWorkspaceSize", dynamic_quant_size, "x"_a, "smoothScalesOptional"_a, "yOut"_a,
          "scaleOut"_a);
    m.def("aclnnDynamicQuantV2GetWorkspaceSize", dynamic_quant_v2_size, "x"_a, "smoothScalesOptional"_a,
          "groupIndexOptional"_a, "dstType"_a, "yOut"_a, "scaleOut"_a, "offsetOut"_a);
    m.def("aclnnDynamicQuantV3GetWorkspaceSize", dynamic_quant_v3_size, "x"_a, "smoothScalesOptional"_a,
          "groupIndexOptional"_a, "dstType"_a, "isSymmetrical"_a, "quantMode"_a.none(), "yOut"_a, "scaleOut"_a,
          "offsetOut"_a);
    m.def("aclnnDynamicMxQuantGetWorkspaceSize", dynamic_mx_quant_size, "x"_a, "axis"_a, "roundModeOptional"_a.none(),
          "dstType"_a, "blocksize"_a, "scaleAlg"_a, "yOut"_a, "mxscaleOut"_a);
    define_second_phase<aclnnQuantize>(m, "aclnnQuantize");
    define_second_phase<aclnnAscendQuant>(m, "aclnnAscendQuant");
    define_second_phase<aclnnAscendQuantV3>(m, "aclnnAscendQuantV3");
    define_second_phase<aclnnAscendAntiQuant>(m, "aclnnAscendAntiQuant");
    define_second_phase<aclnnDynamicQuant>(m, "aclnnDynamicQuant");
    define_second_phase<aclnnDynamicQuantV2>(m, "aclnnDynamicQuantV2");
    define_second_phase<aclnnDynamicQuantV3>(m, "aclnnDynamicQuantV3");
    define_second_phase<aclnnDynamicMxQuant>(m, "aclnnDynamicMxQuant");
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
    define_functions_in_two_phases(m);
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
    QDQ_CONSTANT(ACL_INT64), QDQ_CONSTANT(ACL_INT4), QDQ_CONSTANT(ACL_FLOAT8_E5M2);
    QDQ_CONSTANT(ACL_FLOAT8_E4M3FN), QDQ_CONSTANT(ACL_FLOAT8_E8M0), QDQ_CONSTANT(ACL_FLOAT4_E2M1);
    QDQ_CONSTANT(ACL_FLOAT4_E1M2), QDQ_CONSTANT(ACL_HIFLOAT8);
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
