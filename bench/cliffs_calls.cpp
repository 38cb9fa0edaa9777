#include "cliffs_calls.h"

#include "support/block_formats.h"
#include "support/inputs.h"

#include <algorithm>
#include <cmath>

namespace bench {

namespace {

using test_support::random_bits;

std::string text_of(const dimensions &list) {
    std::string text = "[";
    for (const int64_t each : list) {
        text += (text.size() > 1 ? " " : "") + std::to_string(each);
    }
    return text + "]";
}

std::string text_of(const layout &l) {
    return qdq_dtype_name(l.type) + text_of(l.shape) + (l.strides.empty() ? "" : " by " + text_of(l.strides)) +
           (l.past_line ? " at " + std::to_string(l.past_line) : "");
}

}  // namespace

dimensions strides_of(const layout &l) {
    dimensions strides = l.strides;
    if (strides.empty()) {
        strides.resize(l.shape.size(), 1);
        for (size_t d = l.shape.size(); d-- > 1;) {
            strides[d - 1] = strides[d] * l.shape[d];
        }
    }
    return strides;
}

std::string text_of(const call &c) {
    const qdq_options &o = c.options;
    if (c.format) {
        return text_of(c.x) + " to " + text_of(c.y) + ", " + test_support::block_formats[*c.format].name;
    }
    std::string text = (c.codes ? text_of(*c.codes) + "; " : "") + text_of(c.x) + " to " + text_of(c.y) + ", scale " +
                       text_of(c.scale);
    text += c.blocks.empty() ? "" : " blocks " + text_of(c.blocks);
    text += c.zero_point ? ", zero point " + text_of(*c.zero_point) : "";
    const std::pair<const char *, int> options[] = {
        {"scale_mode", o.scale_mode}, {"zp", c.quantizes ? int(o.quantize_zp) : int(o.dequantize_zp)},
        {"rounding", o.rounding},     {"no_saturate", o.no_saturate},
        {"packing", o.packing},       {"nan", o.nan},
        {"range", o.quant_max},       {"specials", c.has_specials}};
    for (const auto &[name, value] : options) {
        text += value ? std::string(", ") + name + " " + std::to_string(value) : "";
    }
    text += c.computes_scales ? ", dynamic" : "";
    text += c.offsets.empty() ? "" : ", groups from " + text_of(c.offsets);
    return text + (c.second ? "; and " + text_of(*c.second) : "");
}

call call_of(bool quantizes, qdq_dtype from, qdq_dtype to, const dimensions &shape) {
    return {quantizes, {from, shape, {}}, {}, {to, shape, {}}, {}, {}, {}};
}

namespace {

// A scale for each block; 0 is a whole dimension.
call blocked(call c, dimensions blocks) {
    c.scale.shape.clear();
    for (size_t d = 0; d < blocks.size(); d++) {
        blocks[d] = blocks[d] == 0 ? c.x.shape[d] : std::min(blocks[d], c.x.shape[d]);
        c.scale.shape.push_back((c.x.shape[d] + blocks[d] - 1) / blocks[d]);
    }
    c.blocks = blocks;
    return c;
}

call blocks_of(bool quantizes, qdq_dtype floats, qdq_block_format format, const dimensions &shape) {
    dimensions of_bytes = shape;
    of_bytes.back() = shape.back() / 32 * qdq_block_bytes(format);
    const layout values{floats, shape, {}}, blocks{QDQ_U8, of_bytes, {}};
    call c{quantizes, quantizes ? values : blocks, {}, quantizes ? blocks : values, {}, {}, {}};
    c.format = format;
    return c;
}

// Of whole bytes of any type.
dimensions even_groups(int64_t groups, int64_t elements) {
    dimensions offsets;
    for (int64_t g = 0; g <= groups; g++) {
        offsets.push_back(g == groups ? elements : g * elements / groups / 32 * 32);
    }
    return offsets;
}

}  // namespace

call dense(const call &c) {
    if (c.format) {
        return blocks_of(c.quantizes, c.quantizes ? c.x.type : c.y.type, *c.format, {c.elements()});
    }
    call plain = call_of(c.quantizes, c.x.type, c.y.type, {c.elements()});
    plain.options.scale_mode = c.options.scale_mode == QDQ_DIVIDE ? QDQ_DIVIDE : QDQ_MULTIPLY;
    plain.options.rounding = c.options.rounding == QDQ_STOCHASTIC ? QDQ_STOCHASTIC : QDQ_NEAREST_EVEN;
    plain.computes_scales = c.computes_scales;
    plain.codes = c.codes ? std::make_shared<const call>(dense(*c.codes)) : nullptr;
    if (!c.offsets.empty()) {
        plain.offsets = even_groups(int64_t(c.offsets.size()) - 1, c.elements());
        plain.scale.shape = {int64_t(c.offsets.size()) - 1};
    }
    return plain;
}

call beside(const call &c) {
    if (!c.second) {
        return dense(c);
    }
    call both = c;
    both.is_apart = true;
    return both;
}

namespace {

class drawing {
public:
    drawing(uint64_t seed, int64_t number, drawn kind)
        : kind(kind),
          random(seed * 1000003 + static_cast<uint64_t>(number)),
          places(~(seed * 1000003 + static_cast<uint64_t>(number))) {}

