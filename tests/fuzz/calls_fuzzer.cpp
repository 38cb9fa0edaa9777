// Valid calls, drawn as those of api.random are.
#include "checked_call.h"

#include "api/drawn_dynamic.h"
#include "api/drawn_transcoding.h"
#include "api/expected_blocks.h"
#include "support/block_formats.h"
#include "support/inputs.h"
#include "support/targets.h"

#include <bit>

namespace {

// Scales, zero points and codes, on every target.
void check_dynamic(const api_test::dynamic_call &call) {
    const api_test::dynamic_outputs expected = api_test::expected_outputs(call);
    const qdq_tensor x = call.x->view();
    for (const std::string &target : test_support::host_targets()) {
        if (!test_support::usable(target)) {
            continue;
        }
        fuzz::require(qdq_force_target(target.c_str()) == QDQ_OK, "a usable target cannot be forced");
        api_test::dynamic_outputs actual(call);
        const qdq_scale_options how = actual.how();
        actual.with_views([&](const qdq_tensor &scale, const qdq_tensor *zero_point, const qdq_tensor &y) {
            fuzz::require(qdq_quantize_dynamic(&x, &scale, zero_point, &y, &how, &call.options) == QDQ_OK,
                          "a valid dynamic call fails");
        });
        fuzz::require(actual.scale == expected.scale, ("a scale differs from the oracle's on " + target).c_str());
        fuzz::require(actual.zero_point == expected.zero_point, "a zero point differs from the oracle's");
        fuzz::require(std::bit_cast<uint32_t>(actual.global) == std::bit_cast<uint32_t>(expected.global),
                      "a global scale differs from the oracle's");
        fuzz::require(api_test::same_diagnostics(actual.diagnostics, expected.diagnostics),
                      "diagnostics differ from the oracle's");
        fuzz::require(actual.y == expected.y, "codes by computed scales differ from the oracle's");
    }
}

// Two outputs of one x at once, on every target.
void check_pair(const api_test::dynamic_call &first, const api_test::dynamic_call &second) {
    const api_test::dynamic_outputs expected = api_test::expected_outputs(first),
                                    other_expected = api_test::expected_outputs(second);
    for (const std::string &target : test_support::host_targets()) {
        if (!test_support::usable(target)) {
            continue;
        }
        fuzz::require(qdq_force_target(target.c_str()) == QDQ_OK, "a usable target cannot be forced");
        api_test::dynamic_outputs actual(first), other_actual(second);
        with_pair(first, actual, second, other_actual,
                  [](const qdq_tensor &x, const qdq_dynamic_output &to_first, const qdq_dynamic_output &to_second) {
                      fuzz::require(qdq_quantize_dynamic_pair(&x, &to_first, &to_second) == QDQ_OK,
                                    "a valid call of a pair fails");
                  });
        fuzz::require(actual.scale == expected.scale && other_actual.scale == other_expected.scale,
                      ("a scale of a pair differs from the oracle's on " + target).c_str());
        fuzz::require(actual.y == expected.y && other_actual.y == other_expected.y,
                      ("codes of a pair differ from the oracle's on " + target).c_str());
    }
}

// Codes of one call as those of another of its shape, on every target.
void check_transcoding(const api_test::drawn_call &from, const api_test::drawn_call &to) {
    const api_test::tensor_memory expected = api_test::expected_codes(from, to);
    for (const std::string &target : test_support::host_targets()) {
        if (!test_support::usable(target)) {
            continue;
        }
        fuzz::require(qdq_force_target(target.c_str()) == QDQ_OK, "a usable target cannot be forced");
        const api_test::tensor_memory actual = *to.y;
        fuzz::require(api_test::transcode(from, to, actual) == QDQ_OK, "valid transcoding fails");
        fuzz::require(actual == expected, ("transcoded codes differ from the oracle's on " + target).c_str());
    }
}

// Of any floats, or any bytes, with gaps between rows or columns.
api_test::tensor_memory any_codes(qdq_dtype type, const api_test::dimensions &shape, test_support::choices &from) {
    const int64_t gap = from.between(0, 3), step = from.between(1, 2);
    api_test::tensor_memory made(type, shape, {shape[1] * step + gap, step});
    test_support::random_bits drawn(static_cast<uint64_t>(from.between(0, 255)));
    const uint32_t exponents = from.chance(2) ? 0xffffffff : 0x87ffffff;  // any numbers, or a few sizes
    const int64_t bits = reference::bits_of(type);
    made.fill([&](int64_t) { return (drawn.next32() & exponents) >> (32 - bits); });
    return made;
}

// ggml's blocks, there and back, on every target.
void check_blocks(test_support::choices &from) {
    const auto &[format, name] =
        test_support::block_formats[from.between(0, std::ssize(test_support::block_formats) - 1)];
    const auto type = from.one_of<qdq_dtype>({QDQ_F32, QDQ_F16, QDQ_BF16});
    const api_test::dimensions shape{from.between(1, 5), from.between(0, 70) * 32};
    const api_test::tensor_memory x = any_codes(type, shape, from),
                                  blocks = any_codes(QDQ_U8, api_test::shape_of_blocks(shape, format), from);
    const api_test::tensor_memory made = api_test::expected_blocks(x, format, blocks),
                                  values = api_test::expected_values(blocks, format, x);
    for (const std::string &target : test_support::host_targets()) {
        if (!test_support::usable(target)) {
            continue;
        }
        fuzz::require(qdq_force_target(target.c_str()) == QDQ_OK, "a usable target cannot be forced");
        const api_test::tensor_memory y = blocks, back = x;
        const qdq_tensor c_x = x.view(), c_y = y.view(), c_blocks = blocks.view(), c_back = back.view();
        fuzz::require(qdq_quantize_blocks(&c_x, &c_y, format) == QDQ_OK, "a valid call of blocks fails");
        fuzz::require(y == made, ("blocks differ from the oracle's on " + target).c_str());
        fuzz::require(qdq_dequantize_blocks(&c_blocks, &c_back, format) == QDQ_OK, "a valid call of blocks fails");
        fuzz::require(back == values, ("values of blocks differ from the oracle's on " + target).c_str());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    test_support::byte_choices from(std::span(data, size));
    api_test::drawn_call drawn(from, 600000);
    const auto check_static = [&] {
        fuzz::check_call({drawn.way, *drawn.x, *drawn.scale, drawn.zero_point ? &*drawn.zero_point : nullptr, *drawn.y,
                          drawn.options},
                         from);
    };
    check_static();
    if (drawn.way == api_test::direction::quantize) {
        const api_test::dynamic_call dynamic(drawn, from);
        check_dynamic(dynamic);
        check_transcoding(api_test::drawn_call(from, api_test::direction::dequantize, drawn.shape), drawn);
        const api_test::drawn_call other(from, api_test::direction::quantize, drawn.shape);
        check_pair(dynamic, api_test::dynamic_call(dynamic, other, from));
    }
    drawn.draw_stochastic();
    drawn.draw_storage();
    if (drawn.options.rounding == QDQ_STOCHASTIC || drawn.options.scale_is_arranged != 0 ||
        drawn.options.packing == QDQ_DENSE || drawn.options.global_sense != QDQ_GLOBAL_NONE) {
        check_static();
    }
    check_blocks(from);
    if (drawn.way == api_test::direction::quantize && drawn.options.rounding == QDQ_STOCHASTIC) {
        check_dynamic(api_test::dynamic_call(drawn, from));
        check_transcoding(api_test::drawn_call(from, api_test::direction::dequantize, drawn.shape), drawn);
    }
    return 0;
}
