#include "device.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

namespace test_support {

namespace {

qdq_status call(bool quantizes, const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point,
                const qdq_tensor *y, const qdq_options *options) {
    if (current_device() == QDQ_DEVICE_HOST) {
        return (quantizes ? qdq_quantize : qdq_dequantize)(x, scale, zero_point, y, options);
    }
    return call_on_device(shared_device(current_device()), quantizes, x, scale, zero_point, y, options, {});
}

}  // namespace

qdq_device_kind current_device() {
    const char *name = qdq_current_target();
    for (int32_t i = 0; i < qdq_target_count(); ++i) {
        if (name != nullptr && std::strcmp(name, qdq_target_name(i)) == 0) {
            return qdq_target_device(i);
        }
    }
    return QDQ_DEVICE_HOST;
}

device &shared_device(qdq_device_kind kind) {
    // Never closed: drivers may be gone when static objects are destroyed.
    static device *devices[3] = {};
    device *&own = devices[kind];
    if (own == nullptr) {
        std::string reason;
        own = open_device(kind, reason).release();
        if (own == nullptr) {
            ADD_FAILURE() << reason;
            std::abort();
        }
    }
    return *own;
}

qdq_status quantize(const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point, const qdq_tensor *y,
                    const qdq_options *options) {
    return call(true, x, scale, zero_point, y, options);
}

qdq_status dequantize(const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point, const qdq_tensor *y,
                      const qdq_options *options) {
    return call(false, x, scale, zero_point, y, options);
}

}  // namespace test_support
