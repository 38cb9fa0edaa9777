// Calls drawn at random, in up to eight dimensions, whose tensors have no memory beside their elements' pages.
// QDQ_TEST_SEED=<n> draws others.
#include "drawn_dynamic.h"
#include "drawn_transcoding.h"
#include "expected_blocks.h"
#include "island_tensor.h"

#include "support/block_formats.h"
#include "support/inputs.h"
#include "support/targets.h"
#include "support/thinning.h"

namespace api_test {
namespace {

using test_support::choices;

constexpr unsigned calls = 1500;
constexpr int64_t usual = 8;  // one in so many, where QDQ_TEST_THIN does not say
constexpr int64_t most_elements = 2000;

dimensions draw_shape(choices &from) {
    dimensions shape;
    int64_t left = most_elements;
    for (int64_t rank = from.one_of<int64_t>({0, 1, 2, 2, 3, 3, 4, 5, 6, 8}); rank > 0; rank--) {
        const int64_t extent =
            from.one_of<int64_t>({1, 1, 2, 3, from.between(1, 9), from.between(1, 70), 64, from.between(60, 600)});
        shape.push_back(std::min(extent, left));
        left /= shape.back();
    }
    from.shuffle(shape);
    return shape;
}

// Of the default options, with dense scales of f32: the calls that have the shortest ways.
void make_plain(drawn_call &call) {
    qdq_options plain{};
    plain.axis = call.options.axis;
    plain.block_size = call.options.block_size;
    plain.block_shape = call.options.block_shape;
    call.options = plain;
    call.scale = scales(call.scale_shape);
    call.zero_point.reset();
}

// Operands of a call. Zero points of float codes are zeros, which have no other ends.
class island_operands {
public:
    island_operands(const drawn_call &call, part role, choices &from) : scale_(*call.scale, role, from) {
        const qdq_dtype codes = (call.way == direction::quantize ? call.y : call.x)->view().dtype;
        if (call.zero_point) {
            zero_point_.emplace(*call.zero_point, reference::is_integer(codes) ? role : part::exact_input, from);
            zero_point_->memory().forbid_writing();
        }
        scale_.memory().forbid_writing();
    }

