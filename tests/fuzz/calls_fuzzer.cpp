// Valid calls, drawn as those of api.random are.
#include "checked_call.h"

#include "api/drawn_dynamic.h"
#include "api/drawn_transcoding.h"
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
        check_dynamic(api_test::dynamic_call(drawn, from));
        check_transcoding(api_test::drawn_call(from, api_test::direction::dequantize, drawn.shape), drawn);
    }
    drawn.draw_stochastic();
    drawn.draw_storage();
    if (drawn.options.rounding == QDQ_STOCHASTIC || drawn.options.scale_is_arranged != 0 ||
        drawn.options.packing == QDQ_DENSE || drawn.options.global_sense != QDQ_GLOBAL_NONE) {
        check_static();
    }
    return 0;
}
