// That a check notices: each library here computes as the reference does, but for one fault.
#include "conformance/check.h"
#include "conformance/dynamic.h"
#include "conformance/fp_environment.h"
#include "conformance/other_calls.h"
#include "conformance/supported.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace conformance {
namespace {

const kernel tested{true, QDQ_F16, QDQ_I8, form::column};
const uint64_t default_control = fp::control();

finding check_of(decltype(&qdq_quantize) quantize, hostile_environments taken = hostile_environments::one) {
    return check(tested, published_digest(name_of(tested)), {quantize}, taken);
}

// The reference in the default environment, whatever the caller's. The library it stands for does so itself.
qdq_status right(const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point, const qdq_tensor *y,
                 const qdq_options *options) {
    const uint64_t control = fp::control();
    fp::set_control(default_control);
    const qdq_status status = reference_library().quantize(x, scale, zero_point, y, options);
    fp::set_control(control);
    return status;
}

void flip_a_bit(const qdq_tensor *y, int64_t element) { static_cast<uint8_t *>(y->data)[element] ^= 1; }

qdq_status wrong_for_one_option(const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point,
                                const qdq_tensor *y, const qdq_options *options) {
    const qdq_status status = right(x, scale, zero_point, y, options);
    if (options->rounding == QDQ_NEAREST_AWAY) {
        flip_a_bit(y, 1234);
    }
    return status;
}

qdq_status wrong_where_hostile(const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point,
                               const qdq_tensor *y, const qdq_options *options) {
    const qdq_status status = right(x, scale, zero_point, y, options);
    if (fp::control() != default_control) {
        flip_a_bit(y, 5);
    }
    return status;
}

qdq_status failing(const qdq_tensor *, const qdq_tensor *, const qdq_tensor *, const qdq_tensor *,
                   const qdq_options *) {
    return QDQ_OUT_OF_MEMORY;
}

qdq_status wrong_for_one_x(const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point,
                           const qdq_tensor *y, const qdq_options *options) {
    const qdq_status status = right(x, scale, zero_point, y, options);
    for (int64_t i = 0; i < x->shape[0]; ++i) {
        if (static_cast<const uint32_t *>(x->data)[i] == 0x40490fdb) {
            flip_a_bit(y, i);
        }
    }
    return status;
}

TEST(Check, finds_nothing_where_nothing_is_wrong) {
    const finding found = check_of(right, hostile_environments::all);
    EXPECT_EQ(found.difference, "");
    const int64_t environments = 1 + std::ssize(fp::hostile_environments());
    EXPECT_EQ(found.results, std::ssize(scenarios_of(tested)) * 65 * 1020 * environments);
}

TEST(Check, names_the_scenario_the_operands_and_both_results) {
    EXPECT_EQ(check_of(wrong_for_one_option).difference,
              "large zero points, away, element 1234, x 0xa51e (-0.0199890137), scale 0x3ea88a8f (0.329182118), "
              "zero point 2147483433: expected 127, got 126");
}

TEST(Check, names_the_environment) {
    const std::string difference = check_of(wrong_where_hostile).difference;
    EXPECT_NE(difference.find("divide, called under "), std::string::npos) << difference;
    EXPECT_NE(difference.find(", element 5, x "), std::string::npos) << difference;
}

TEST(Check, says_when_the_digest_alone_is_wrong) {
    const uint64_t published = published_digest(name_of(tested));
    EXPECT_EQ(check(tested, published ^ 1, {right}, hostile_environments::none).difference, only_the_digest);
    EXPECT_EQ(published_digest("quantize_f16_i8_diagonal"), 0u);
}

TEST(Check, says_when_a_call_fails) {
    const std::string difference = check_of(failing).difference;
    EXPECT_EQ(difference.substr(0, 27), "divide: QDQ_OUT_OF_MEMORY: ");
}

TEST(Check, finds_one_wrong_result_in_a_sweep) {
    const sweep every_x{true, QDQ_F32, QDQ_I8};
    const int64_t call = 0x40490fdb >> 20;
    const library of{wrong_for_one_x};
    EXPECT_EQ(first_difference(every_x, call, of),
              "element 593883, x 0x40490fdb (3.14159274), scale 0x3dcccccd (0.100000001): expected 31, got 30");
    EXPECT_NE(run(every_x, call, of).digest, run(every_x, call, {right}).digest);
    EXPECT_EQ(first_difference(every_x, call + 1, of), "");
    EXPECT_EQ(run(every_x, call + 1, of).digest, run(every_x, call + 1, {right}).digest);
}

constexpr dynamic_rule tested_rule{QDQ_BF16, QDQ_U8, QDQ_SCALE_MINMAX};

enum class part { scale, zero_point, codes };

// Right, but for one bit of calls that are clipped, in row 16256.
template<part wrong>
qdq_status wrong_where_clipped(const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point,
                               const qdq_tensor *y, const qdq_scale_options *how, const qdq_options *options) {
    constexpr int64_t row = 16256;
    const qdq_status status = reference_library().quantize_dynamic(x, scale, zero_point, y, how, options);
    if (how->clip_ratio != 0) {
        switch (wrong) {
        case part::scale: flip_a_bit(scale, row * 4); break;
        case part::zero_point: flip_a_bit(zero_point, row); break;
        case part::codes: flip_a_bit(y, row * 4); break;
        }
    }
    return status;
}

std::string difference_of(decltype(&qdq_quantize_dynamic) function) {
    const library of{nullptr, nullptr, function};
    return check(tested_rule, published_digest(name_of(tested_rule)), of, hostile_environments::none).difference;
}

TEST(Check, names_the_scenario_and_the_row_of_a_dynamic_call) {
    EXPECT_EQ(difference_of(reference_library().quantize_dynamic), "");
    const std::string of_scale = difference_of(wrong_where_clipped<part::scale>);
    EXPECT_EQ(of_scale.rfind("clipped, row 16256, x 0x3f80 (1) ", 0), 0u) << of_scale;
    EXPECT_NE(of_scale.find(": scale: expected 0x3b"), std::string::npos) << of_scale;
    EXPECT_NE(difference_of(wrong_where_clipped<part::zero_point>).find(": zero point: expected "), std::string::npos);
    EXPECT_EQ(difference_of(wrong_where_clipped<part::codes>).rfind("clipped, element 65024 of x 0x3f80 (1) ", 0), 0u);
}

const other_call &call_named(const std::string &name) {
    static const std::vector<other_call> all = other_calls();
    return *std::find_if(all.begin(), all.end(), [&](const other_call &c) { return c.name == name; });
}

std::string difference_of(const std::string &name, const library &of) {
    const other_call &c = call_named(name);
    return check(c, published_digest(name), of, hostile_environments::none).difference;
}

qdq_status wrong_for_the_second_output(const qdq_tensor *x, const qdq_dynamic_output *first,
                                       const qdq_dynamic_output *second) {
    const qdq_status status = reference_library().quantize_dynamic_pair(x, first, second);
    flip_a_bit(second->scale, 17);
    return status;
}

qdq_status wrong_for_one_block(const qdq_tensor *x, const qdq_tensor *y, qdq_block_format format) {
    const qdq_status status = reference_library().quantize_blocks(x, y, format);
    flip_a_bit(y, 99);
    return status;
}

qdq_status wrong_for_zero_points(const qdq_tensor *x, const int64_t *offsets, int64_t groups, const qdq_tensor *scale,
                                 const qdq_tensor *zero_point, const qdq_tensor *y, const qdq_options *options) {
    const qdq_status status = reference_library().quantize_grouped(x, offsets, groups, scale, zero_point, y, options);
    if (zero_point != nullptr) {
        flip_a_bit(y, 7);
    }
    return status;
}

TEST(Check, names_the_scenario_and_the_output_of_another_call) {
    library of = reference_library();
    EXPECT_EQ(difference_of("quantize_dynamic_pair_bf16_i8", of), "");
    EXPECT_EQ(difference_of("quantize_dynamic_bf16_i8_stochastic", of), "");
    of.quantize_dynamic_pair = wrong_for_the_second_output;
    of.quantize_grouped = wrong_for_zero_points;
    of.quantize_blocks = wrong_for_one_block;
    const std::string of_pair = difference_of("quantize_dynamic_pair_bf16_i8", of),
                      of_groups = difference_of("quantize_grouped_bf16_i8", of),
                      of_blocks = difference_of("quantize_blocks_f16_q8_0", of);
    EXPECT_EQ(of_pair.rfind("blocks, second scale, element 17: expected 0x", 0), 0u) << of_pair;
    EXPECT_EQ(of_groups.rfind("zero points, y, element 7: expected ", 0), 0u) << of_groups;
    EXPECT_EQ(of_blocks.rfind("of like magnitudes, y, element 99: expected ", 0), 0u) << of_blocks;
}

TEST(Check, every_kernel_rule_call_and_sweep_has_a_published_digest) {
    for (const other_call &c : other_calls()) {
        EXPECT_NE(published_digest(name_of(c)), 0u) << name_of(c);
    }
    for (const dynamic_rule &r : dynamic_rules()) {
        EXPECT_NE(published_digest(name_of(r)), 0u) << name_of(r);
    }
    EXPECT_EQ(kernels().size(), 2 * 3 * supported::float_types.size() * supported::stored_types.size());
    for (const kernel &k : kernels()) {
        EXPECT_NE(published_digest(name_of(k)), 0u) << name_of(k);
    }
    for (const sweep &s : sweeps()) {
        EXPECT_NE(published_digest(name_of(s)), 0u) << name_of(s);
    }
}

}  // namespace
}  // namespace conformance
