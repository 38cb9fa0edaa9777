// What calls on a device's tensors promise beside their results: where they run, what they refuse, and that they do not
// wait.
#include "device_call.h"
#include "support/targets.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace device_test {
namespace {

class DeviceCalls : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        if (!test_support::usable(GetParam())) {
            for (int32_t i = 0; i < qdq_target_count(); ++i) {
                if (GetParam() == qdq_target_name(i)) {
                    GTEST_SKIP() << GetParam() << ": compiled, not executed: " << qdq_target_problem(i);
                }
            }
        }
        ASSERT_EQ(qdq_force_target(GetParam().c_str()), QDQ_OK) << qdq_last_error();
        kind = test_support::current_device();
        ASSERT_EQ(qdq_force_target(nullptr), QDQ_OK);
        std::string reason;
        own = test_support::open_device(kind, reason);
        ASSERT_NE(own, nullptr) << reason;
    }
    void TearDown() override { test_support::restore_defaults(); }

    void expect_refused(qdq_status got, qdq_status wanted, std::initializer_list<const char *> words) {
        EXPECT_EQ(got, wanted) << qdq_last_error();
        for (const char *word : words) {
            EXPECT_NE(std::string(qdq_last_error()).find(word), std::string::npos) << qdq_last_error();
        }
    }

    qdq_device_kind kind = QDQ_DEVICE_HOST;
    std::unique_ptr<device> own;
};

