// QDQ_STOCHASTIC: chances, and which random bits an element has. That codes are the reference's is for kernel.quantize
// and api.random to show, of every type, layout and target.
#include "call.h"

#include "support/targets.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace api_test {
namespace {

constexpr int64_t count = 1 << 16;

qdq_options stochastic(uint64_t seed, uint64_t offset = 0) {
    qdq_options options{};
    options.rounding = QDQ_STOCHASTIC;
    options.random_seed = seed;
    options.random_offset = offset;
    return options;
}

struct tensors {
    tensor_memory x, y;
    tensor_memory scale{QDQ_F32, {}};

    tensors(qdq_dtype codes, const dimensions &shape, const dimensions &x_strides = {},
            const dimensions &y_strides = {})
        : x(QDQ_F32, shape, x_strides), y(codes, shape, y_strides) {
        scale.fill([](int64_t) { return 0x3f800000u; });  // 1
    }

    void quantize(const qdq_options &options) const {
        const qdq_tensor of_x = x.view(), of_scale = scale.view(), of_y = y.view();
        ASSERT_EQ(qdq_quantize(&of_x, &of_scale, nullptr, &of_y, &options), QDQ_OK) << qdq_last_error();
    }

    std::vector<double> values() const {
        const qdq_tensor of_scale = scale.view(), of_y = y.view();
        std::vector<float> all(static_cast<size_t>(count));
        const qdq_tensor to{all.data(), QDQ_F32, of_y.rank, of_y.shape, nullptr, {}};
        EXPECT_EQ(qdq_dequantize(&of_y, &of_scale, nullptr, &to, nullptr), QDQ_OK) << qdq_last_error();
        return {all.begin(), all.end()};
    }
};

// So many elements of one value, quantized; dequantized.
std::vector<double> draws(float value, qdq_dtype codes, const qdq_options &options) {
    tensors all(codes, {count});
    all.x.fill([=](int64_t) { return std::bit_cast<uint32_t>(value); });
    all.quantize(options);
    return all.values();
}

class Stochastic : public Api {};

TEST_F(Stochastic, means_of_draws_are_the_values) {
    const std::pair<qdq_dtype, std::vector<float>> cases[] = {{QDQ_I8, {0.3f, -0.3f, 100.99f, -127.001f, 1.0f / 4096}},
                                                              {QDQ_I4, {0.5f, -6.75f}},
                                                              {QDQ_I32, {-1234.56f, 0.9f}},
                                                              {QDQ_F8E4M3, {0.3f, -17.3f, 0.0007f, 300.0f}},
                                                              {QDQ_F8E5M2, {0.3f, 1e-5f, -50000.0f}},
                                                              {QDQ_F4E2M1, {0.1f, -5.1f, 2.4f}},
                                                              {QDQ_HIF8, {0.3f, -17.3f, 300.0f, -1e-5f, 1e-7f}}};
    for (const auto &[type, values] : cases) {
        for (const float value : values) {
            const std::vector<double> all = draws(value, type, stochastic(7));
            const auto [low, high] = std::minmax_element(all.begin(), all.end());
            const double mean = std::reduce(all.begin(), all.end()) / double(count), step = *high - *low;
            EXPECT_GT(step, 0) << "both neighbours are drawn";
            EXPECT_LE(*low, double(value));
            EXPECT_GE(*high, double(value));
            // Five deviations of the mean, and what 16 bits leave.
            const double up = (double(value) - *low) / step;
            EXPECT_NEAR(mean, double(value), step * (5 * std::sqrt(up * (1 - up) / double(count)) + 0x1p-17))
                << value << " to " << qdq_dtype_name(type);
        }
    }
}

// Two that share random bits, neighbours, and words of one block: one goes up as often where another does.
TEST_F(Stochastic, elements_are_drawn_independently) {
    for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32}) {
        const std::vector<double> all = draws(0.5f, QDQ_I8, stochastic(seed));
        for (const size_t distance : {1, 2, 4, 8, 16, 32, 64, 128, 2048}) {
            double both = 0;
            for (size_t i = 0; i + distance < all.size(); i++) {
                both += all[i] * all[i + distance];
            }
            EXPECT_NEAR(both / double(all.size() - distance), 0.25, 0.01) << "seed " << seed << ", " << distance;
        }
    }
    EXPECT_NE(draws(0.5f, QDQ_I8, stochastic(0)), draws(0.5f, QDQ_I8, stochastic(1)));
    EXPECT_NE(draws(0.5f, QDQ_I8, stochastic(0)), draws(0.5f, QDQ_I8, stochastic(uint64_t{1} << 32)));
}