    const qdq_tensor *scale() const { return &scale_.view(); }
    const qdq_tensor *zero_point() const { return zero_point_ ? &zero_point_->view() : nullptr; }

private:
    island_tensor scale_;
    std::optional<island_tensor> zero_point_;
};

// `role`: of what the call reads.
void expect_reference_result(const drawn_call &drawn, part role, choices &from) {
    island_tensor x(*drawn.x, role, from), y(*drawn.y, part::output, from);
    const island_operands operands(drawn, role, from);
    x.memory().forbid_writing();
    const arguments given{drawn.way, &x.view(), operands.scale(), operands.zero_point(), &y.view(), &drawn.options};
    const std::vector<std::byte> before = y.contents();
    call_reference(given);
    const std::vector<std::byte> expected = y.contents();
    y.memory().restore(before);
    ASSERT_EQ(call(given), QDQ_OK) << qdq_last_error();
    EXPECT_TRUE(y.contents() == expected);
}

void expect_dynamic_result(const dynamic_call &call, choices &from) {
    const dynamic_outputs expected = expected_outputs(call);
    dynamic_outputs numbers(call);
    island_tensor x(*call.x, part::exact_input, from), scale(*call.scale, part::output, from),
        y(*call.drawn.y, part::output, from);
    std::optional<island_tensor> zero_point;
    std::vector<std::byte> expected_zero_point;
    if (call.zero_point) {
        zero_point.emplace(*call.zero_point, part::output, from);
        expected_zero_point = zero_point->contents_with(*expected.zero_point);
    }
    x.memory().forbid_writing();
    const std::vector<std::byte> expected_scale = scale.contents_with(expected.scale),
                                 expected_y = y.contents_with(expected.y);
    const qdq_scale_options how = numbers.how();
    ASSERT_EQ(qdq_quantize_dynamic(&x.view(), &scale.view(), zero_point ? &zero_point->view() : nullptr, &y.view(),
                                   &how, &call.options),
              QDQ_OK)
        << qdq_last_error();
    EXPECT_TRUE(scale.contents() == expected_scale);
    EXPECT_TRUE(y.contents() == expected_y);
    EXPECT_TRUE(!zero_point || zero_point->contents() == expected_zero_point);
}

void expect_transcoded_result(const drawn_call &from_codes, const drawn_call &to_codes, choices &from) {
    island_tensor x(*from_codes.x, part::exact_input, from), y(*to_codes.y, part::output, from);
    const island_operands of_x(from_codes, part::exact_input, from), of_y(to_codes, part::exact_input, from);
    x.memory().forbid_writing();
    const std::vector<std::byte> expected = y.contents_with(expected_codes(from_codes, to_codes));
    ASSERT_EQ(qdq_transcode(&x.view(), of_x.scale(), of_x.zero_point(), &from_codes.options, &y.view(), of_y.scale(),
                            of_y.zero_point(), &to_codes.options),
              QDQ_OK)
        << qdq_last_error();
    EXPECT_TRUE(y.contents() == expected);
}

using block_call = qdq_status(const qdq_tensor *x, const qdq_tensor *y, qdq_block_format format);

// `before`: of y.
void expect_blocks(block_call *call, const tensor_memory &given, qdq_block_format format, const tensor_memory &before,
                   const tensor_memory &expected, choices &from) {
    island_tensor x(given, part::exact_input, from), y(before, part::output, from);
    const std::vector<std::byte> wanted = y.contents_with(expected);
    x.memory().forbid_writing();
    ASSERT_EQ(call(&x.view(), &y.view(), format), QDQ_OK) << qdq_last_error();
    EXPECT_TRUE(y.contents() == wanted);
}

class FencedDraws : public Api {
protected:
    // On each target by one thread, and a few by more.
    template<typename Expect> static void draw_calls(Expect expect, int64_t one_in = usual) {
        const unsigned seed = test_support::drawn_seed();
        test_support::for_each_target([=](const std::string &) {
            for (unsigned i = 0; i < calls && !testing::Test::HasFailure(); i++) {
                if (test_support::is_taken(i, one_in)) {
                    SCOPED_TRACE("seed " + std::to_string(seed) + ", call " + std::to_string(i));
                    test_support::random_choices from(seed * 1000003 + i);
                    qdq_set_num_threads(from.chance(8) ? 3 : 1);
                    expect(from);
                }
            }
        });
    }
};

TEST_F(FencedDraws, quantize_and_dequantize) {
    draw_calls([](choices &from) {
        const auto way = from.chance(2) ? direction::quantize : direction::dequantize;
        drawn_call drawn(from, way, draw_shape(from));
        drawn.draw_stochastic();
        drawn.draw_storage();
        SCOPED_TRACE(drawn.description());
        expect_reference_result(drawn, part::input, from);
    });
}

TEST_F(FencedDraws, plain_calls_of_short_rows) {
    const auto expect = [](choices &from) {
        const auto way = from.chance(2) ? direction::quantize : direction::dequantize;
        drawn_call drawn(from, way, {from.between(1, 20), from.between(1, 70)});
        make_plain(drawn);
        SCOPED_TRACE(drawn.description());
        expect_reference_result(drawn, part::exact_input, from);
    };
    draw_calls(expect, 1);
}

TEST_F(FencedDraws, dynamic) {
    draw_calls([](choices &from) {
        drawn_call drawn(from, direction::quantize, draw_shape(from));
        drawn.draw_stochastic();
        const dynamic_call call(drawn, from);
        SCOPED_TRACE(call.description());
        expect_dynamic_result(call, from);
    });
}

TEST_F(FencedDraws, transcode) {
    draw_calls([](choices &from) {
        const dimensions shape = draw_shape(from);
        const drawn_call from_codes(from, direction::dequantize, shape);
        drawn_call to_codes(from, direction::quantize, shape);
        to_codes.draw_stochastic();
        SCOPED_TRACE(from_codes.description() + ", then " + to_codes.description());
        expect_transcoded_result(from_codes, to_codes, from);
    });
}

TEST_F(FencedDraws, blocks) {
    draw_calls([](choices &from) {
        const auto &[format, name] =
            test_support::block_formats[from.between(0, std::ssize(test_support::block_formats) - 1)];
        const auto type = from.one_of<qdq_dtype>({QDQ_F32, QDQ_F16, QDQ_BF16});
        const dimensions shape{from.between(1, 4), from.between(1, 4), from.between(1, 10) * 32};
        SCOPED_TRACE(std::string(name) + " of type " + std::to_string(type) + ", shape " +
                     testing::PrintToString(shape));
        test_support::random_bits random(static_cast<uint64_t>(from.between(0, 255)));
        tensor_memory x(type, shape), blocks(QDQ_U8, shape_of_blocks(shape, format));
        x.fill([&](int64_t) { return random.next32() >> (32 - reference::bits_of(type)); });
        blocks.fill([&](int64_t) { return random.next32() >> 24; });
        expect_blocks(qdq_quantize_blocks, x, format, blocks, expected_blocks(x, format, blocks), from);
        expect_blocks(qdq_dequantize_blocks, blocks, format, x, expected_values(blocks, format, x), from);
    });
}

}  // namespace
}  // namespace api_test
