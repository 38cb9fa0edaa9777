#include "drawn_dynamic.h"

#include "support/inputs.h"

#include <bit>
#include <cmath>

namespace api_test {

namespace {

// One that has all codes.
qdq_dtype zero_point_type(qdq_dtype codes, test_support::choices &from) {
    switch (codes) {
    case QDQ_I8:
    case QDQ_I4:
    case QDQ_I2: return from.one_of<qdq_dtype>({QDQ_I8, QDQ_I32});
    case QDQ_U8: return from.one_of<qdq_dtype>({QDQ_U8, QDQ_I32});
    case QDQ_U4:
    case QDQ_U2: return from.one_of<qdq_dtype>({QDQ_U8, QDQ_I8, QDQ_I16});
    case QDQ_U16: return from.one_of<qdq_dtype>({QDQ_U16, QDQ_I32});
    case QDQ_I16: return from.one_of<qdq_dtype>({QDQ_I16, QDQ_I32});
    default: return QDQ_I32;
    }
}

uint32_t code_of(qdq_dtype type, float value) {
    const uint32_t sign = value != value && std::signbit(value) ? 0x8000 : 0;
    switch (type) {
    case QDQ_F32: return std::bit_cast<uint32_t>(value);
    case QDQ_F16: return reference::encode_ieee(reference::f16_format, value) | sign;
    default: return reference::encode_ieee(reference::bf16_format, value) | sign;
    }
}

}  // namespace

dynamic_call::dynamic_call(const drawn_call &drawn, test_support::choices &from)
    : drawn(drawn), options(drawn.options), x(*drawn.x) {
    draw_rule(from);
    if (!from.chance(4)) {
        draw_x(from);
    }
}

dynamic_call::dynamic_call(const dynamic_call &other, const drawn_call &drawn, test_support::choices &from)
    : drawn(drawn), options(drawn.options), x(*other.x) {
    draw_rule(from);
}

void dynamic_call::draw_rule(test_support::choices &from) {
    const qdq_dtype codes = drawn.y->view().dtype;
    const bool is_integer = reference::is_integer(codes);
    options.scale_mode = from.one_of<qdq_scale_mode>({QDQ_DIVIDE, QDQ_DIVIDE, QDQ_RECIPROCAL});
    how.rule = from.one_of<qdq_scale_rule>({QDQ_SCALE_ABSMAX, QDQ_SCALE_POWER_FLOOR, QDQ_SCALE_POWER_CEIL,
                                            QDQ_SCALE_POWER_EVEN, QDQ_SCALE_POWER_ROUND_UP,
                                            is_integer ? QDQ_SCALE_MINMAX : QDQ_SCALE_ABSMAX});
    if (is_integer && how.rule != QDQ_SCALE_MINMAX && reference::saturation_range(codes, options).highest <= 0) {
        options.quant_min = options.quant_max = 0;
    }
    how.clip_ratio = from.chance(3) ? 0.9f : from.chance(3) ? 1.0f : 0.0f;
    const bool is_power = how.rule >= QDQ_SCALE_POWER_FLOOR;
    how.least_scale = !is_power && from.chance(4) ? 0.125f : 0.0f;
    scale = like_scale(is_power ? from.one_of<qdq_dtype>({QDQ_E8M0, QDQ_E8M0, QDQ_F32, QDQ_BF16})
                                : from.one_of<qdq_dtype>({QDQ_F32, QDQ_F32, QDQ_F16, QDQ_BF16, QDQ_F8E4M3}));
    if (how.rule == QDQ_SCALE_MINMAX) {
        zero_point = like_scale(zero_point_type(codes, from));
    }
    draw_candidates(from);
    draw_global(from);
    const bool may_diagnose = options.rounding != QDQ_STOCHASTIC && reference::element_count(x->view()) <= 100000;
    diagnoses = from.chance(3) && may_diagnose;
}

// Four over six, and searches below the clip ratio; of few elements, as the oracle goes through all for each.
void dynamic_call::draw_candidates(test_support::choices &from) {
    if (!from.chance(3) || reference::element_count(x->view()) > 30000) {
        return;
    }
    how.clip_ratio_count = from.one_of<int32_t>({2, 2, 5});
    how.last_clip_ratio = from.one_of<float>({1.5f, 1.5f, 0.5f, 2.0f});
}

void dynamic_call::draw_global(test_support::choices &from) {
    if (how.rule != QDQ_SCALE_ABSMAX || scale->view().dtype != QDQ_F8E4M3 || from.chance(3)) {
        return;
    }
    how.global_sense = from.one_of<qdq_global_sense>({QDQ_GLOBAL_SCALE, QDQ_GLOBAL_INVERSE});
    how.computes_global = from.chance(2) ? 1 : 0;
    how.global_largest = from.chance(3) ? 256.0f : 0.0f;
    global = from.one_of<float>({1.0f, 0.0123f, 3000.0f, 0x1p-140f, 0x1.fffffep127f});
}

// Of the drawn scale's shape and strides.
tensor_memory dynamic_call::like_scale(qdq_dtype type) const {
    const qdq_tensor t = drawn.scale->view();
    return tensor_memory(type, drawn.scale_shape, t.strides ? dimensions(t.strides, t.strides + t.rank) : dimensions{});
}

// Numbers of any magnitude, a few of which are special; as drawn, most groups have a NaN.
void dynamic_call::draw_x(test_support::choices &from) {
    const int64_t rare = from.one_of<int64_t>({20, 1000, 1000000});
    const int64_t exponents = from.one_of<int64_t>({2, 10, 254});
    const bool is_zero = from.chance(20);
    test_support::random_bits random(static_cast<uint64_t>(from.between(0, 1000)));
    const qdq_dtype type = x->view().dtype;
    const std::vector<float> specials = test_support::special_floats();
    x->fill([&](int64_t) {
        const uint32_t bits = random.next32();
        if (random.below(rare) == 0) {
            return code_of(type, specials[static_cast<size_t>(random.below(static_cast<int64_t>(specials.size())))]);
        }
        const uint32_t exponent = (exponents == 254 ? 0 : 126) + bits % static_cast<uint32_t>(exponents);
        return is_zero ? code_of(type, 0) : code_of(type, std::bit_cast<float>((bits & 0x807fffff) | exponent << 23));
    });
}

std::string dynamic_call::description() const {
    return drawn.description() + ", rule " + std::to_string(how.rule) + ", clip ratio " +
           std::to_string(how.clip_ratio) + ", least scale " + std::to_string(how.least_scale) + ", " +
           std::to_string(how.clip_ratio_count) + " candidates up to " + std::to_string(how.last_clip_ratio) +
           ", global sense " + std::to_string(how.global_sense) + (how.computes_global ? " computed" : " given ") +
           std::to_string(global) + ", scale type " + std::to_string(scale->view().dtype) +
           (zero_point ? ", zero point " + std::to_string(zero_point->view().dtype) : "");
}

bool same_diagnostics(const qdq_diagnostics &a, const qdq_diagnostics &b) {
    return a.nan == b.nan && a.infinite == b.infinite && a.clipped == b.clipped && a.flushed == b.flushed &&
           std::bit_cast<uint64_t>(a.squared_error) == std::bit_cast<uint64_t>(b.squared_error) &&
           std::bit_cast<uint32_t>(a.amax) == std::bit_cast<uint32_t>(b.amax);
}

dynamic_outputs expected_outputs(const dynamic_call &call) {
    dynamic_outputs expected(call);
    const qdq_tensor x = call.x->view();
    expected.with_views([&](const qdq_tensor &scale, const qdq_tensor *zero_point, const qdq_tensor &y) {
        const qdq_scale_options how = expected.how();
        reference::compute_scales(x, y.dtype, scale, zero_point, &how, &call.options);
        tensor_memory effective(QDQ_F32, dimensions(scale.shape, scale.shape + scale.rank));
        const std::vector<uint32_t> codes = expected.scale.codes();
        effective.fill([&](int64_t i) {
            return std::bit_cast<uint32_t>(
                reference::effective_scale(scale.dtype, codes[static_cast<size_t>(i)], how, expected.global));
        });
        reference::quantize(x, effective.view(), zero_point, y, &call.options);
    });
    return expected;
}

}  // namespace api_test