TEST_F(Stochastic, numbers_of_the_type_and_those_that_are_none_stay) {
    for (const float value : {0.0f, -0.0f, 1.0f, -7.0f, 448.0f, -0x1p-9f}) {
        EXPECT_EQ(draws(value, QDQ_F8E4M3, stochastic(3)), std::vector<double>(size_t(count), double(value)));
    }
    EXPECT_EQ(draws(1e9f, QDQ_I8, stochastic(3)), std::vector<double>(size_t(count), 127.0));
    EXPECT_EQ(draws(-INFINITY, QDQ_I8, stochastic(3)), std::vector<double>(size_t(count), -128.0));
    EXPECT_EQ(draws(NAN, QDQ_I8, stochastic(3)), std::vector<double>(size_t(count), -128.0));
    EXPECT_EQ(draws(INFINITY, QDQ_F8E4M3, stochastic(3)), std::vector<double>(size_t(count), 448.0));
    EXPECT_TRUE(std::isnan(draws(NAN, QDQ_F8E4M3, stochastic(3))[1]));
    EXPECT_EQ(draws(7.7f, QDQ_F4E2M1, stochastic(3)), std::vector<double>(size_t(count), 6.0));
}

// NaN of both signs, infinities, zeros and the least numbers, in rows that are long enough for a kernel of one pass.
TEST_F(Stochastic, specials_of_every_float_type_give_what_the_reference_gives) {
    const std::pair<qdq_dtype, std::vector<uint32_t>> cases[] = {
        {QDQ_F32,
         {0x7fc00000, 0xffc00000, 0x7f800001, 0xffffffff, 0x7f800000, 0xff800000, 0, 0x80000000, 1, 0x80000001}},
        {QDQ_F16, {0x7e00, 0xfe00, 0x7c01, 0xffff, 0x7c00, 0xfc00, 0, 0x8000, 1, 0x8001}},
        {QDQ_BF16, {0x7fc0, 0xffc0, 0x7f81, 0xffff, 0x7f80, 0xff80, 0, 0x8000, 1, 0x8001}}};
    test_support::for_each_target([&](const std::string &target) {
        for (const auto &[type, specials] : cases) {
            for (const qdq_dtype codes : {QDQ_I8, QDQ_U4, QDQ_F8E4M3, QDQ_F8E5M2, QDQ_F4E2M1}) {
                SCOPED_TRACE(target + ", " + qdq_dtype_name(type) + " to " + qdq_dtype_name(codes));
                tensor_memory x(type, {997}), y(codes, {997}), scale(QDQ_F32, {});
                x.fill([&](int64_t i) { return specials[static_cast<size_t>(i) % specials.size()]; });
                scale.fill([](int64_t) { return std::bit_cast<uint32_t>(0.75f); });
                expect_reference_result(direction::quantize, x, scale, nullptr, y, stochastic(31));
            }
        }
    });
}

// One that begins in the middle of a run, and of what shares random bits; the offset says which elements they are.
TEST_F(Stochastic, parts_of_a_tensor_are_quantized_as_in_the_whole) {
    const std::vector<double> whole = draws(0.37f, QDQ_I8, stochastic(11, 5));
    for (const int64_t first : {int64_t{0}, int64_t{1}, int64_t{15}, int64_t{16}, int64_t{31}, int64_t{2047}}) {
        const std::vector<double> part = draws(0.37f, QDQ_I8, stochastic(11, 5 + static_cast<uint64_t>(first)));
        EXPECT_TRUE(std::equal(whole.begin() + first, whole.end(), part.begin())) << first;
    }
}

