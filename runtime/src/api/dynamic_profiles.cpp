// The rules by which other systems compute scales, and codes with them.
#include "support/status.h"
#include "support/types.h"

#include <cstddef>
#include <cstring>

namespace qdq::runtime {

namespace {

struct dynamic_profile {
    const char *name;
    qdq_dtype codes;
    qdq_scale_rule rule;
    float least_scale;
    int32_t lowest, highest;  // both 0: all codes of the type
    qdq_scale_mode scale_mode;
    qdq_quantize_zp quantize_zp;
    qdq_nan nan;
};

constexpr float torchao_least = 1e-5f, vllm_least = 1 / (448 * 512.0f), vllm_group_least = 1e-10f / 448;

constexpr dynamic_profile of(const char *name, qdq_dtype codes, qdq_scale_rule rule, float least_scale = 0,
                             qdq_nan nan = QDQ_NAN_LOWEST) {
    return {name, codes, rule, least_scale, 0, 0, QDQ_DIVIDE, QDQ_ZP_AFTER_ROUNDING, nan};
}

constexpr dynamic_profile profiles[] = {
    of("onnx", QDQ_U8, QDQ_SCALE_MINMAX),
    {"torchao", QDQ_I8, QDQ_SCALE_ABSMAX, torchao_least, -127, 127, QDQ_RECIPROCAL, QDQ_ZP_AFTER_ROUNDING,
     QDQ_NAN_ZERO},
    of("torchao", QDQ_F8E4M3, QDQ_SCALE_ABSMAX),
    of("torchao", QDQ_F8E5M2, QDQ_SCALE_ABSMAX),
    of("mx", QDQ_F8E4M3, QDQ_SCALE_POWER_FLOOR),
    of("mx", QDQ_F8E5M2, QDQ_SCALE_POWER_FLOOR),
    of("mx", QDQ_F6E2M3, QDQ_SCALE_POWER_FLOOR),
    of("mx", QDQ_F6E3M2, QDQ_SCALE_POWER_FLOOR),
    of("mx", QDQ_F4E2M1, QDQ_SCALE_POWER_FLOOR),
    of("compressed-tensors", QDQ_F8E4M3, QDQ_SCALE_ABSMAX),
    {"compressed-tensors", QDQ_I8, QDQ_SCALE_MINMAX, 0, 0, 0, QDQ_DIVIDE, QDQ_ZP_BEFORE_ROUNDING, QDQ_NAN_ZERO},
    of("vllm", QDQ_I8, QDQ_SCALE_ABSMAX),
    of("vllm", QDQ_F8E4M3, QDQ_SCALE_ABSMAX, vllm_least),
    of("vllm-group", QDQ_F8E4M3, QDQ_SCALE_ABSMAX, vllm_group_least),
    of("acl", QDQ_I8, QDQ_SCALE_ABSMAX, 0, QDQ_NAN_ZERO),
    of("acl", QDQ_I4, QDQ_SCALE_ABSMAX, 0, QDQ_NAN_ZERO),
    of("acl", QDQ_F8E4M3, QDQ_SCALE_ABSMAX),
    of("acl", QDQ_F8E5M2, QDQ_SCALE_ABSMAX),
    of("acl", QDQ_HIF8, QDQ_SCALE_ABSMAX),
};

}  // namespace

}  // namespace qdq::runtime

qdq_status qdq_dynamic_profile(const char *name, qdq_dtype codes, qdq_scale_options *how, qdq_options *options) {
    using namespace qdq::runtime;
    if (!name || !how || !options) {
        return fail(QDQ_INVALID_ARGUMENT, "qdq_dynamic_profile: %s: NULL",
                    !name  ? "profile"
                    : !how ? "how"
                           : "options");
    }
    bool is_known = false;
    for (const dynamic_profile &p : profiles) {
        const bool is_named = std::strcmp(p.name, name) == 0;
        is_known = is_known || is_named;
        if (is_named && p.codes == codes) {
            *how = {};
            how->rule = p.rule;
            how->least_scale = p.least_scale;
            *options = {};
            options->scale_mode = p.scale_mode;
            options->quantize_zp = p.quantize_zp;
            options->quant_min = p.lowest;
            options->quant_max = p.highest;
            options->nan = p.nan;
            return QDQ_OK;
        }
    }
    if (is_known) {
        const char *type = qdq_dtype_name(codes);
        return fail(QDQ_INVALID_ARGUMENT, "qdq_dynamic_profile: codes: \"%s\" has no %s", name,
                    type ? type : "such type");
    }
    return fail(QDQ_INVALID_ARGUMENT,
                "qdq_dynamic_profile: profile: \"%s\" is none of onnx, torchao, mx, compressed-tensors, vllm, "
                "vllm-group, acl",
                name);
}

// The same by the names of earlier headers, whose options end before `random_seed` and before `scale_is_arranged`.
#undef qdq_dynamic_profile

namespace {

qdq_status fill_first(size_t bytes, const char *name, qdq_dtype codes, qdq_scale_options *how, qdq_options *options) {
    qdq_options all;
    const qdq_status status = qdq_dynamic_profile_3(name, codes, how, options ? &all : nullptr);
    if (options && status == QDQ_OK) {
        std::memcpy(options, &all, bytes);
    }
    return status;
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] qdq_status qdq_dynamic_profile(const char *name, qdq_dtype codes, qdq_scale_options *how,
                                                              qdq_options *options) {
    return fill_first(offsetof(qdq_options, random_seed), name, codes, how, options);
}

[[gnu::visibility("default")]] qdq_status qdq_dynamic_profile_2(const char *name, qdq_dtype codes,
                                                                qdq_scale_options *how, qdq_options *options) {
    return fill_first(offsetof(qdq_options, scale_is_arranged), name, codes, how, options);
}

}  // extern "C"