    call next() {
        call c = anywhere();
        place(c);
        return c;
    }

private:
    const drawn kind;
    random_bits random;
    random_bits places;  // apart, so that what else is drawn does not depend on them

    // Memory of malloc() begins at any 16 bytes.
    void place(call &c) {
        for (layout *each : {&c.x, &c.y}) {
            each->past_line = std::max<int64_t>(16 * (places.below(8) - 4), 0);
        }
    }

    call anywhere() {
        switch (kind) {
        case drawn::pair: return in_two_ways();
        case drawn::groups: return in_groups();
        case drawn::blocks: return of_blocks();
        default: return of_one_output();
        }
    }

    call of_one_output() {
        const bool quantizes = one_in(2) || (kind != drawn::plain && kind != drawn::large);
        const qdq_dtype floats = one_of(float_types).dtype;
        const element_type &stored = one_of(stored_types);
        call c = of_types(quantizes, kind == drawn::transcoding ? QDQ_F32 : floats, stored, shape());
        if (kind == drawn::dynamic || (kind == drawn::large && quantizes && one_in(2))) {
            compute_scales(c);
        } else if (kind == drawn::transcoding) {
            call from = of_types(false, QDQ_F32, one_of(stored_types), c.x.shape);
            c.x.strides = from.y.strides = {};
            c.has_specials = false;
            c.codes = std::make_shared<const call>(from);
        }
        if (quantizes && kind != drawn::transcoding && one_in(8)) {
            c.options.rounding = QDQ_STOCHASTIC;
        }
        return c;
    }

    call in_two_ways() {
        const qdq_dtype floats = one_of(float_types).dtype;
        call first = of_types(true, floats, one_of(stored_types), shape());
        call second = of_types(true, floats, one_of(stored_types), first.x.shape);
        compute_scales(first);
        compute_scales(second);
        second.x = first.x;
        first.second = std::make_shared<const call>(second);
        return first;
    }

    // Up to 64 groups, with a scale for each, for each of its channels, or for blocks.
    call in_groups() {
        const bool quantizes = one_in(2);
        const qdq_dtype floats = one_of(float_types).dtype;
        const element_type &stored = one_of(stored_types);
        dimensions of = shape();
        if (of.size() == 1) {
            of = {of[0] / 32 + 1, 32};
        }
        if (stored.is_packed()) {
            of.back() = (of.back() + 31) / 32 * 32;
        }
        call c = call_of(quantizes, quantizes ? floats : stored.dtype, quantizes ? stored.dtype : floats, of);
        share_in_groups(c);
        options(c, stored);
        for (layout *each : {&c.x, &c.y}) {
            if (!type_of(each->type).is_packed()) {
                each->strides = strides(each->shape);
            }
        }
        if (quantizes && one_in(2)) {
            compute_scales(c);
        }
        if (c.zero_point) {
            c.zero_point->shape = c.scale.shape;
        }
        return c;
    }

