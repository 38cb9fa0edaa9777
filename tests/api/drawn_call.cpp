#include "drawn_call.h"

#include "conformance/supported.h"
#include "reference/formats.h"
#include "support/inputs.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace api_test {

namespace {

bool is_f8(qdq_dtype type) { return !reference::is_integer(type) && reference::bits_of(type) == 8; }

uint32_t mask_of(qdq_dtype type) { return static_cast<uint32_t>((uint64_t{1} << reference::bits_of(type)) - 1); }

tensor_memory any_bits(qdq_dtype type, const dimensions &shape, const dimensions &strides, uint64_t seed) {
    test_support::random_bits random(seed);
    tensor_memory memory(type, shape, strides);
    memory.fill([&](int64_t) { return random.next32() & mask_of(type); });
    return memory;
}

}  // namespace

drawn_call::drawn_call(test_support::choices &choices, int64_t largest) : from(choices) {
    way = from.chance(2) ? direction::quantize : direction::dequantize;
    draw_shape(largest);
    draw_rest();
}

drawn_call::drawn_call(test_support::choices &choices, direction way, const dimensions &shape)
    : way(way), shape(shape), from(choices) {
    draw_rest();
}

void drawn_call::draw_rest() {
    const qdq_dtype stored_type = from.one_of(supported::stored_types),
                    float_type = from.one_of(supported::float_types);
    draw_granularity();
    draw_zero_point(stored_type);
    draw_options(stored_type);
    scale = draw_scales(from.chance(3) ? from.one_of(supported::scale_types) : QDQ_F32);
    const bool quantizes = way == direction::quantize;
    const qdq_dtype y_type = quantizes ? stored_type : float_type;
    x = quantizes ? draw_floats(float_type, shape) : draw_codes(stored_type, shape);
    y = tensor_memory(y_type, shape, draw_strides(y_type, shape));
}

std::string drawn_call::description() const {
    const qdq_tensor of_x = x->view(), of_scale = scale->view(), of_y = y->view();
    auto strides = [](const qdq_tensor &t) {
        return t.strides ? testing::PrintToString(dimensions(t.strides, t.strides + t.rank)) : "dense";
    };
    std::string text =
        name_of(way) + " " + std::to_string(of_x.dtype) + " to " + std::to_string(of_y.dtype) + ", shape " +
        testing::PrintToString(shape) + ", strides " + strides(of_x) + " and " + strides(of_y) + ", scale " +
        std::to_string(of_scale.dtype) + " " + testing::PrintToString(scale_shape) + " strides " + strides(of_scale) +
        ", axis " + std::to_string(options.axis) + ", block size " + std::to_string(options.block_size) +
        ", block shape " + testing::PrintToString(block_shape) + ", packing " + std::to_string(options.packing) +
        ", rounding " + std::to_string(options.rounding) + ", nan " + std::to_string(options.nan) + ", stores " +
        std::to_string(options.stores) + ", global sense " + std::to_string(options.global_sense);
    if (options.scale_is_arranged != 0) {
        text += ", scale layout " + std::to_string(options.scale_layout);
    }
    if (zero_point) {
        text += ", zero point " + std::to_string(zero_point->view().dtype);
    }
    return text;
}

// Short, long and whole groups, in up to four dimensions; the largest have enough for several threads and for
// non-temporal stores.
void drawn_call::draw_shape(int64_t largest) {
    const bool large = from.chance(100);
    int64_t left = large ? largest : std::min<int64_t>(largest, 20000);
    for (int64_t rank = from.between(0, 4); rank > 0; rank--) {
        const int64_t extent = from.one_of<int64_t>({1, 2, 3, from.between(1, 9), 32, from.between(10, 70), 64, 128,
                                                     large ? from.between(600, 100000) : from.between(70, 600)});
        shape.push_back(std::min(extent, left));
        left = std::max<int64_t>(left / shape.back(), 1);
    }
    from.shuffle(shape);
}

// One scale, one for each element of an axis, or blocks of any size.
void drawn_call::draw_granularity() {
    const int64_t rank = static_cast<int64_t>(shape.size());
    switch (rank == 0 ? 0 : from.between(0, 3)) {
    case 0: break;
    case 1: {
        options.axis = static_cast<int32_t>(from.between(-rank, rank - 1));
        const auto axis = static_cast<size_t>(options.axis < 0 ? options.axis + rank : options.axis);
        scale_shape = {shape[axis]};
        break;
    }
    default: draw_blocks();
    }
}

