// Calls drawn at random: shapes, strides, types, granularities and options that no list thought of. QDQ_TEST_SEED=<n>
// draws others.
#include "call.h"

#include "kernel/supported.h"
#include "reference/formats.h"
#include "support/targets.h"
#include "support/thinning.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <optional>
#include <random>

namespace api_test {
namespace {

constexpr int calls = 3000;

bool is_packed(qdq_dtype type) { return reference::bits_of(type) < 8; }

class drawn_call {
public:
    explicit drawn_call(unsigned seed) : random(seed) {
        way = chance(2) ? direction::quantize : direction::dequantize;
        const qdq_dtype stored_type = one_of(supported::stored_types), float_type = one_of(supported::float_types);
        const bool integers = reference::is_integer(stored_type);
        draw_shape();
        draw_granularity();
        if (integers && chance(2)) {
            const qdq_dtype type = one_of(supported::zero_point_types);
            const dimensions &spread = chance(2) ? dimensions{} : scale_shape;
            zero_point = reference::is_integer(type) ? zero_points(type, spread) : floats(type, spread);
        }
        draw_options(stored_type, integers);
        scale = scales(scale_shape);
        const bool quantizes = way == direction::quantize;
        const qdq_dtype x_type = quantizes ? float_type : stored_type, y_type = quantizes ? stored_type : float_type;
        const dimensions x_strides = draw_strides(x_type), y_strides = draw_strides(y_type);
        x = quantizes ? floats(x_type, shape, x_strides) : stored(x_type, shape, x_strides);
        y = tensor_memory(y_type, shape, y_strides);
        description = name_of(way) + " " + std::to_string(x_type) + " to " + std::to_string(y_type) + ", shape " +
                      testing::PrintToString(shape) + ", strides " + testing::PrintToString(x_strides) + " and " +
                      testing::PrintToString(y_strides) + ", scale " + testing::PrintToString(scale_shape) + ", axis " +
                      std::to_string(options.axis) + ", packing " + std::to_string(options.packing);
    }

    void expect_reference() const {
        SCOPED_TRACE(description);
        expect_reference_result(way, *x, *scale, zero_point ? &*zero_point : nullptr, *y, options);
    }

private:
    std::mt19937 random;
    direction way;
    dimensions shape, scale_shape;
    std::optional<tensor_memory> x, scale, zero_point, y;
    qdq_options options{};
    std::string description;

    int64_t between(int64_t least, int64_t most) { return std::uniform_int_distribution<int64_t>(least, most)(random); }
    bool chance(int64_t one_in) { return between(1, one_in) == 1; }
    template<typename T>
    T one_of(const std::vector<T> &choices) {
        return choices[static_cast<size_t>(between(0, static_cast<int64_t>(choices.size()) - 1))];
    }

    // Short, long and whole groups, in up to four dimensions of up to 20000 elements; some have enough for several
    // threads and for streaming.
    void draw_shape() {
        const bool large = chance(100);
        int64_t left = large ? 8000000 : 20000;
        for (int64_t rank = between(1, 4); rank > 0; rank--) {
            const int64_t extent = one_of<int64_t>({1, 2, 3, between(1, 9), 32, between(10, 70), 64, 128,
                                                    large ? between(600, 100000) : between(70, 600)});
            shape.push_back(std::min(extent, left));
            left = std::max<int64_t>(left / shape.back(), 1);
        }
        std::shuffle(shape.begin(), shape.end(), random);
    }

    // One scale, one for each element of an axis, or blocks of any size along every dimension.
    void draw_granularity() {
        const int64_t rank = static_cast<int64_t>(shape.size());
        switch (between(0, 3)) {
        case 0:
            break;
        case 1:
            options.axis = static_cast<int32_t>(between(-rank, rank - 1));
            scale_shape = {shape[static_cast<size_t>(options.axis < 0 ? options.axis + rank : options.axis)]};
            break;
        default:
            for (const int64_t extent : shape) {
                const int64_t block = one_of<int64_t>({1, 2, 3, 16, 32, 100, extent, extent});
                scale_shape.push_back((extent + block - 1) / block);
            }
        }
    }

    void draw_options(qdq_dtype stored_type, bool integers) {
        if (way == direction::quantize) {
            options.scale_mode = one_of<qdq_scale_mode>({QDQ_DIVIDE, QDQ_MULTIPLY, QDQ_RECIPROCAL});
            if (integers) {
                options.rounding = one_of<qdq_rounding>(
                    {QDQ_NEAREST_EVEN, QDQ_NEAREST_EVEN, QDQ_NEAREST_AWAY, QDQ_TOWARD_ZERO, QDQ_DOWN, QDQ_UP});
                options.quantize_zp = one_of<qdq_quantize_zp>({QDQ_ZP_AFTER_ROUNDING, QDQ_ZP_BEFORE_ROUNDING});
            }
        } else {
            options.dequantize_zp = one_of<qdq_dequantize_zp>({QDQ_ZP_SUBTRACT, QDQ_ZP_ADD});
        }
        if (is_packed(stored_type)) {
            const int64_t elements = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
            options.packing = elements % 32 == 0 && chance(3) ? QDQ_SPLIT_HALVES
                                                              : one_of<qdq_packing>({QDQ_LOW_FIRST, QDQ_HIGH_FIRST});
        }
    }

    // Dimensions in any order, of any sign, with gaps; none for dense tensors, as packed ones are.
    dimensions draw_strides(qdq_dtype type) {
        if (is_packed(type) || chance(3)) {
            return {};
        }
        std::vector<size_t> order(shape.size());
        for (size_t d = 0; d < order.size(); d++) {
            order[d] = d;
        }
        std::shuffle(order.begin(), order.end(), random);
        dimensions strides(shape.size());
        int64_t pitch = chance(4) ? 2 : 1;
        for (const size_t d : order) {
            strides[d] = chance(6) ? -pitch : pitch;
            pitch *= shape[d];
            pitch += chance(3) ? between(1, 5) : 0;
        }
        return strides;
    }
};

class Random : public Api {};

TEST_F(Random, calls_equal_the_reference) {
    const char *wanted = std::getenv("QDQ_TEST_SEED");
    const unsigned seed = wanted != nullptr ? static_cast<unsigned>(std::strtoul(wanted, nullptr, 10)) : 1;
    test_support::for_each_target([=](const std::string &) {
        qdq_set_num_threads(3);
        for (unsigned i = 0; i < calls && !testing::Test::HasFailure(); i++) {
            if (test_support::is_taken(i)) {
                SCOPED_TRACE("seed " + std::to_string(seed) + ", call " + std::to_string(i));
                drawn_call(seed * 1000003 + i).expect_reference();
            }
        }
    });
}

}  // namespace
}  // namespace api_test