    void share_in_groups(call &c) {
        const dimensions &of = c.x.shape;
        c.offsets = {0, of[0]};
        for (int64_t more = between(0, 63); more > 0; more--) {
            c.offsets.push_back(between(0, of[0]));
        }
        std::sort(c.offsets.begin(), c.offsets.end());
        c.scale.shape = {int64_t(c.offsets.size()) - 1};
        switch (between(0, 2)) {
        case 0: return;
        case 1:
            c.scale.shape.push_back(of.back());
            c.options.axis = int32_t(of.size()) - 1;
            return;
        default:
            const int64_t block = std::min<int64_t>(int64_t{16} << between(0, 3), of.back());
            c.scale.shape.resize(of.size(), 1);
            c.scale.shape.push_back((of.back() + block - 1) / block);
            c.blocks.assign(of.size(), 0);
            c.blocks.back() = block;
        }
    }

    call of_blocks() {
        const bool quantizes = one_in(2);
        dimensions of = shape();
        of.back() = (of.back() + 31) / 32 * 32;
        const auto format = qdq_block_format(random.below(int64_t(std::size(test_support::block_formats))));
        call c = bench::blocks_of(quantizes, one_of(float_types).dtype, format, of);
        c.x.strides = strides(c.x.shape);
        c.y.strides = strides(c.y.shape);
        c.has_specials = quantizes && one_in(8);
        return c;
    }

    call of_types(bool quantizes, qdq_dtype floats, const element_type &stored, const dimensions &shape) {
        call c = call_of(quantizes, quantizes ? floats : stored.dtype, quantizes ? stored.dtype : floats, shape);
        granularity(c);
        options(c, stored);
        for (layout *each : {&c.x, &c.y}) {
            if (!type_of(each->type).is_packed()) {
                each->strides = strides(each->shape);
            }
        }
        c.has_specials = one_in(8);
        return c;
    }

    int64_t between(int64_t least, int64_t most) { return least + random.below(most - least + 1); }
    bool one_in(int64_t n) { return random.below(n) == 0; }
    template<typename T> const T &one_of(const std::vector<T> &list) {
        return list[static_cast<size_t>(random.below(static_cast<int64_t>(list.size())))];
    }

    // Of 1 to 1 Mi elements, or up to 64 Mi: tensors of models, whose first dimension is drawn, or any.
    dimensions shape() {
        static const std::vector<dimensions> of_models = {
            {4096},     {1152},       {4304},     {768},      {3072},       {11008},   {14336},    {5120},
            {151936},   {3, 7, 7},    {1, 3, 3},  {64, 3, 3}, {3, 14, 14},  {32, 128}, {8, 128},   {32, 32},
            {80, 3000}, {56, 56, 64}, {49, 7, 7}, {12, 64},   {16, 16, 32}, {1000},    {197, 768}, {577, 1024}};
        const int64_t least = kind == drawn::large ? 25 : 0, most = kind == drawn::large ? 26 : 20;
        int64_t left = int64_t{1} << between(least, most);
        dimensions found;
        if (one_in(2)) {
            found = one_of(of_models);
            left = left / count_of(found) + 1;
            found.insert(found.begin(), std::min((int64_t{1} << most) / count_of(found), between(left / 2 + 1, left)));
        } else {
            for (int64_t rank = between(1, 5); rank > 0; rank--) {
                const int64_t size = rank == 1 ? left : std::max<int64_t>(int64_t(std::sqrt(double(left))), 1);
                found.push_back(one_in(4) ? between(1, size) : std::max<int64_t>(size / between(1, 3), 1));
                left = std::max<int64_t>(left / found.back(), 1);
            }
            std::swap(found[0], found[static_cast<size_t>(random.below(int64_t(found.size())))]);
        }
        return found;
    }