// Blocks along every dimension, whose sizes are given or follow from the shapes; or given along one.
void drawn_call::draw_blocks() {
    const int64_t rank = static_cast<int64_t>(shape.size());
    for (const int64_t extent : shape) {
        const int64_t block = from.one_of<int64_t>({1, 2, 3, 16, 32, 100, extent, extent});
        scale_shape.push_back((extent + block - 1) / block);
        block_shape.push_back(std::min(block, extent));
    }
    if (from.chance(2)) {
        options.block_shape = block_shape.data();
    } else if (from.chance(2)) {
        options.axis = static_cast<int32_t>(from.between(-rank, rank - 1));
        options.block_size = block_shape[static_cast<size_t>(options.axis < 0 ? options.axis + rank : options.axis)];
    }
}

void drawn_call::draw_zero_point(qdq_dtype stored_type) {
    if (!from.chance(2)) {
        return;
    }
    const qdq_dtype type = from.one_of(supported::zero_point_types);
    const dimensions spread = from.chance(2) ? dimensions{} : scale_shape;
    const dimensions strides = draw_strides(type, spread);
    if (!reference::is_integer(stored_type)) {  // which take zeros alone
        zero_point = tensor_memory(type, spread, strides);
        zero_point->fill([](int64_t) { return 0u; });
    } else if (from.chance(3)) {
        zero_point = any_bits(type, spread, strides, static_cast<uint64_t>(from.between(0, 255)));
    } else {
        zero_point = reference::is_integer(type) ? zero_points(type, spread, strides) : floats(type, spread, strides);
    }
}

void drawn_call::draw_stochastic() {
    const bool goes_by_f32 = std::ranges::count(supported::float_types, QDQ_F32) > 0;
    if (way == direction::quantize && goes_by_f32 && from.chance(4)) {
        options.rounding = QDQ_STOCHASTIC;
        options.random_seed = static_cast<uint64_t>(from.between(0, 3)) << 31;
        options.random_offset = static_cast<uint64_t>(from.between(0, 100)) << (from.chance(2) ? 36 : 0);
    }
}

void drawn_call::make_dense_rows(int64_t block) {
    const std::vector<uint32_t> values = x->codes();
    x = tensor_memory(x->view().dtype, shape);
    x->fill([&](int64_t i) { return values[static_cast<size_t>(i)]; });
    y = tensor_memory(y->view().dtype, shape);
    block_shape = {1, block};
    scale_shape = {shape[0], (shape[1] + block - 1) / block};
    options.block_size = 0;
    options.block_shape = block_shape.data();
    scale = draw_scales(QDQ_F32);
    if (zero_point) {
        zero_point.reset();
        draw_zero_point(way == direction::quantize ? y->view().dtype : x->view().dtype);
    }
}

void drawn_call::draw_dense_codes() {
    std::optional<tensor_memory> &codes = way == direction::quantize ? y : x;
    const qdq_dtype type = codes->view().dtype;
    const bool has_six_bits = type == QDQ_F6E2M3 || type == QDQ_F6E3M2;
    if (!has_six_bits || options.rounding == QDQ_STOCHASTIC || !from.chance(2)) {
        return;
    }
    options.packing = QDQ_DENSE;
    tensor_memory dense = tensor_memory::dense(type, shape);
    if (way == direction::dequantize) {
        const std::vector<uint32_t> values = codes->codes();
        dense.fill([&](int64_t i) { return values[static_cast<size_t>(i)]; });
    }
    codes = dense;
}

void drawn_call::draw_storage() {
    draw_dense_codes();
    if (from.chance(4)) {
        options.global_sense = from.chance(2) ? QDQ_GLOBAL_SCALE : QDQ_GLOBAL_INVERSE;
        global_scale = from.one_of<float>({0.5f, 3, 1.0f / 3, 0x1p-140f, 0, -7});
        options.global_scale = &global_scale;
    }
    const qdq_tensor of_scale = scale->view();
    const bool may_lie_so = of_scale.rank >= 2 && (of_scale.dtype == QDQ_E8M0 || of_scale.dtype == QDQ_F8E4M3);
    if (may_lie_so && from.chance(2)) {
        options.scale_is_arranged = 1;
        options.scale_layout = from.chance(2) ? QDQ_SCALES_TILED_128X4 : QDQ_SCALES_COLUMN_WORDS;
        scale = arranged(*scale, options.scale_layout);
    }
}

