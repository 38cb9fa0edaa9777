// The options under which qdq computes as other systems do.
#include "support/status.h"
#include "support/types.h"

#include <cstddef>
#include <cstring>

namespace qdq::runtime {

namespace {

struct profile {
    const char *name;
    qdq_scale_mode scale_mode;  // of integers and e2m1; floats of a byte divide everywhere
    qdq_quantize_zp quantize_zp;
    qdq_dequantize_zp dequantize_zp;
    bool casts_overflow;  // to infinity or NaN, of every type that has them but e4m3fn
    qdq_nan nan;          // of integers
};

// CANN's references make 0 of NaN, after the zero point is added: np.nan_to_num(nan=0), clip and a cast to int8 in
// cann/ops-nn, quant/quantize and quant/ascend_quant_v2, tests/assets/golden.py.
constexpr profile profiles[] = {
    {"onnx", QDQ_DIVIDE, QDQ_ZP_AFTER_ROUNDING, QDQ_ZP_SUBTRACT, false, QDQ_NAN_LOWEST},
    {"torch", QDQ_RECIPROCAL, QDQ_ZP_AFTER_ROUNDING, QDQ_ZP_SUBTRACT, true, QDQ_NAN_LOWEST},
    {"torchao", QDQ_RECIPROCAL, QDQ_ZP_AFTER_ROUNDING, QDQ_ZP_SUBTRACT, false, QDQ_NAN_LOWEST},
    {"acl", QDQ_DIVIDE, QDQ_ZP_BEFORE_ROUNDING, QDQ_ZP_SUBTRACT, false, QDQ_NAN_ZERO},
    {"tensorrt", QDQ_DIVIDE, QDQ_ZP_BEFORE_ROUNDING, QDQ_ZP_SUBTRACT, false, QDQ_NAN_LOWEST},
    {"tripy", QDQ_DIVIDE, QDQ_ZP_BEFORE_ROUNDING, QDQ_ZP_SUBTRACT, false, QDQ_NAN_LOWEST},
    {"pypto", QDQ_DIVIDE, QDQ_ZP_AFTER_ROUNDING, QDQ_ZP_ADD, false, QDQ_NAN_LOWEST},
};

}  // namespace

}  // namespace qdq::runtime

qdq_status qdq_profile_options(const char *name, qdq_dtype stored, qdq_options *options) {
    using namespace qdq::runtime;
    if (!name || !options) {
        return fail(QDQ_INVALID_ARGUMENT, "qdq_profile_options: %s: NULL", name ? "options" : "profile");
    }
    const int dtype = stored_value(stored);
    if (dtype < 0 || dtype >= dtype_count || !element_types[dtype].roles.stored) {
        return fail(QDQ_INVALID_ARGUMENT, "qdq_profile_options: stored: dtype %d is not a quantized type", dtype);
    }
    const element_type &type = element_types[dtype];
    for (const profile &p : profiles) {
        if (std::strcmp(p.name, name) == 0) {
            *options = {};
            options->scale_mode = type.is_float() && !type.is_packed() ? QDQ_DIVIDE : p.scale_mode;
            options->quantize_zp = p.quantize_zp;
            options->dequantize_zp = p.dequantize_zp;
            options->nan = p.nan;
            options->no_saturate = p.casts_overflow && type.layout.has_nan() && stored != QDQ_F8E4M3;
            return QDQ_OK;
        }
    }
    return fail(QDQ_INVALID_ARGUMENT,
                "qdq_profile_options: profile: \"%s\" is none of onnx, torch, torchao, acl, "
                "tensorrt, tripy, pypto",
                name);
}

// The same by the names of earlier headers, whose options end before `random_seed` and before `scale_is_arranged`.
#undef qdq_profile_options

namespace {

qdq_status fill_first(size_t bytes, const char *name, qdq_dtype stored, qdq_options *options) {
    qdq_options all;
    const qdq_status status = qdq_profile_options_3(name, stored, options ? &all : nullptr);
    if (options && status == QDQ_OK) {
        std::memcpy(options, &all, bytes);
    }
    return status;
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] qdq_status qdq_profile_options(const char *name, qdq_dtype stored,
                                                              qdq_options *options) {
    return fill_first(offsetof(qdq_options, random_seed), name, stored, options);
}

[[gnu::visibility("default")]] qdq_status qdq_profile_options_2(const char *name, qdq_dtype stored,
                                                                qdq_options *options) {
    return fill_first(offsetof(qdq_options, scale_is_arranged), name, stored, options);
}

}  // extern "C"
