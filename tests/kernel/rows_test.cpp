// Every row of the manifest has one digest, over the same inputs on every target of every processor: all codes of types
// of 16 bits or fewer; of f32 and i32 every 4093rd bit pattern, and of f32 every tie of the stored type and its
// neighbours.
#include "operand.h"
#include "recorded_digests.h"
#include "storage.h"
#include "supported.h"

#include "reference/dequantize.h"
#include "reference/formats.h"
#include "reference/quantize.h"
#include "support/compare.h"
#include "support/inputs.h"
#include "support/targets.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace kernel_test {
namespace {

constexpr uint64_t step = 4093; // a prime: 2049 inputs for each exponent and sign, and all low bits
constexpr int32_t most_integer_ties = 1 << 16;

// One for each variant of a kernel, or nearly.
struct arrangement {
    const char *name;
    float scale;
    qdq_options options;
    qdq_dtype zero_point_type; // unless there is none
    double zero_point;
};

const arrangement arrangements[] = {
    {"divide", 0.25f, {}, QDQ_I32, 0},
    {"divide inexactly", 0.1f, {}, QDQ_I32, 0},
    {"multiply", 4.0f, {.scale_mode = QDQ_MULTIPLY}, QDQ_I32, 0},
    {"divide by a subnormal", 0x1p-130f, {}, QDQ_I32, 0},
    {"then add", 0.1f, {.dequantize_zp = QDQ_ZP_ADD}, QDQ_I32, 3},
    {"multiply, then add", 10.0f, {.scale_mode = QDQ_MULTIPLY}, QDQ_I32, -77},
    {"add before rounding", 0.25f, {.quantize_zp = QDQ_ZP_BEFORE_ROUNDING}, QDQ_F32, 3},
    {"multiply and add", 4.0f, {.scale_mode = QDQ_MULTIPLY, .quantize_zp = QDQ_ZP_BEFORE_ROUNDING}, QDQ_F32, 3},
    {"round away", 0.25f, {.rounding = QDQ_NEAREST_AWAY}, QDQ_I32, 2147483647.0},
    {"round down", -0.3f, {.quantize_zp = QDQ_ZP_BEFORE_ROUNDING, .rounding = QDQ_DOWN}, QDQ_F32, 0.5},
};

bool applies(const arrangement &a, qdq_dtype stored) {
    return reference::is_integer(stored) || (a.zero_point == 0 && a.options.rounding == QDQ_NEAREST_EVEN);
}

// Midpoints of neighbouring values; of i32 every 61st below 2^22, past which midpoints are no f32.
std::vector<double> ties_of(qdq_dtype stored) {
    std::vector<double> ties;
    if (!reference::is_integer(stored)) {
        const uint32_t codes = 1u << reference::bits_of(stored);
        for (uint32_t code = 0; code + 1 < codes; ++code) {
            const double value = static_cast<double>(reference::decode_float(stored, code));
            const double next = static_cast<double>(reference::decode_float(stored, code + 1));
            if (std::isfinite(value + next)) ties.push_back((value + next) / 2);
        }
        return ties;
    }
    const int32_t bound = stored == QDQ_I32 ? 1 << 22 : most_integer_ties + 100;
    const int32_t distance = stored == QDQ_I32 ? 61 : 1;
    for (int32_t whole = -bound; whole <= bound; whole += distance) ties.push_back(whole + 0.5);
    return ties;
}

std::vector<uint32_t> all_codes(qdq_dtype type) {
    const uint64_t end = uint64_t{1} << reference::bits_of(type);
    std::vector<uint32_t> codes;
    for (uint64_t code = 0; code < end; code += reference::bits_of(type) == 32 ? step : 1) {
        codes.push_back(static_cast<uint32_t>(code));
    }
    return codes;
}

struct row {
    bool quantizes;
    qdq_dtype x_type;
    qdq_dtype y_type;

    qdq_dtype stored() const { return quantizes ? y_type : x_type; }
};

std::string name_of(const row &r) {
    return std::string(r.quantizes ? "row_quantize_" : "row_dequantize_") + reference::name_of(r.x_type) + "_" +
           reference::name_of(r.y_type);
}

void PrintTo(const row &r, std::ostream *out) {
    *out << name_of(r);
}

std::vector<row> rows() {
    std::vector<row> all;
    for (qdq_dtype stored : supported::stored_types) {
        for (qdq_dtype real : supported::float_types) {
            all.push_back({true, real, stored});
            all.push_back({false, stored, real});
        }
    }
    return all;
}

storage inputs_of(const row &r, const arrangement &a) {
    std::vector<uint32_t> codes = all_codes(r.x_type);
    if (r.x_type == QDQ_F32) {
        for (float x : test_support::around(ties_of(r.stored()), a.scale, a.options.scale_mode)) {
            codes.push_back(std::bit_cast<uint32_t>(x));
        }
    }
    storage x(r.x_type, {std::ssize(codes)});
    for (int64_t i = 0; i < x.elements(); ++i) x.set_code(i, codes[static_cast<size_t>(i)]);
    return x;
}

class RowTest : public testing::TestWithParam<row> {
protected:
    void TearDown() override { test_support::restore_defaults(); }

    // The digest of the oracle's results, with which those of every target agree.
    uint64_t compare(const arrangement &a) {
        const row &r = GetParam();
        const storage x = inputs_of(r, a);
        const storage expected(r.y_type, {x.elements()});
        const operand scale(QDQ_F32, {static_cast<double>(a.scale)});
        const operand zero_point(a.zero_point_type, {a.zero_point});
        const qdq_tensor x_tensor = x.tensor(), y_tensor = expected.tensor(), scale_tensor = scale.tensor(),
                         zero_point_tensor = zero_point.tensor();
        const qdq_tensor *zero_point_or_null = a.zero_point != 0 ? &zero_point_tensor : nullptr;
        (r.quantizes ? reference::quantize : reference::dequantize)(x_tensor, scale_tensor, zero_point_or_null,
                                                                    y_tensor, &a.options);
        test_support::for_each_target([&](const std::string &) {
            const storage actual(r.y_type, {x.elements()});
            const qdq_tensor actual_tensor = actual.tensor();
            ASSERT_EQ((r.quantizes ? qdq_quantize : qdq_dequantize)(&x_tensor, &scale_tensor, zero_point_or_null,
                                                                    &actual_tensor, &a.options),
                      QDQ_OK)
                << qdq_last_error();
            EXPECT_TRUE(test_support::same_codes(r.y_type, expected.bytes(), actual.bytes(), x.elements(),
                                                 [](int64_t i) { return "input " + std::to_string(i); }))
                << a.name;
        });
        return test_support::digest(expected.bytes(), bytes_for(r.y_type, x.elements()));
    }
};

TEST_P(RowTest, has_the_recorded_digest_on_every_target) {
    std::vector<uint64_t> digests;
    for (const arrangement &a : arrangements) {
        if (applies(a, GetParam().stored())) digests.push_back(compare(a));
    }
    const uint64_t all = test_support::digest(digests.data(), std::ssize(digests) * 8);
    const auto recorded = recorded_digests.find(name_of(GetParam()));
    if (recorded == recorded_digests.end()) {
        ADD_FAILURE() << "no digest recorded: {\"" << name_of(GetParam()) << "\", 0x" << std::hex << all << "},";
    } else {
        EXPECT_EQ(all, recorded->second) << "the oracle or the inputs have changed";
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, RowTest, testing::ValuesIn(rows()),
                         [](const auto &param) { return name_of(param.param); });

} // namespace
} // namespace kernel_test