TEST_F(Stochastic, threads_and_strides_change_nothing) {
    const dimensions shape = {64, 32, 512};  // of several parts
    const auto codes_of = [&](int32_t threads, const dimensions &x_strides, const dimensions &y_strides) {
        qdq_set_num_threads(threads);
        tensors all(QDQ_U8, shape, x_strides, y_strides);
        all.x.fill([](int64_t i) { return std::bit_cast<uint32_t>(float(i % 251) + 0.37f); });
        all.quantize(stochastic(13, 64));
        std::vector<uint8_t> codes;
        const qdq_tensor y = all.y.view();
        for (int64_t i = 0; i < shape[0] * shape[1] * shape[2]; i++) {
            const int64_t at[] = {i / (shape[1] * shape[2]), i / shape[2] % shape[1], i % shape[2]};
            const dimensions dense = {shape[1] * shape[2], shape[2], 1}, &by = y_strides.empty() ? dense : y_strides;
            codes.push_back(static_cast<uint8_t *>(y.data)[at[0] * by[0] + at[1] * by[1] + at[2] * by[2]]);
        }
        return codes;
    };
    const std::vector<uint8_t> expected = codes_of(1, {}, {});
    for (const int32_t threads : {2, 3, 7}) {
        EXPECT_TRUE(expected == codes_of(threads, {}, {})) << threads;
        EXPECT_TRUE(expected == codes_of(threads, {1, 64, 64 * 32}, {})) << threads;
        EXPECT_TRUE(expected == codes_of(threads, {}, {1, 64 * 512, 64})) << threads;
        EXPECT_TRUE(expected == codes_of(threads, {512, -64 * 512, 1}, {512, 64 * 512, 1})) << threads;
    }
}

// Of a run, and of pieces of it that are fetched ahead.
TEST_F(Stochastic, stores_past_the_caches_change_nothing) {
    qdq_options options = stochastic(19, 7);
    for (const qdq_dtype type : {QDQ_I8, QDQ_F4E2M1, QDQ_I32}) {
        options.stores = QDQ_STORES_CACHED;
        const std::vector<double> cached = draws(0.6f, type, options);
        options.stores = QDQ_STORES_NONTEMPORAL;
        EXPECT_EQ(draws(0.6f, type, options), cached) << qdq_dtype_name(type);
    }
}

TEST_F(Stochastic, codes_past_the_caches_may_begin_within_a_cache_line) {
    tensors all(QDQ_I8, {count});
    all.x.fill([](int64_t i) { return std::bit_cast<uint32_t>(float(i % 251) - 125.3f); });
    qdq_options options = stochastic(23);
    all.quantize(options);
    const qdq_tensor x = all.x.view(), scale = all.scale.view();
    const auto *const expected = static_cast<const int8_t *>(all.y.view().data);
    options.stores = QDQ_STORES_NONTEMPORAL;
    std::vector<int8_t> memory(size_t{count} + 64);
    for (const size_t shift : {0, 1, 33}) {
        qdq_tensor y = all.y.view();
        y.data = memory.data() + shift;
        ASSERT_EQ(qdq_quantize(&x, &scale, nullptr, &y, &options), QDQ_OK) << qdq_last_error();
        EXPECT_TRUE(std::equal(expected, expected + count, memory.data() + shift)) << shift;
    }
}

TEST_F(Stochastic, every_target_gives_the_same) {
    std::vector<double> expected;
    test_support::for_each_target([&](const std::string &target) {
        const std::vector<double> all = draws(0.7f, QDQ_F8E5M2, stochastic(17, (uint64_t{1} << 36) - 100));
        expected = expected.empty() ? all : expected;
        EXPECT_EQ(all, expected) << target;
    });
}

