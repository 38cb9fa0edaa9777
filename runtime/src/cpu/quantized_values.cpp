#include "cpu/quantized_values.h"

#include "cpu/decoding.h"
#include "cpu/fast_variants.h"
#include "cpu/float_environment.h"
#include "cpu/movement.h"
#include "cpu/operands.h"
#include "plan/loops.h"
#include "support/types.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace qdq::runtime {

namespace {

constexpr int64_t most = 256;  // elements that are quantized at a time
constexpr int64_t operand_bytes = 3 * (most + 2 * spare_operands) * int64_t{sizeof(float)};
static_assert(operands::least_room(operand_bytes) >= most);

// Gathers elements with the operands of their groups, until there are as many as are quantized at a time.
class requantizer {
public:
    requantizer(const dynamic_plan &p, const void *x, const group_operands &with, quantized_run *visit, void *context)
        : x(static_cast<const char *>(x)),
          with(with),
          visit(visit),
          context(context),
          quantize(with_own_operands(p.quantize.op, scales, with.zero_point ? zero_points : nullptr)),
          decode(decoding_of(quantize, p.decodes)) {}
    requantizer(const requantizer &) = delete;

    // Elements so far apart, of one group or of several.
    void add(int64_t at, int64_t stride, int64_t group, int64_t group_stride, int64_t extent) {
        while (extent > 0) {
            const int64_t some = std::min(extent, most - gathered);
            gather(at, stride, some);
            for (int64_t i = 0; i < some; i += group_stride == 0 ? some : 1) {
                append(group + i * group_stride, group_stride == 0 ? some : 1);
            }
            at += some * stride;
            group += some * group_stride;
            extent -= some;
            if (gathered == most) {
                flush();
            }
        }
    }

    void finish() {
        if (gathered > 0) {
            flush();
        }
    }

private:
    struct run {
        int32_t group, count;
    };

    const char *const x;
    const group_operands with;
    quantized_run *const visit;
    void *const context;
    const call quantize, decode;
    int64_t gathered = 0, run_count = 0;
    run runs[most];
    float scales[most];
    int32_t zero_points[most];
    alignas(64) char elements[most * sizeof(float)];  // of x
    alignas(64) char codes[most * sizeof(float)];
    alignas(64) float values[most];
    alignas(64) char memory[operand_bytes];

    // Of blocks of 16 a fifth of the time went into moves of one loop.
    void gather(int64_t at, int64_t stride, int64_t count) {
        const char *const from = address(x, at, quantize.x_bits);
        char *const to = address(elements, gathered, quantize.x_bits);
        if (stride == 1) {
            std::memcpy(to, from, static_cast<size_t>(count * quantize.x_bits / 8));
        } else {
            move_loop loop[] = {{count, stride, 1}};
            move(*quantize.target, quantize.x_bits, from, to, loop, 1);
        }
    }

    void append(int64_t group, int64_t count) {
        std::fill_n(scales + gathered, count, with.scale[group]);
        if (with.zero_point) {
            std::fill_n(zero_points + gathered, count, with.zero_point[group]);
        }
        if (run_count > 0 && runs[run_count - 1].group == group) {
            runs[run_count - 1].count += int32_t(count);
        } else {
            runs[run_count++] = {int32_t(group), int32_t(count)};
        }
        gathered += count;
    }

    void flush() {
        const int64_t whole = round_up(gathered), more = whole - gathered;
        std::fill_n(scales + gathered, more, 1.0f);
        std::fill_n(zero_points + gathered, more, 0);
        std::fill_n(address(elements, gathered, quantize.x_bits), more * quantize.x_bits / 8, char{0});
        run_kernel(quantize, elements, codes, whole);
        run_kernel(decode, codes, values, whole);
        visit_runs();
        gathered = run_count = 0;
    }

    // Elements of one group by one operand, where the form has the variant.
    void run_kernel(const call &op, const void *from, void *to, int64_t count) {
        operands loaded(op, memory, operand_bytes);
        const bool is_one = run_count == 1;
        const int32_t variant = is_one ? loaded.load({0, 0, 0, 0, 1}, true) : loaded.load({0, 1, 0, 1, count}, false);
        const bool by_column = !is_one || needs_column(op, kernel_form::row, variant);
        if (is_one && by_column) {
            loaded.repeat(1, count);
        }
        const float_environment environment(loaded.flushes);
        kernel_caller(op, by_column ? kernel_form::column : kernel_form::row, false, variant, by_column)
            .run(loaded.from(0), {from, 0}, {to, 0}, count, 1);
    }

    void visit_runs() {
        float exact[most];
        convert(exact);
        int64_t first = 0;
        for (int64_t i = 0; i < run_count; i++) {
            const auto &[group, count] = runs[i];
            visit(context, group, exact + first, values + first, count);
            first += count;
        }
    }

    // The gathered elements as f32.
    void convert(float *to) const {
        switch (quantize.x_type) {
        case QDQ_F32: std::memcpy(to, elements, static_cast<size_t>(gathered) * sizeof(float)); break;
        case QDQ_BF16:
            for (int64_t i = 0; i < gathered; i++) {
                to[i] = std::bit_cast<float>(uint32_t{element<uint16_t>(elements, i)} << 16);
            }
            break;
        default:
            for (int64_t i = 0; i < gathered; i++) {
                to[i] = value_of_f16(element<uint16_t>(elements, i));
            }
        }
    }
};

// The loops of a part, the innermost first, with the number of a group as the stride of the scale.
void set_loops(const blocked_dimension *dimensions, int count, loop_nest &nest) {
    blocked_dimension merged[most_dimensions];
    count = merge_dimensions(dimensions, count, merge_order::of_x_strides, merged);
    nest.count = 0;
    for (int i = 0; i < count; i++) {
        const auto &[w, block] = merged[i];
        const int64_t inside = w.varies() ? block : w.extent;
        nest.loops[nest.count++] = {inside, w.x, 0, 0, 0};
        nest.loops[nest.count++] = {w.extent / inside, w.x * inside, 0, w.scale, 0};
    }
    const auto is_one = [](const dimension &d) { return d.extent == 1; };
    nest.count = int(std::remove_if(nest.loops, nest.loops + nest.count, is_one) - nest.loops);
    if (nest.count == 0) {
        nest.loops[nest.count++] = {1, 0, 0, 0, 0};
    }
}

}  // namespace

void for_each_quantized(const dynamic_plan &p, const blocked_dimension *dimensions, int count, const offsets &at,
                        const void *x, const group_operands &with, quantized_run *visit, void *context) {
    loop_nest nest;
    set_loops(dimensions, count, nest);
    requantizer elements(p, x, with, visit, context);
    int64_t first = at.x, group = at.scale;
    const dimension &inner = nest.loops[0];
    loop_counter outside(1, nest.count);
    do {
        elements.add(first, inner.x, group, inner.scale, inner.extent);
    } while (outside.next([&](int i) { return nest.loops[i].extent; },
                          [&](int i, int64_t steps) {
                              first += steps * nest.loops[i].x;
                              group += steps * nest.loops[i].scale;
                          }));
    elements.finish();
}

}  // namespace qdq::runtime
