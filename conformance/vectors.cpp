#include "vectors.h"

#include "conformance/formulas.h"
#include "conformance/supported.h"
#include "reference/describe.h"
#include "reference/formats.h"
#include "reference/tensor.h"

#include <bit>
#include <cmath>
#include <iterator>

namespace conformance {

namespace {

constexpr int64_t columns = 1020;  // of the row and the column form: no multiple of a vector
constexpr int64_t columns_of_blocks = 1024;
constexpr int64_t rows = 65;              // with 1020 columns, more elements than 16 bits have codes
constexpr int64_t rows_of_32_bits = 257;  // whose codes are sampled

// First scales: 0.1, 10, 2^-130, -0.3, 2^100.
constexpr uint32_t tenth = 0x3dcccccd, ten = 0x41200000, subnormal = 0x00080000, negative = 0xbe99999a,
                   huge = 0x71800000;

constexpr uint32_t scale_list[] = {
    0x3f800000, 0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xff800001, 0x00000001, 0x80000001,
    0x007fffff, 0x00800000, 0x21800000, 0x5d800000, 0x5e000000, 0x7e800001, 0x7f7fffff, 0xbf800000, 0xbe99999a,
};
constexpr uint32_t zero_point_list[] = {
    0x00000000, 0x80000000, 0x3f000000, 0xbefffffe, 0x3effffff, 0x4b000000, 0x4affffff, 0x497423f0,
    0xc9800000, 0x4f000000, 0xcf000000, 0x7149f2ca, 0x7f800000, 0xff800000, 0x7fc00000, 0x00000001,
};

template<size_t count> uint32_t cycled(const uint32_t (&list)[count], int64_t i) {
    return list[static_cast<size_t>(i) % count];
}

// Zero points are whole numbers for these rules, and an f32 for others.
bool is_integral(zero_point_rule rule) { return rule == zero_point_rule::small || rule == zero_point_rule::large; }

int64_t block_of(const kernel &k) { return k.stored == QDQ_F4E2M1 ? 16 : 32; }

dimensions shape_of(const kernel &k) {
    return {k.x() == QDQ_F32 || k.x() == QDQ_I32 ? rows_of_32_bits : rows,
            k.form == form::block ? columns_of_blocks : columns};
}

// Of the scales, along one dimension or both.
dimensions operands_of(const kernel &k) {
    const dimensions shape = shape_of(k);
    switch (k.form) {
    case form::row: return {shape[0]};
    case form::column: return {shape[1]};
    case form::block: return {shape[0], shape[1] / block_of(k)};
    }
    return {};
}

// Which scale an element of x takes, of rows of `width`.
int64_t operand_of(const kernel &k, int64_t width, int64_t row, int64_t column) {
    switch (k.form) {
    case form::row: return row;
    case form::column: return column;
    case form::block: return row * (width / block_of(k)) + column / block_of(k);
    }
    return 0;
}

// A number of few significant bits, as ties are, between 2^-14 and 2^34, divided or multiplied back by the scale, and
// at most two units in the last place from there.
uint32_t near_tie(uint64_t bits, float scale, qdq_scale_mode mode) {
    const uint32_t high = static_cast<uint32_t>(bits >> 32), low = static_cast<uint32_t>(bits);
    const uint32_t kept = low % 24;
    const uint32_t mantissa = high & 0x7fffff & ~((1u << (23 - kept)) - 1);
    const uint32_t exponent = 113 + (low >> 8) % 48;
    const float t = std::bit_cast<float>((high & 0x80000000) | exponent << 23 | mantissa);
    const bool scales = std::isfinite(scale) && scale != 0;
    const float x = !scales ? t : mode == QDQ_MULTIPLY ? t / scale : t * scale;
    return std::bit_cast<uint32_t>(x) + (low >> 16) % 5 - 2;
}

uint32_t f32_x(int64_t i, float scale, qdq_scale_mode mode) {
    if (i < 2 * std::ssize(special_x)) {
        return special_x[i / 2] | (i % 2 == 0 ? 0 : 0x80000000);
    }
    const uint64_t bits = mixed(static_cast<uint64_t>(i));
    return i % 2 == 0 ? static_cast<uint32_t>(bits >> 32) : near_tie(bits, scale, mode);
}

// Of every magnitude.
uint32_t i32_x(int64_t i) {
    const uint64_t bits = mixed(static_cast<uint64_t>(i));
    const int32_t any = static_cast<int32_t>(bits >> 32);
    return static_cast<uint32_t>(i % 2 == 0 ? any : any >> (bits & 31));
}

// All codes of at most 16 bits, in an order that spreads them.
uint32_t code_x(int64_t i, int64_t bits) { return static_cast<uint32_t>(i * 40503 % 65536) >> (16 - bits); }

// Of element i, with scale j.
uint32_t x_code(const kernel &k, const scenario &s, int64_t j, int64_t i) {
    return element_code(k.x(), std::bit_cast<float>(scale_bits(s, j)), s.options.scale_mode, i);
}

std::vector<scenario> quantize_scenarios(qdq_dtype y) {
    using enum zero_point_rule;
    std::vector<scenario> all{
        {"divide", tenth},
        {"multiply", ten, {.scale_mode = QDQ_MULTIPLY}},
        {"reciprocal", tenth, {.scale_mode = QDQ_RECIPROCAL}},
        {"subnormal scales", subnormal},
        {"special scales", special_scales},
        {"multiply by special scales", special_scales, {.scale_mode = QDQ_MULTIPLY}},
    };
    if (!reference::is_integer(y)) {
        if (qdq::kernels::type_of(y).layout.has_nan()) {
            all.push_back({"no saturation", tenth, {.no_saturate = 1}});
        }
        return all;
    }
    const reference::integer_range range = reference::range_of(y);
    const int32_t narrow_min = static_cast<int32_t>(range.lowest + 1);
    const int32_t narrow_max = static_cast<int32_t>(range.highest / 2);
    const scenario of_integers[] = {
        {"zero points", tenth, {}, small},
        {"multiply, zero points", ten, {.scale_mode = QDQ_MULTIPLY}, small},
        {"zero points before rounding", tenth, {.quantize_zp = QDQ_ZP_BEFORE_ROUNDING}, halves},
        {"multiply, zero points before rounding",
         ten,
         {.scale_mode = QDQ_MULTIPLY, .quantize_zp = QDQ_ZP_BEFORE_ROUNDING},
         halves},
        {"large zero points, away", tenth, {.rounding = QDQ_NEAREST_AWAY}, large},
        {"special zero points, toward zero",
         tenth,
         {.quantize_zp = QDQ_ZP_BEFORE_ROUNDING, .rounding = QDQ_TOWARD_ZERO},
         special},
        {"negative scales, down", negative, {.rounding = QDQ_DOWN}},
        {"multiply, up", ten, {.scale_mode = QDQ_MULTIPLY, .rounding = QDQ_UP}},
        {"narrow range", tenth, {.quant_min = narrow_min, .quant_max = narrow_max}},
    };
    all.insert(all.end(), std::begin(of_integers), std::end(of_integers));
    return all;
}

std::vector<scenario> dequantize_scenarios(qdq_dtype x) {
    using enum zero_point_rule;
    std::vector<scenario> all{
        {"scales", tenth},
        {"subnormal scales", subnormal},
        {"large scales", huge},
        {"special scales", special_scales},
    };
    if (!reference::is_integer(x)) {
        return all;
    }
    const scenario of_integers[] = {
        {"zero points", tenth, {}, small},
        {"added zero points", tenth, {.dequantize_zp = QDQ_ZP_ADD}, small},
        {"large zero points", tenth, {}, large},
        {"float zero points", tenth, {.dequantize_zp = QDQ_ZP_ADD}, halves},
        {"special zero points", tenth, {}, special},
    };
    all.insert(all.end(), std::begin(of_integers), std::end(of_integers));
    return all;
}

}  // namespace

uint32_t scale_bits(const scenario &s, int64_t j) {
    if (s.first_scale == special_scales) {
        return cycled(scale_list, j);
    }
    return s.first_scale + static_cast<uint32_t>(j) * 2654435u % (1u << 24);
}

uint32_t zero_point_bits(zero_point_rule rule, int64_t j) {
    const int32_t small = static_cast<int32_t>(j * 37 % 64) - 16;
    switch (rule) {
    case zero_point_rule::none:
    case zero_point_rule::small: return static_cast<uint32_t>(small);
    case zero_point_rule::large: return 0x7fffffffu - static_cast<uint32_t>(j);
    case zero_point_rule::halves: return std::bit_cast<uint32_t>(static_cast<float>(small) / 2);
    case zero_point_rule::special: return cycled(zero_point_list, j);
    }
    return 0;
}

uint32_t element_code(qdq_dtype x, float scale, qdq_scale_mode mode, int64_t i) {
    switch (x) {
    case QDQ_F32: return f32_x(i, scale, mode);
    case QDQ_I32: return i32_x(i);
    default: return code_x(i, reference::bits_of(x));
    }
}

std::vector<kernel> kernels() {
    std::vector<kernel> all;
    for (bool quantizes : {true, false}) {
        for (qdq_dtype real : supported::float_types) {
            for (qdq_dtype stored : supported::stored_types) {
                for (form f : {form::row, form::column, form::block}) {
                    const kernel k{quantizes, real, stored, f};
                    if (supported::has_row(quantizes, k.x(), k.y())) {
                        all.push_back(k);
                    }
                }
            }
        }
    }
    return all;
}

std::string name_of(const kernel &k) {
    const char *forms[] = {"row", "column", "block"};
    return std::string(k.quantizes ? "quantize_" : "dequantize_") + reference::name_of(k.x()) + "_" +
           reference::name_of(k.y()) + "_" + forms[static_cast<int>(k.form)];
}

std::vector<scenario> scenarios_of(const kernel &k) {
    return k.quantizes ? quantize_scenarios(k.stored) : dequantize_scenarios(k.stored);
}

qdq_status prepared_call::run(const library &by, const storage &y) const {
    const qdq_tensor x_tensor = x.tensor(), scale_tensor = scale.tensor(), zero_point_tensor = zero_point.tensor(),
                     y_tensor = y.tensor();
    const qdq_tensor *zero_point_or_null = has_zero_point ? &zero_point_tensor : nullptr;
    auto *const function = quantizes ? by.quantize : by.dequantize;
    return function(&x_tensor, &scale_tensor, zero_point_or_null, &y_tensor, &options);
}

std::string prepared_call::describe_inputs(int64_t element) const {
    const qdq_tensor x_tensor = x.tensor(), scale_tensor = scale.tensor(), zero_point_tensor = zero_point.tensor();
    const qdq_tensor *zero_point_or_null = has_zero_point ? &zero_point_tensor : nullptr;
    const reference::parameters per_element(x_tensor, scale_tensor, zero_point_or_null, options);
    int64_t index[2] = {element, 0};
    if (shape.size() == 2) {
        index[0] = element / shape[1];
        index[1] = element % shape[1];
    }
    std::string text = "element " + std::to_string(element) + ", x " +
                       reference::describe_code(x_tensor.dtype, reference::load_code(x_tensor, index)) + ", scale " +
                       reference::describe(per_element.scale_at(index));
    if (!has_zero_point) {
        return text;
    }
    const reference::zero_point z = per_element.zero_point_at(index);
    return text + ", zero point " + (z.integral ? std::to_string(z.integer) : reference::describe(z.real));
}

prepared_call prepare(const kernel &k, const scenario &s) {
    const dimensions shape = shape_of(k);
    prepared_call call{k.quantizes,
                       s.options,
                       k.y(),
                       s.zero_points != zero_point_rule::none,
                       shape,
                       {k.x(), shape},
                       {QDQ_F32, operands_of(k)},
                       {is_integral(s.zero_points) ? QDQ_I32 : QDQ_F32, operands_of(k)}};
    call.options.axis = k.form == form::row ? 0 : 1;
    call.options.block_size = k.form == form::block ? block_of(k) : 0;
    for (int64_t j = 0; j < call.scale.elements(); ++j) {
        call.scale.set_code(j, scale_bits(s, j));
        call.zero_point.set_code(j, zero_point_bits(s.zero_points, j));
    }
    for (int64_t row = 0, i = 0; row < shape[0]; ++row) {
        for (int64_t column = 0; column < shape[1]; ++column, ++i) {
            call.x.set_code(i, x_code(k, s, operand_of(k, shape[1], row, column), i));
        }
    }
    return call;
}

std::vector<sweep> sweeps() {
    std::vector<sweep> all;
    all.reserve(supported::stored_types.size() + supported::float_types.size());
    for (qdq_dtype stored : supported::stored_types) {
        all.push_back({true, QDQ_F32, stored});
    }
    for (qdq_dtype real : supported::float_types) {
        all.push_back({false, QDQ_I32, real});
    }
    return all;
}

std::string name_of(const sweep &s) {
    return std::string(s.quantizes ? "quantize_" : "dequantize_") + reference::name_of(s.x) + "_" +
           reference::name_of(s.y) + "_every_x";
}

prepared_call prepare(const sweep &s, int64_t call) {
    constexpr int64_t elements = (int64_t{1} << 32) / calls_of_a_sweep;
    prepared_call all{s.quantizes, {}, s.y, false, {elements}, {s.x, {elements}}, {QDQ_F32, {}}, {QDQ_I32, {}}};
    all.scale.set_code(0, tenth);
    for (int64_t i = 0; i < elements; ++i) {
        all.x.set_code(i, static_cast<uint32_t>(call * elements + i));
    }
    return all;
}

}  // namespace conformance