void drawn_call::draw_options(qdq_dtype stored_type) {
    if (way == direction::quantize) {
        options.scale_mode = from.one_of<qdq_scale_mode>({QDQ_DIVIDE, QDQ_MULTIPLY, QDQ_RECIPROCAL});
        if (reference::is_integer(stored_type)) {
            options.rounding = from.one_of<qdq_rounding>(
                {QDQ_NEAREST_EVEN, QDQ_NEAREST_EVEN, QDQ_NEAREST_AWAY, QDQ_TOWARD_ZERO, QDQ_DOWN, QDQ_UP});
            options.quantize_zp = from.one_of<qdq_quantize_zp>({QDQ_ZP_AFTER_ROUNDING, QDQ_ZP_BEFORE_ROUNDING});
            draw_range(stored_type);
            options.nan = from.one_of<qdq_nan>({QDQ_NAN_LOWEST, QDQ_NAN_ZERO});
        } else if (is_f8(stored_type)) {
            options.no_saturate = from.chance(4);
        }
    } else {
        options.dequantize_zp = from.one_of<qdq_dequantize_zp>({QDQ_ZP_SUBTRACT, QDQ_ZP_ADD});
    }
    options.stores = from.one_of<qdq_stores>({QDQ_STORES_BY_SIZE, QDQ_STORES_BY_SIZE, QDQ_STORES_NONTEMPORAL});
    if (supported::takes(stored_type, QDQ_HIGH_FIRST)) {
        const int64_t elements = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
        options.packing = elements % 32 == 0 && from.chance(3)
                              ? QDQ_SPLIT_HALVES
                              : from.one_of<qdq_packing>({QDQ_LOW_FIRST, QDQ_HIGH_FIRST});
    }
}

void drawn_call::draw_range(qdq_dtype type) {
    if (!from.chance(5)) {
        return;
    }
    const reference::integer_range all = reference::range_of(type);
    options.quant_min = static_cast<int32_t>(from.between(all.lowest, all.highest));
    options.quant_max = static_cast<int32_t>(from.between(options.quant_min, all.highest));
}

// Dimensions in any order, of any sign, with gaps; none for dense tensors, as packed ones are.
dimensions drawn_call::draw_strides(qdq_dtype type, const dimensions &of) {
    if (reference::is_packed(type) || from.chance(3)) {
        return {};
    }
    std::vector<size_t> order(of.size());
    std::iota(order.begin(), order.end(), size_t{0});
    from.shuffle(order);
    dimensions strides(of.size());
    int64_t pitch = from.chance(4) ? 2 : 1;
    for (const size_t d : order) {
        strides[d] = from.chance(6) ? -pitch : pitch;
        pitch *= of[d];
        pitch += from.chance(3) ? from.between(1, 5) : 0;
    }
    return strides;
}

tensor_memory drawn_call::draw_floats(qdq_dtype type, const dimensions &of) {
    const dimensions strides = draw_strides(type, of);
    return from.chance(3) ? any_bits(type, of, strides, static_cast<uint64_t>(from.between(0, 255)))
                          : floats(type, of, strides);
}

tensor_memory drawn_call::draw_codes(qdq_dtype type, const dimensions &of) {
    const dimensions strides = draw_strides(type, of);
    return from.chance(3) ? any_bits(type, of, strides, static_cast<uint64_t>(from.between(0, 255)))
                          : stored(type, of, strides);
}

// Ordinary ones, or any bits: infinities, NaN, negative ones, zeros.
tensor_memory drawn_call::draw_scales(qdq_dtype type) {
    const dimensions strides = draw_strides(type, scale_shape);
    if (from.chance(4)) {
        return any_bits(type, scale_shape, strides, static_cast<uint64_t>(from.between(0, 255)));
    }
    if (type == QDQ_F32) {
        return scales(scale_shape, strides);
    }
    return reference::bits_of(type) == 8 ? stored(type, scale_shape, strides) : floats(type, scale_shape, strides);
}

}  // namespace api_test