TEST_P(DeviceCalls, tensors_choose_the_device_without_being_told) {
    const std::vector<float> x = some_floats();
    call c(*own, x, 0.5f);
    ASSERT_EQ(c.run(), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(c.y_array.values<int8_t>(), quantized_on_host(x, 0.5f));
    EXPECT_NE(GetParam(), qdq_current_target()) << "host tensors stay on the processor";
}

TEST_P(DeviceCalls, a_forced_target_takes_no_others_tensors) {
    call c(*own, some_floats(), 0.5f);
    const std::string of_host = qdq_current_target();
    ASSERT_EQ(qdq_force_target(of_host.c_str()), QDQ_OK);
    expect_refused(c.run(), QDQ_UNSUPPORTED, {of_host.c_str(), GetParam().c_str(), "x"});
    ASSERT_EQ(qdq_force_target(GetParam().c_str()), QDQ_OK);
    EXPECT_EQ(c.run(), QDQ_OK) << qdq_last_error();
    const float x[1] = {1};
    int8_t y[1];
    const view x_view(x, QDQ_F32, {1}), scale_view(x, QDQ_F32), y_view(y, QDQ_I8, {1});
    const qdq_tensor c_x = x_view.tensor(), c_scale = scale_view.tensor(), c_y = y_view.tensor();
    expect_refused(qdq_quantize(&c_x, &c_scale, nullptr, &c_y, nullptr), QDQ_UNSUPPORTED,
                   {GetParam().c_str(), "host", "x"});
}

TEST_P(DeviceCalls, mixed_placement_names_the_tensors) {
    call c(*own, some_floats(), 0.5f);
    float host_scale = 0.5f;
    qdq_tensor on_host = c.scale;
    on_host.data = &host_scale;
    on_host.device = {};
    expect_refused(qdq_quantize(&c.x, &on_host, nullptr, &c.y, &c.options), QDQ_INVALID_ARGUMENT,
                   {"x, scale", "two devices"});
    qdq_tensor other = c.y;
    other.device.id = 1;
    expect_refused(qdq_quantize(&c.x, &c.scale, nullptr, &other, &c.options), QDQ_INVALID_ARGUMENT,
                   {"x, y", "two devices"});
    qdq_tensor unknown = c.x;
    unknown.device.kind = static_cast<qdq_device_kind>(7);
    expect_refused(qdq_quantize(&unknown, &c.scale, nullptr, &c.y, &c.options), QDQ_INVALID_ARGUMENT, {"x", "7"});
    EXPECT_EQ(c.y_array.values<int8_t>(), std::vector<int8_t>(length, 99)) << "nothing was written";
}

// All in one memory: scale, y, x. What x claims ends past the memory, and no two tensors overlap, wherever a driver
// puts that; small memories may lie side by side (CUDA's in blocks of 2 MiB).
TEST_P(DeviceCalls, memory_that_is_not_there_is_a_status) {
    call c(*own, some_floats(), 0.5f);
    constexpr int64_t too_many = 1 << 26, at_y = 256, at_x = at_y + too_many, bytes = at_x + 4 * length;
    const std::vector<uint8_t> zeros(bytes);
    const array all(*own, QDQ_U8, {bytes}, zeros.data(), bytes);
    const qdq_tensor scale = part_of(all, 0, c.scale);
    qdq_tensor x = part_of(all, at_x, c.x), y = part_of(all, at_y, c.y);
    ASSERT_EQ(qdq_quantize(&x, &scale, nullptr, &y, &c.options), QDQ_OK) << qdq_last_error();
    const int64_t claimed[] = {too_many};
    x.shape = y.shape = claimed;
    expect_refused(qdq_quantize(&x, &scale, nullptr, &y, &c.options), QDQ_DEVICE_ERROR, {GetParam().c_str()});
    if (kind == QDQ_DEVICE_CUDA) {
        float host = 1;
        x = c.x;
        x.data = &host;
        expect_refused(qdq_quantize(&x, &c.scale, nullptr, &c.y, &c.options), QDQ_DEVICE_ERROR, {"CUDA's memory"});
    }
    EXPECT_EQ(c.run(), QDQ_OK) << "the device still works: " << qdq_last_error();
}

TEST_P(DeviceCalls, offsets_are_whole_elements_within_the_memory) {
    call c(*own, some_floats(), 0.5f);
    if (kind == QDQ_DEVICE_CUDA) {
        c.x.device.offset = 4;
        expect_refused(c.run(), QDQ_INVALID_ARGUMENT, {"x", "offset"});
        c.x.device.offset = 0;
        c.x.data = static_cast<char *>(c.x.data) + 2;
        return expect_refused(c.run(), QDQ_INVALID_ARGUMENT, {"x", "multiples"});
    }
    c.x.device.offset = 2;
    expect_refused(c.run(), QDQ_INVALID_ARGUMENT, {"x", "offset 2", "4 bytes"});
    c.x.device.offset = -4;
    expect_refused(c.run(), QDQ_INVALID_ARGUMENT, {"x", "offset -4"});
    c.x.device.offset = std::numeric_limits<int64_t>::max() - 3;
    expect_refused(c.run(), QDQ_INVALID_ARGUMENT, {"x", "2^63"});
    c.x.device.offset = 4;
    expect_refused(c.run(), QDQ_DEVICE_ERROR, {"bytes"});
    const int64_t stride[] = {-1};
    c.x.device.offset = 4 * (length - 2);
    c.x.strides = stride;
    expect_refused(c.run(), QDQ_INVALID_ARGUMENT, {"below the beginning"});
}

// Kernels read operands byte by byte; what reads past its memory is seen where the driver looks, as that of tests/ptx
// does.
TEST_P(DeviceCalls, operands_may_end_with_their_memory) {
    const std::vector<float> x = some_floats();
    call c(*own, x, 0.5f);
    const uint16_t half = 0x3f00;  // of bf16
    const int8_t zero = 0;
    const array scale_array(*own, QDQ_BF16, {}, &half, 2), zero_array(*own, QDQ_I8, {}, &zero, 1);
    const qdq_tensor scale = scale_array.tensor(), zero_point = zero_array.tensor();
    ASSERT_EQ(qdq_quantize(&c.x, &scale, &zero_point, &c.y, &c.options), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(c.y_array.values<int8_t>(), quantized_on_host(x, 0.5f));
}

TEST_P(DeviceCalls, overlap_is_seen_within_one_memory) {
    call c(*own, some_floats(), 0.5f);
    qdq_tensor y = c.x;
    y.dtype = QDQ_I8;
    expect_refused(qdq_quantize(&c.x, &c.scale, nullptr, &y, &c.options), QDQ_INVALID_ARGUMENT, {"y", "overlaps x"});
    y.dtype = QDQ_I32;
    EXPECT_EQ(qdq_quantize(&c.x, &c.scale, nullptr, &y, &c.options), QDQ_OK) << qdq_last_error();
}

TEST_P(DeviceCalls, a_stream_that_is_none_is_refused) {
    if (kind == QDQ_DEVICE_CUDA) {
        GTEST_SKIP() << "NULL is CUDA's default stream";
    }
    call c(*own, some_floats(), 0.5f);
    c.options.stream = nullptr;
    expect_refused(c.run(), QDQ_INVALID_ARGUMENT, {"stream", "NULL"});
}

TEST_P(DeviceCalls, float_formats_take_no_zero_point_there) {
    call c(*own, some_floats(), 0.5f);
    const int32_t zero = 0;
    const array zero_array(*own, QDQ_I32, {}, &zero, 4);
    const qdq_tensor zero_point = zero_array.tensor();
    c.y.dtype = QDQ_F8E4M3;
    expect_refused(qdq_quantize(&c.x, &c.scale, &zero_point, &c.y, &c.options), QDQ_UNSUPPORTED,
                   {"zero_point", "f8e4m3"});
}

TEST_P(DeviceCalls, have_no_kernels_of_types_of_the_host) {
    call c(*own, some_floats(), 0.5f);
    c.y.dtype = QDQ_F4E1M2;
    expect_refused(c.run(), QDQ_UNSUPPORTED, {"y: devices have no kernels of f4e1m2"});
}

TEST_P(DeviceCalls, take_neither_stored_scales_nor_dense_codes) {
    call c(*own, some_floats(), 0.5f);
    const float global = 2;
    c.options.global_sense = QDQ_GLOBAL_SCALE;
    c.options.global_scale = &global;
    expect_refused(c.run(), QDQ_UNSUPPORTED, {"options: global_scale: it is for tensors on the host"});
    c.options.global_sense = QDQ_GLOBAL_NONE;
    c.options.global_scale = nullptr;
    const int64_t one[] = {1, 1};
    c.scale.dtype = QDQ_E8M0;
    c.scale.rank = 2;
    c.scale.shape = one;
    c.scale.strides = nullptr;
    c.options.scale_is_arranged = 1;
    expect_refused(c.run(), QDQ_UNSUPPORTED, {"options: scale_is_arranged: it is for tensors on the host"});
    c.options.scale_is_arranged = 0;
    c.options.packing = QDQ_DENSE;
    c.y.dtype = QDQ_F6E2M3;
    expect_refused(c.run(), QDQ_UNSUPPORTED, {"options: packing 3: it is for tensors on the host"});
}

TEST_P(DeviceCalls, an_empty_tensor_needs_no_memory) {
    call c(*own, some_floats(), 0.5f);
    const int64_t none[] = {0};
    c.x.shape = c.y.shape = none;
    c.x.data = c.y.data = nullptr;
    EXPECT_EQ(c.run(), QDQ_OK) << qdq_last_error();
}

TEST_P(DeviceCalls, a_plan_runs_on_other_memory_and_waits_for_nothing) {
    const std::vector<float> first = some_floats(), second = some_floats(10);
    call c(*own, first, 0.5f);
    ASSERT_EQ(c.run(), QDQ_OK) << qdq_last_error();  // compiles the kernel
    const array other(*own, QDQ_F32, {length}, second.data(), length * 4);
    qdq_plan plan;
    ASSERT_EQ(qdq_plan_quantize(&plan, &c.x, &c.scale, nullptr, &c.y, nullptr), QDQ_OK) << qdq_last_error();
    own->hold();
    EXPECT_EQ(qdq_run(&plan, other.tensor().data, c.y.data, own->stream()), QDQ_OK) << qdq_last_error();
    own->let_go();  // had the call waited for its work, it would be waiting still
    EXPECT_EQ(c.y_array.values<int8_t>(), quantized_on_host(second, 0.5f));
}

TEST_P(DeviceCalls, threads_use_their_own_streams_side_by_side) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([this, t] {
            std::string reason;
            const std::unique_ptr<device> mine = test_support::open_device(kind, reason);
            ASSERT_NE(mine, nullptr) << reason;
            for (int i = 0; i < 10; ++i) {
                const std::vector<float> x = some_floats(static_cast<float>(10 * t + i));
                call c(*mine, x, 0.25f);
                ASSERT_EQ(c.run(), QDQ_OK) << qdq_last_error();
                ASSERT_EQ(c.y_array.values<int8_t>(), quantized_on_host(x, 0.25f));
                c.x.device.offset = c.x.device.id = -1;
                ASSERT_EQ(c.run(), QDQ_INVALID_ARGUMENT);
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

// Kernels count 2^30 elements at once: more take several launches, here cut within a row and between rows.
TEST_P(DeviceCalls, more_elements_than_one_launch_takes) {
    if (std::getenv("QDQ_TEST_LARGE") == nullptr) {
        GTEST_SKIP() << "allocates 6 GB; run with QDQ_TEST_LARGE=1";
    }
    constexpr int64_t rows = 2, columns = (int64_t{1} << 29) + 96, elements = rows * columns;
    std::vector<uint16_t> x(static_cast<size_t>(elements));
    for (size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<uint16_t>(0x3f00 + i % 509 + (i >> 25));
    }
    std::vector<uint8_t> expected(static_cast<size_t>(elements / 2));
    const float scales[rows] = {0.25f, 0.5f};
    const array x_array(*own, QDQ_BF16, {rows, columns}, x.data(), 2 * elements);
    const array scale_array(*own, QDQ_F32, {rows, 1}, scales, sizeof scales);
    array y_array(*own, QDQ_U4, {rows, columns}, expected.data(), elements / 2);
    const struct {
        dimensions scale_shape;
        qdq_rounding rounding;
    } cases[] = {{{}, QDQ_NEAREST_EVEN}, {{rows, 1}, QDQ_NEAREST_EVEN}, {{rows, 1}, QDQ_STOCHASTIC}};
    for (const auto &[scale_shape, rounding] : cases) {
        const view x_view(x.data(), QDQ_BF16, {rows, columns}), scale_view(scales, QDQ_F32, scale_shape);
        const view y_view(expected.data(), QDQ_U4, {rows, columns});
        const qdq_tensor host_x = x_view.tensor(), host_scale = scale_view.tensor(), host_y = y_view.tensor();
        qdq_options options{};
        options.rounding = rounding;
        ASSERT_EQ(qdq_quantize(&host_x, &host_scale, nullptr, &host_y, &options), QDQ_OK) << qdq_last_error();
        qdq_tensor device_scale = host_scale;
        device_scale.data = scale_array.tensor().data;
        device_scale.device = scale_array.tensor().device;
        const qdq_tensor device_x = x_array.tensor(), device_y = y_array.tensor();
        options.stream = own->stream();
        ASSERT_EQ(qdq_quantize(&device_x, &device_scale, nullptr, &device_y, &options), QDQ_OK) << qdq_last_error();
        EXPECT_TRUE(y_array.values<uint8_t>() == expected)
            << scale_shape.size() << "-dimensional scale, rounding " << rounding;
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, DeviceCalls, testing::ValuesIn(test_support::device_targets()),
                         [](const auto &param) { return param.param; });

}  // namespace
}  // namespace device_test
