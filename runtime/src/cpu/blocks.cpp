#include "cpu/blocks.h"

#include "cpu/cache_lines.h"
#include "cpu/float_environment.h"
#include "cpu/kernel_buffer.h"
#include "cpu/movement.h"
#include "cpu/threads.h"
#include "support/types.h"

#include <algorithm>

namespace qdq::runtime {

namespace {

using kernels::block_elements;
using kernels::most_block_bytes;
using kernels::most_blocks;

// One side of a call, as if its elements were in order.
struct side {
    char *data;
    halide_type_t type;
    int64_t element_bytes, elements;  // of a block
    int64_t stride;                   // of those
    int64_t block_loop::*block_stride;
    bool is_moved;  // blocks go by way of a buffer
    bool bypasses;  // what is written leaves the caches
};

// What one kernel call takes: blocks along the innermost loop, and of the next one, if the innermost is short.
struct box {
    int64_t columns, rows;
};

struct block_call {
    const block_plan &p;
    side x, y;
    box whole;
    int64_t steps, boxes;  // along the loop that boxes divide; of all loops
    int64_t parts;
};

bool is_dense(const side &s, const block_plan &p) { return s.stride == 1 && p.loops[0].*s.block_stride == s.elements; }

// Where a box begins: its first block on either side, and how many blocks there are.
struct place {
    int64_t x, y;
    box size;
};

place find(const block_call &call, int64_t number) {
    const block_plan &p = call.p;
    const bool divides_inner = call.whole.rows == 1;
    int64_t index[most_dimensions] = {};
    place at{0, 0, call.whole};
    int64_t &size = divides_inner ? at.size.columns : at.size.rows;
    for (int i = divides_inner ? 0 : 1; i < p.loop_count; i++) {
        const bool is_divided = i == (divides_inner ? 0 : 1);
        const int64_t extent = is_divided ? call.steps : p.loops[i].extent;
        index[i] = number % extent * (is_divided ? size : 1);
        number /= extent;
        if (is_divided) {
            size = std::min(size, p.loops[i].extent - index[i]);
        }
    }
    for (int i = 0; i < p.loop_count; i++) {
        at.x += index[i] * (p.loops[i].*call.x.block_stride) * call.x.element_bytes;
        at.y += index[i] * (p.loops[i].*call.y.block_stride) * call.y.element_bytes;
    }
    return at;
}

// Between a box where it lies and a buffer.
void move_box(const block_call &call, const side &s, const box &size, const char *from, char *to, bool gathers) {
    const block_loop *const loops = call.p.loops;
    const auto loop = [&](int64_t extent, int64_t there, int64_t here) {
        return gathers ? move_loop{extent, there, here} : move_loop{extent, here, there};
    };
    const int64_t row = call.p.loop_count > 1 ? loops[1].*s.block_stride : 0;
    move_loop all[] = {loop(s.elements, s.stride, 1), loop(size.columns, loops[0].*s.block_stride, s.elements),
                       loop(size.rows, row, size.columns * s.elements)};
    move(*call.p.on, s.element_bytes * 8, from, to, all, 3);
}

void run_kernel(const block_call &call, const char *x, int64_t x_stride, char *y, int64_t y_stride, int64_t count) {
    const halide_dimension_t x_shape[] = {{0, int32_t(call.x.elements), 1}, {0, int32_t(count), int32_t(x_stride)}};
    const halide_dimension_t y_shape[] = {{0, int32_t(call.y.elements), 1}, {0, int32_t(count), int32_t(y_stride)}};
    halide_buffer_t of_x, of_y;
    set_buffer(of_x, x, call.x.type, 2, x_shape);
    set_buffer(of_y, y, call.y.type, 2, y_shape);
    call.p.kernel(&of_x, &of_y);
}

void run_some(int64_t part, void *context) {
    const block_call &call = *static_cast<const block_call *>(context);
    const float_environment environment;
    const side &x = call.x, &y = call.y;
    alignas(64) char floats[sizeof(float) * most_blocks * block_elements];
    alignas(64) char blocks[size_t{most_blocks} * most_block_bytes];
    char *const x_buffer = call.p.quantizes ? floats : blocks, *const y_buffer = call.p.quantizes ? blocks : floats;
    const int64_t begin = part * call.boxes / call.parts, end = (part + 1) * call.boxes / call.parts;
    for (int64_t number = begin; number < end; number++) {
        const place at = find(call, number);
        const int64_t count = at.size.columns * at.size.rows;
        const char *const from = x.data + at.x;
        char *const to = y.data + at.y;
        if (x.is_moved) {
            move_box(call, x, at.size, from, x_buffer, true);
        } else if (number + 1 < end) {  // what the next box reads, as a kernel goes over few bytes several times
            prefetch<cache::l1>(from + count * x.elements * x.element_bytes, count * x.elements * x.element_bytes);
        }
        run_kernel(call, x.is_moved ? x_buffer : from, x.elements, y.is_moved || y.bypasses ? y_buffer : to, y.elements,
                   count);
        if (y.bypasses) {
            call.p.on->nontemporal->copy(to, y_buffer, count * y.elements * y.element_bytes);
        } else if (y.is_moved) {
            move_box(call, y, at.size, y_buffer, to, false);
        }
    }
    if (y.bypasses) {
        call.p.on->nontemporal->fence();
    }
}

void set_boxes(block_call &call) {
    const block_plan &p = call.p;
    const int64_t inner = p.loops[0].extent;
    const bool takes_rows = p.loop_count > 1 && 2 * inner <= most_blocks;
    call.whole = {std::min<int64_t>(inner, most_blocks),
                  takes_rows ? std::min(most_blocks / inner, p.loops[1].extent) : 1};
    const bool divides_inner = call.whole.rows == 1;
    const int64_t divided = p.loops[divides_inner ? 0 : 1].extent;
    const int64_t size = divides_inner ? call.whole.columns : call.whole.rows;
    call.steps = call.boxes = (divided + size - 1) / size;
    for (int i = divides_inner ? 1 : 2; i < p.loop_count; i++) {
        call.boxes *= p.loops[i].extent;
    }
}

}  // namespace

void run_blocks(const block_plan &p, const void *x, void *y) {
    const side floats = {nullptr,
                         halide_types[p.float_type],
                         type_of(p.float_type).bits / 8,
                         block_elements,
                         p.element_stride,
                         &block_loop::floats,
                         false,
                         false};
    const side blocks = {nullptr,       {halide_type_uint, 8, 1}, 1,     p.block_bytes,
                         p.byte_stride, &block_loop::blocks,      false, false};
    block_call call{p, p.quantizes ? floats : blocks, p.quantizes ? blocks : floats, {}, 0, 0, 1};
    call.x.data = static_cast<char *>(const_cast<void *>(x));
    call.y.data = static_cast<char *>(y);
    set_boxes(call);
    for (side *s : {&call.x, &call.y}) {
        s->is_moved = !is_dense(*s, p) || call.whole.rows > 1;
    }
    const int64_t bytes = p.count * (call.x.elements * call.x.element_bytes + call.y.elements * call.y.element_bytes);
    call.y.bypasses = !call.y.is_moved && p.on->nontemporal && bytes > p.tuned->nontemporal_bytes;
    call.parts = std::min(useful_parts(p.count * block_elements, p.tuned->part_elements), call.boxes);
    if (call.parts == 1) {
        run_some(0, &call);
    } else {
        run_in_parallel(call.parts, run_some, &call);
    }
}

}  // namespace qdq::runtime
