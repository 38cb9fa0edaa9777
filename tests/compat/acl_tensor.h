// Tensors of CANN's for tests of its functions.
#pragma once

#include "acl_type.h"
#include "cases.h"

#include <acl/acl.h>

#include <cstdint>
#include <cstring>
#include <memory>

namespace compat_test {

inline constexpr int every_data_type[] = {-1, 0,  1,  2,  3,  4,  6,  7,  8,  9,  10, 11, 12, 13, 16,
                                          17, 27, 29, 30, 33, 34, 35, 36, 37, 38, 39, 40, 41, 99};
inline constexpr int private_formats[] = {3, 4, 12, 29, 32, 33, 50, 51, 52, 53, 54};
inline constexpr int public_formats[] = {-1, 0, 1, 2, 16, 27, 30, 35, 47};

// A value that need not be one of the enumerators, as a C program may pass.
template<typename Enum> Enum raw(int value) {
    Enum converted;
    static_assert(sizeof converted == sizeof value);
    std::memcpy(&converted, &value, sizeof value);
    return converted;
}

inline aclOpExecutor *raw_handle(uint64_t number) { return reinterpret_cast<aclOpExecutor *>(number); }

struct destroy {
    void operator()(aclTensor *tensor) const { aclDestroyTensor(tensor); }
};
using tensor_ptr = std::unique_ptr<aclTensor, destroy>;

inline tensor_ptr make(const dimensions &shape, int type, const void *data, int format = ACL_FORMAT_ND,
                       const dimensions &strides = {}, int64_t offset = 0) {
    return tensor_ptr(aclCreateTensor(shape.data(), shape.size(), raw<aclDataType>(type),
                                      strides.empty() ? nullptr : strides.data(), offset, raw<aclFormat>(format),
                                      shape.data(), shape.size(), const_cast<void *>(data)));
}

inline tensor_ptr make(const tensor_memory &memory) {
    const qdq_tensor t = memory.view();
    const dimensions shape(t.shape, t.shape + t.rank);
    const dimensions strides = t.strides != nullptr ? dimensions(t.strides, t.strides + t.rank) : dimensions{};
    return make(shape, acl_type(t.dtype), t.data, ACL_FORMAT_ND, strides);
}

}  // namespace compat_test
