#include "cases.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace compat_test {

namespace {

constexpr float ordinary_scales[] = {1.0f, 0.1f, 0.5f, 1.0f / 127, 3.0f, 0.0078125f};
constexpr float odd_scales[] = {-2.0f, 0.0f, 1e-40f, std::numeric_limits<float>::infinity(),
                                std::numeric_limits<float>::quiet_NaN()};

uint32_t encode(qdq_dtype type, float value) {
    switch (type) {
    case QDQ_F16: return reference::encode_ieee(reference::f16_format, value);
    case QDQ_BF16: return reference::encode_ieee(reference::bf16_format, value);
    default: return std::bit_cast<uint32_t>(value);
    }
}

template<size_t count> float one_of(random_bits &random, const float (&list)[count]) {
    return list[random.below(count)];
}

dimensions dense_strides(const dimensions &shape, int64_t padding) {
    dimensions strides(shape.size());
    int64_t stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
        strides[d] = stride;
        stride = stride * shape[d] + padding;
    }
    return strides;
}

}  // namespace

dimensions strides_of(layout how, const dimensions &shape) {
    dimensions strides = dense_strides(shape, how == layout::padded ? 3 : 0);
    switch (how) {
    case layout::dense: return {};
    case layout::padded: break;
    case layout::transposed: {
        const dimensions backwards(shape.rbegin(), shape.rend());
        strides = dense_strides(backwards, 0);
        std::ranges::reverse(strides);
        break;
    }
    case layout::reversed: std::ranges::for_each(strides, [](int64_t &stride) { stride = -stride; }); break;
    case layout::repeated:
        for (size_t d = shape.size(); d-- > 0;) {
            if (shape[d] > 1) {
                strides[d] = 0;
                break;
            }
        }
    }
    return strides;
}

dimensions random_shape(random_bits &random, int rank, int64_t longest) {
    dimensions shape(static_cast<size_t>(rank));
    for (int64_t &size : shape) {
        size = 1 + random.below(rank > 5 ? std::min<int64_t>(longest, 3) : longest);
    }
    return shape;
}

tensor_memory random_scales(random_bits &random, qdq_dtype type, const dimensions &shape, layout how,
                            scale_values which) {
    tensor_memory memory(type, shape, strides_of(how, shape));
    memory.fill([&](int64_t) {
        const bool odd = which == scale_values::any && random.below(8) == 0;
        return encode(type, odd ? one_of(random, odd_scales) : one_of(random, ordinary_scales));
    });
    return memory;
}

tensor_memory random_floats(random_bits &random, qdq_dtype type, const dimensions &shape, layout how) {
    static const std::vector<float> special = test_support::special_floats();
    const uint32_t mask = static_cast<uint32_t>((uint64_t{1} << reference::bits_of(type)) - 1);
    tensor_memory memory(type, shape, strides_of(how, shape));
    memory.fill([&](int64_t) -> uint32_t {
        const int64_t kind = random.below(8);
        if (kind == 0) {
            return encode(type, special[random.next32() % special.size()]);
        }
        if (kind == 1) {
            return random.next32() & mask;
        }
        const float halves = static_cast<float>(random.below(1201) - 600) * 0.5f;
        return encode(type, halves * one_of(random, ordinary_scales));
    });
    return memory;
}

tensor_memory random_codes(random_bits &random, qdq_dtype type, const dimensions &shape, layout how) {
    const uint32_t mask = static_cast<uint32_t>((uint64_t{1} << reference::bits_of(type)) - 1);
    tensor_memory memory(type, shape, reference::is_packed(type) ? dimensions{} : strides_of(how, shape));
    memory.fill([&](int64_t) {
        const bool near_zero = reference::bits_of(type) > 8 && random.below(2) == 0;
        return (near_zero ? static_cast<uint32_t>(random.below(41) - 20) : random.next32()) & mask;
    });
    return memory;
}

qdq::tensor view(const tensor_memory &memory) {
    const qdq_tensor t = memory.view();
    const std::span shape(t.shape, static_cast<size_t>(t.rank));
    if (t.strides == nullptr) {
        return {t.data, static_cast<qdq::dtype>(t.dtype), shape};
    }
    return {t.data, static_cast<qdq::dtype>(t.dtype), shape, std::span(t.strides, static_cast<size_t>(t.rank))};
}

qdq::output out(tensor_memory &memory) {
    const qdq_tensor t = memory.view();
    const std::span shape(t.shape, static_cast<size_t>(t.rank));
    if (t.strides == nullptr) {
        return {t.data, static_cast<qdq::dtype>(t.dtype), shape};
    }
    return {t.data, static_cast<qdq::dtype>(t.dtype), shape, std::span(t.strides, static_cast<size_t>(t.rank))};
}

float float_at(const tensor_memory &memory, const int64_t *i) { return reference::load_float(memory.view(), i); }
uint32_t code_at(const tensor_memory &memory, const int64_t *i) { return reference::load_code(memory.view(), i); }

reference::zero_point zero_point_at(const tensor_memory *memory, const int64_t *i) {
    if (memory == nullptr) {
        return {};
    }
    const qdq_tensor z = memory->view();
    if (!reference::is_integer(z.dtype)) {
        return reference::zero_point::of_float(reference::load_float(z, i));
    }
    return reference::zero_point::of_integer(reference::decode_integer(z.dtype, reference::load_code(z, i)));
}

testing::AssertionResult same_bytes(const tensor_memory &expected, const qdq::tensor &actual) {
    const qdq_tensor wanted = expected.view(), got = actual.c();
    const dimensions wanted_shape(wanted.shape, wanted.shape + wanted.rank), got_shape(got.shape, got.shape + got.rank);
    if (wanted.dtype != got.dtype || wanted_shape != got_shape || got.strides != nullptr) {
        return testing::AssertionFailure()
               << "the result has dtype " << got.dtype << " and shape " << testing::PrintToString(got_shape);
    }
    tensor_memory copy(wanted.dtype, wanted_shape), dense(wanted.dtype, wanted_shape);
    const auto copied = filled(copy, [&](const int64_t *i) { return reference::load_code(got, i); });
    return same_bytes(filled(dense, [&](const int64_t *i) { return reference::load_code(wanted, i); }), copied);
}

testing::AssertionResult ran_out_of_memory(const qdq::result &failure) {
    const std::string message = failure.message();
    if (failure.status() == qdq::status::out_of_memory && message.find("memory") != std::string::npos) {
        return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << "status " << static_cast<int>(failure.status()) << ": " << message;
}

testing::AssertionResult refused(const qdq::result &failure, const std::vector<std::string> &words) {
    const std::string message = failure.message();
    if (failure.status() != qdq::status::invalid_argument) {
        return testing::AssertionFailure() << "status " << static_cast<int>(failure.status()) << ": " << message;
    }
    for (const std::string &word : words) {
        if (message.find(word) == std::string::npos) {
            return testing::AssertionFailure() << "'" << message << "' should mention '" << word << "'";
        }
    }
    return testing::AssertionSuccess();
}

}  // namespace compat_test