// A call of blocks gives what a call of each block gives, whatever runs it is computed by.
TEST_F(Stochastic, blocks_have_scales_of_their_own) {
    const auto quantize = [](float *x, int64_t elements, std::vector<float> scales, int64_t block, qdq_dtype type,
                             uint64_t first, uint8_t *codes) {
        const auto blocks = static_cast<int64_t>(scales.size());
        qdq_options options = stochastic(29, first);
        options.block_size = block;
        const qdq_tensor from{x, QDQ_F32, 1, &elements, nullptr, {}}, to{codes, type, 1, &elements, nullptr, {}};
        const qdq_tensor by{scales.data(), QDQ_F32, 1, &blocks, nullptr, {}};
        ASSERT_EQ(qdq_quantize(&from, &by, nullptr, &to, &options), QDQ_OK) << qdq_last_error();
    };
    test_support::for_each_target([&](const std::string &target) {
        for (const qdq_dtype type : {QDQ_I8, QDQ_F8E4M3}) {
            for (const int64_t block : {16, 48, 96, 160, 224, 1000}) {
                for (const int64_t elements : {300, 1466, 2018, 5000}) {
                    std::vector<float> x(static_cast<size_t>(elements));
                    std::vector<float> scales(static_cast<size_t>((elements + block - 1) / block));
                    std::ranges::generate(x, [i = 0]() mutable { return float(i++ % 251 - 125) / 4; });
                    std::ranges::generate(scales, [i = 0]() mutable { return 0.25f + float(i++ % 5); });
                    std::vector<uint8_t> codes(x.size()), expected(x.size());
                    quantize(x.data(), elements, scales, block, type, 0, codes.data());
                    for (int64_t i = 0, first = 0; first < elements; i++, first += block) {
                        quantize(x.data() + first, std::min(block, elements - first), {scales[size_t(i)]}, 0, type,
                                 uint64_t(first), expected.data() + first);
                    }
                    EXPECT_TRUE(codes == expected)
                        << target << ", " << qdq_dtype_name(type) << ", " << elements << " in blocks of " << block;
                }
            }
        }
    });
}

class StochasticRefused : public Api {
protected:
    tensors all{QDQ_I8, {4, 8}};
    const qdq_tensor x = all.x.view(), scale = all.scale.view(), y = all.y.view();
    qdq_options options = stochastic(1);

    static void expect(qdq_status status, qdq_status expected, const std::vector<std::string> &words) {
        ASSERT_EQ(status, expected);
        for (const std::string &word : words) {
            EXPECT_NE(std::string(qdq_last_error()).find(word), std::string::npos) << qdq_last_error();
        }
    }
};

TEST_F(StochasticRefused, where_dequantize_does_not_round_so) {
    EXPECT_EQ(qdq_dequantize(&y, &scale, nullptr, &x, &options), QDQ_OK) << qdq_last_error();
}

TEST_F(StochasticRefused, with_diagnostics) {
    qdq_diagnostics met;
    const qdq_scale_options how{.diagnostics = &met};
    expect(qdq_quantize_dynamic(&x, &scale, nullptr, &y, &how, &options), QDQ_UNSUPPORTED,
           {"how: diagnostics are not of codes that are rounded stochastically"});
}

// The random numbers of a plan are those of its elements, in every run.
TEST_F(StochasticRefused, not_by_calls_that_compute_scales) {
    tensor_memory again = all.y;
    const qdq_tensor to = again.view();
    all.x.fill([](int64_t i) { return std::bit_cast<uint32_t>(float(i) + 0.4f); });
    qdq_plan plan;
    ASSERT_EQ(qdq_quantize_dynamic(&x, &scale, nullptr, &y, nullptr, &options), QDQ_OK) << qdq_last_error();
    ASSERT_EQ(qdq_plan_quantize_dynamic(&plan, &x, &scale, nullptr, &y, nullptr, &options), QDQ_OK);
    for (int run = 0; run < 2; run++) {
        ASSERT_EQ(qdq_run_dynamic(&plan, x.data, scale.data, nullptr, to.data, nullptr), QDQ_OK) << qdq_last_error();
        EXPECT_EQ(again.codes(), all.y.codes());
    }
    ASSERT_EQ(qdq_quantize(&x, &scale, nullptr, &to, &options), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(again.codes(), all.y.codes());
}

TEST_F(StochasticRefused, with_numbers_that_pass_2_to_64) {
    options.random_offset = UINT64_MAX - 32;
    EXPECT_EQ(qdq_quantize(&x, &scale, nullptr, &y, &options), QDQ_OK) << qdq_last_error();
    options.random_offset++;
    expect(qdq_quantize(&x, &scale, nullptr, &y, &options), QDQ_INVALID_ARGUMENT,
           {"options: random_offset 18446744073709551584", "32 elements"});
}

}  // namespace
}  // namespace api_test