    void granularity(call &c) {
        static const std::vector<int64_t> blocks = {1,  2,  4,  8,   16,  16,  24,  32,  32,  32,   33,
                                                    64, 64, 65, 100, 128, 128, 128, 256, 512, 1000, 1024};
        dimensions along(c.x.shape.size(), 0);
        const auto axis = static_cast<size_t>(random.below(int64_t(along.size())));
        switch (between(0, 6)) {
        case 0: return;
        case 1: along[axis] = 1; break;
        case 2: std::fill(along.begin(), along.end() - 1, 1); break;  // rows
        case 3: along[axis] = one_of(blocks); break;
        case 4: along.front() = along.back() = one_of(blocks); break;
        default: std::fill(along.begin(), along.end() - 1, 1); along.back() = one_of(blocks);
        }
        c = blocked(c, along);
    }

    void options(call &c, const element_type &stored) {
        static const std::vector<element_type> scales = types_in_role(&qdq::kernels::roles::scale),
                                               zero_points = types_in_role(&qdq::kernels::roles::zero_point);
        c.scale.type = one_in(2) ? one_of(scales).dtype : QDQ_F32;
        qdq_options &o = c.options;
        if (stored.is_integer() && one_in(3)) {
            const bool own = stored.roles.zero_point && one_in(2);
            c.zero_point =
                layout{own ? stored.dtype : one_of(zero_points).dtype, one_in(2) ? c.scale.shape : dimensions{}, {}};
            o.quantize_zp = one_in(4) ? QDQ_ZP_BEFORE_ROUNDING : QDQ_ZP_AFTER_ROUNDING;
            o.dequantize_zp = one_in(4) ? QDQ_ZP_ADD : QDQ_ZP_SUBTRACT;
        }
        if (c.quantizes) {
            o.scale_mode = qdq_scale_mode(between(QDQ_DIVIDE, QDQ_RECIPROCAL));
        }
        if (c.quantizes && stored.is_integer()) {
            o.rounding = one_in(4) ? qdq_rounding(between(QDQ_NEAREST_AWAY, QDQ_UP)) : QDQ_NEAREST_EVEN;
            o.nan = one_in(8) ? QDQ_NAN_ZERO : QDQ_NAN_LOWEST;
            if (one_in(8) && stored.is_signed()) {
                o.quant_max = int32_t(stored.highest());
                o.quant_min = -o.quant_max;
            }
        } else if (c.quantizes && stored.bits == 8 && stored.layout.has_nan()) {
            o.no_saturate = one_in(8);
        }
        if (stored.bits == 4 && one_in(4)) {
            o.packing = c.elements() % 32 == 0 && one_in(2) ? QDQ_SPLIT_HALVES : QDQ_HIGH_FIRST;
        }
    }

    // Scales by which x is divided; without zero points, as few rules have such.
    static void compute_scales(call &c) {
        c.computes_scales = true;
        c.options.scale_mode = QDQ_DIVIDE;
        c.zero_point.reset();
    }

