// What the C++ front ends share: results, shapes, and tensors with elements of their own. docs/frontends.md names these
// tests.
#include "allocations.h"
#include "cases.h"

#include <qdq/compat/pypto.hpp>

#include <bit>
#include <cmath>
#include <future>
#include <list>

namespace compat_test {
namespace {

using qdq::dtype;
using qdq::compat::expected;
using qdq::compat::owned_tensor;

expected<owned_tensor> refused_axis(int axis) {
    const std::vector<int8_t> x(6);
    const std::vector<float> scale(2);
    return qdq::pypto::dequantize({x, {2, 3}}, scale, qdq::pypto::DT_FP32, axis);
}

TEST(Common, keeps_the_message_of_a_failure_in_its_result) {
    const auto first = refused_axis(7), second = refused_axis(8);
    EXPECT_TRUE(refused(first.error(), {"axis: 7"}));
    EXPECT_TRUE(refused(second.error(), {"axis: 8"}));
    const auto elsewhere = std::async(std::launch::async, [] { return refused_axis(9); }).get();
    EXPECT_TRUE(refused(elsewhere.error(), {"axis: 9"}));
    const auto plain = std::async(std::launch::async, [] {
                           return qdq::quantize(qdq::none, qdq::none, qdq::output(nullptr, dtype::i8, {1}));
                       }).get();
    EXPECT_TRUE(refused(plain, {"qdq_quantize: x"}));
}

TEST(Common, has_the_members_of_std_expected) {
    expected<int> one = 1;
    const expected<int> failed = qdq::result("no number");
    EXPECT_TRUE(one.has_value() && one && !failed.has_value() && !failed);
    EXPECT_EQ(*one + one.value(), 2);
    EXPECT_EQ(*expected<int>(3), 3);
    EXPECT_TRUE(refused(failed.error(), {"no number"}));
    EXPECT_STREQ(one.message(), "");
    try {
        (void)failed.value();
        ADD_FAILURE() << "value() of a failure returned";
    } catch (const qdq::bad_result_access &thrown) {
        EXPECT_STREQ(thrown.what(), "no number");
    }
    EXPECT_THROW(failed.error().value(), qdq::bad_result_access);
    const auto half = [](int value) -> expected<float> { return static_cast<float>(value) / 2; };
    EXPECT_EQ(*one.and_then(half), 0.5f);
    EXPECT_TRUE(refused(failed.and_then(half).error(), {"no number"}));
    const qdq::result done = QDQ_OK;
    EXPECT_TRUE(done.has_value());
    EXPECT_EQ(*done.and_then([] { return expected<int>(4); }), 4);
    EXPECT_TRUE(refused(failed.error().and_then([] { return qdq::result(QDQ_OK); }), {"no number"}));
}

TEST(Common, refuses_values_of_another_type_than_the_tensors) {
    const owned_tensor tensor(dtype::f32, {2}, std::vector<float>{1, 2});
    EXPECT_EQ((*tensor.values<float>())[1], 2.0f);
    EXPECT_TRUE(refused(tensor.values<int8_t>().error(), {"values", "f32", "i8"}));
}

TEST(Common, takes_any_range_of_integers_as_a_shape) {
    const std::vector<float> x(6);
    const std::list<unsigned> list{2, 3};
    for (const qdq::tensor &view :
         {qdq::tensor(x, std::vector<int>{2, 3}), qdq::tensor(x, std::array<short, 2>{2, 3}), qdq::tensor(x, list),
          qdq::tensor(x, std::initializer_list<int>{2, 3}), qdq::tensor(x, std::vector<int>{2, 3}, list)}) {
        EXPECT_EQ(view.problem(), nullptr);
        const qdq_tensor c = view.c();
        EXPECT_EQ(dimensions(c.shape, c.shape + c.rank), (dimensions{2, 3}));
    }
    EXPECT_NE(qdq::tensor(x, std::vector<int>(9, 1)).problem(), nullptr);
    EXPECT_NE(qdq::tensor(x, std::vector<int>(20, 1)).problem(), nullptr);
}

TEST(Common, converts_arrays_to_f16_and_bf16_and_back) {
    const std::vector<float> values = test_support::special_floats();
    const owned_tensor x(dtype::f32, {static_cast<int64_t>(values.size())}, values);
    const owned_tensor f16 = x.half(), bf16 = x.bfloat16(), f16_back = f16.to(dtype::f32),
                       bf16_back = bf16.to(dtype::f32);
    for (size_t i = 0; i < values.size(); i++) {
        if (std::isnan(values[i])) {
            EXPECT_TRUE(std::isnan((*f16_back.values<float>())[i]) && std::isnan((*bf16_back.values<float>())[i]));
            continue;
        }
        const uint32_t f16_bits = reference::encode_ieee(reference::f16_format, values[i]);
        const uint32_t bf16_bits = reference::encode_ieee(reference::bf16_format, values[i]);
        EXPECT_EQ((*f16.values<qdq::f16>())[i].bits, f16_bits) << values[i];
        EXPECT_EQ((*bf16.values<qdq::bf16>())[i].bits, bf16_bits) << values[i];
        EXPECT_EQ(std::bit_cast<uint32_t>((*bf16_back.values<float>())[i]), bf16_bits << 16) << values[i];
        EXPECT_EQ(reference::encode_ieee(reference::f16_format, (*f16_back.values<float>())[i]), f16_bits) << values[i];
    }
}

TEST(Common, converts_arrays_of_the_programs_own) {
    const std::vector<qdq::bf16> x{{0x3f80}, {0xc000}, {0x4049}, {0x7f80}};
    const owned_tensor f32 = qdq::compat::converted({x, {2, 2}}, dtype::f32);
    EXPECT_EQ(*f32.values<float>().and_then([](auto all) { return expected<float>(all[2]); }), 3.140625f);
    EXPECT_EQ((*f32.values<float>())[1], -2.0f);
    const owned_tensor f16 = qdq::compat::converted(x, dtype::f16);
    EXPECT_EQ((*f16.values<qdq::f16>())[3].bits, 0x7c00);
    EXPECT_NE(qdq::compat::converted({x, {5}}, dtype::f32).problem(), nullptr);
    EXPECT_NE(qdq::compat::converted(qdq::none, dtype::f32).problem(), nullptr);
}

TEST(Common, makes_elements_of_every_type_from_numbers) {
    const std::vector<int> numbers{-2, 0, 1, 7};
    const owned_tensor i32(dtype::i32, {2, 2}, numbers), f16(dtype::f16, {4}, numbers), i4(dtype::i4, {4}, numbers);
    EXPECT_EQ((*i32.values<int32_t>())[0], -2);
    EXPECT_EQ((*f16.values<qdq::f16>())[0].bits, 0xc000);
    EXPECT_EQ((*i4.values<qdq::i4_pair>())[0].bits, 0x0e);
    EXPECT_STREQ(owned_tensor(dtype::u8, {4}, numbers).problem(), "it was given a number that its type does not have");
    EXPECT_NE(owned_tensor(dtype::i8, {3}, numbers).problem(), nullptr);
    EXPECT_NE(owned_tensor(dtype::i8, {-1}).problem(), nullptr);
    EXPECT_NE(owned_tensor(dtype::i8, dimensions(9, 1)).problem(), nullptr);
    EXPECT_NE(owned_tensor(dtype::e8m0, {4}, numbers).problem(), nullptr);
}

TEST(Common, says_in_the_call_when_memory_for_a_tensor_was_short) {
    owned_tensor x;
    {
        const memory_shortage shortage;
        x = owned_tensor(dtype::i8, {2, 3});
    }
    const std::vector<float> scale(2);
    EXPECT_TRUE(ran_out_of_memory(qdq::pypto::dequantize(x, scale, qdq::pypto::DT_FP32, -1).error()));
}

}  // namespace
}  // namespace compat_test