    // Dense; rows that are padded; any order, steps and signs.
    dimensions strides(const dimensions &of) {
        if (one_in(2)) {
            return {};
        }
        std::vector<size_t> order(of.size());
        std::iota(order.rbegin(), order.rend(), size_t{0});
        const bool only_padded = one_in(2);
        if (!only_padded && one_in(2)) {
            std::swap(order[0], order[static_cast<size_t>(random.below(int64_t(order.size())))]);
        }
        dimensions found(of.size());
        int64_t pitch = !only_padded && one_in(4) ? 2 : 1;
        for (const size_t d : order) {
            found[d] = !only_padded && one_in(8) ? -pitch : pitch;
            pitch = pitch * of[d] + (d == order[0] || (!only_padded && one_in(4)) ? between(0, 16) : 0);
        }
        return found;
    }
};

call with(call c, const std::function<void(call &)> &change) {
    change(c);
    return c;
}

constexpr int64_t about = 65536;

dimensions rows_of(int64_t columns) { return {about / columns, columns}; }

std::vector<row> packed_rows() {
    std::vector<row> rows;
    for (const bool quantizes : {false, true}) {
        const auto of = [=](const dimensions &shape, int64_t block) {
            return blocked(call_of(quantizes, quantizes ? QDQ_BF16 : QDQ_I4, quantizes ? QDQ_I4 : QDQ_BF16, shape),
                           {1, block});
        };
        const std::string name = quantizes ? "bf16 to i4 " : "i4 to bf16 ";
        rows.push_back({name + "[64 1000] blocks of 32", of({64, 1000}, 32), of({64, 992}, 32)});
        rows.push_back({name + "[16 4304] blocks of 128", of({16, 4304}, 128), of({16, 4352}, 128)});
        rows.push_back({name + "a scale a row of 1023", of({64, 1023}, 0), of({64, 1024}, 0)});
        for (const int64_t block : {2, 4, 8}) {
            const call c = of(rows_of(1024), block);
            rows.push_back({name + "blocks of " + std::to_string(block), c, dense(c)});
        }
        for (const int64_t block : {32, 64, 128}) {
            for (const qdq_packing packing : {QDQ_HIGH_FIRST, QDQ_SPLIT_HALVES}) {
                const call c = of(rows_of(1024), block);
                rows.push_back({name + "blocks of " + std::to_string(block) + ", packing " + std::to_string(packing),
                                with(c, [=](call &o) { o.options.packing = packing; }), c});
            }
        }
    }
    return rows;
}

std::vector<row> strided_rows(bool quantizes) {
    struct {
        const char *name;
        dimensions shape, strides;
    } layouts[] = {{"rows of 3 with pitch 4", {21845, 3}, {4, 1}},
                   {"stride 2", {about}, {2}},
                   {"permuted [64 32 32] of [32 32 64]", {64, 32, 32}, {1, 2048, 64}},
                   {"rank 8 with gaps", {4, 4, 4, 4, 4, 4, 4, 4}, {27305, 6826, 1706, 426, 106, 26, 6, 1}},
                   {"NHWC to NCHW", {4, 64, 16, 16}, {16384, 1, 1024, 64}},
                   {"NCHW to NHWC", {4, 16, 16, 64}, {16384, 16, 1, 256}},
                   {"BSHD to BHSD, D = 32", {4, 16, 32, 32}, {16384, 32, 512, 1}},
                   {"transposed", {256, 256}, {1, 256}}};
    std::vector<row> rows;
    for (const auto &[name, shape, strides] : layouts) {
        const call c = call_of(quantizes, quantizes ? QDQ_F32 : QDQ_I8, quantizes ? QDQ_I8 : QDQ_F32, shape);
        rows.push_back({(quantizes ? "f32 to i8 " : "i8 to f32 ") + std::string(name),
                        with(c, [&](call &o) { o.x.strides = strides; }), dense(c)});
    }
    return rows;
}

std::vector<row> block_rows(bool quantizes) {
    const auto of = [=](const dimensions &shape) {
        return call_of(quantizes, quantizes ? QDQ_F32 : QDQ_I8, quantizes ? QDQ_I8 : QDQ_F32, shape);
    };
    const std::string name = quantizes ? "f32 to i8 " : "i8 to f32 ";
    std::vector<row> rows;
    for (const int64_t block : {2, 4, 8, 16, 24, 32, 33, 64, 65}) {
        const call c = blocked(of(rows_of(16 * block)), {1, block});
        rows.push_back({name + "blocks of " + std::to_string(block), c, dense(c)});
    }
    for (const int64_t columns : {2, 3, 5, 7, 9, 12, 17, 24, 49, 100, 200}) {
        const call c = blocked(of(rows_of(columns)), {1, 0});
        rows.push_back({name + "a scale a row of " + std::to_string(columns), c, dense(c)});
    }
    const call channels = blocked(of({64, 64}), {0, 1});
    rows.push_back({name + "[64 64] channels of the last axis", channels, dense(channels)});
    return rows;
}

std::vector<row> option_rows() {
    std::vector<row> rows;
    for (const qdq_dtype type : {QDQ_I8, QDQ_U8, QDQ_I16, QDQ_I4, QDQ_I2, QDQ_I32}) {
        for (const qdq_rounding rounding : {QDQ_NEAREST_AWAY, QDQ_TOWARD_ZERO, QDQ_DOWN, QDQ_UP}) {
            const call c = call_of(true, QDQ_F32, type, {about});
            rows.push_back({"f32 to " + std::string(qdq_dtype_name(type)) + ", rounding " + std::to_string(rounding),
                            with(c, [=](call &o) { o.options.rounding = rounding; }), c});
        }
    }
    const call normal = call_of(true, QDQ_F32, QDQ_I8, {about});
    rows.push_back({"f32 to i8, specials among x", with(normal, [](call &o) { o.has_specials = true; }), normal});
    const call nvfp4 = blocked(call_of(false, QDQ_F4E2M1, QDQ_BF16, rows_of(1024)), {1, 16}),
               mxfp8 = blocked(call_of(false, QDQ_F8E4M3, QDQ_BF16, {4, 1024}), {1, 32});
    rows.push_back(
        {"f4e2m1 to bf16, blocks of 16, e4m3 scales", with(nvfp4, [](call &o) { o.scale.type = QDQ_F8E4M3; }), nvfp4});
    rows.push_back({"f8e4m3 to bf16, [4 1024] blocks of 32, e8m0 scales",
                    with(mxfp8, [](call &o) { o.scale.type = QDQ_E8M0; }), mxfp8});
    const auto unsaturated_rows_of = [](int64_t columns) {
        return with(blocked(call_of(true, QDQ_BF16, QDQ_F8E4M3, rows_of(columns)), {1, 0}),
                    [](call &o) { o.options.no_saturate = 1; });
    };
    rows.push_back(
        {"bf16 to f8e4m3, no saturation, a scale a row of 33", unsaturated_rows_of(33), unsaturated_rows_of(64)});
    return rows;
}

std::vector<row> small_rows() {
    std::vector<row> rows;
    const call whole = call_of(true, QDQ_F32, QDQ_I8, {64});
    for (const int64_t n : {1, 63, 65}) {
        rows.push_back({"f32 to i8, n = " + std::to_string(n), call_of(true, QDQ_F32, QDQ_I8, {n}), whole, true});
    }
    rows.push_back(
        {"f32 to i8, 8 channels of 8", blocked(call_of(true, QDQ_F32, QDQ_I8, {8, 8}), {1, 0}), whole, true});
    for (const int64_t n : {64, 4096}) {
        const call c = call_of(true, QDQ_F32, QDQ_I8, {n});
        rows.push_back({"f32 to i8, n = " + std::to_string(n) + ", no plan",
                        with(c, [](call &o) { o.by_plan = false; }), c, true});
    }
    return rows;
}

}  // namespace

call drawn_call(uint64_t seed, int64_t number, drawn kind) { return drawing(seed, number, kind).next(); }

std::vector<row> table_rows() {
    std::vector<row> all;
    for (const std::vector<row> &rows : {packed_rows(), strided_rows(true), strided_rows(false), block_rows(true),
                                         block_rows(false), option_rows(), small_rows()}) {
        all.insert(all.end(), rows.begin(), rows.end());
    }
    return all;
}

}  // namespace bench
