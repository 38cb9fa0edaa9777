#include "cpu/stored_scales.h"

#include "plan/arrangement.h"

#include <cstring>

namespace qdq::runtime {

namespace {

// Steps through matrices by a number of places at a time, without dividing at each.
class matrix_steps {
public:
    matrix_steps(const scale_storage &how, int64_t first, int64_t stride)
        : rows(how.rows), columns(how.columns), at(split(first)), step(split(stride)) {}

    struct place {
        int64_t matrix, row, column;
    };

    const place &here() const { return at; }

    // Several steps at a time, of one column each, stay in a row up to its end.
    void next(int64_t times) {
        at.column += times * step.column;
        const bool next_row = at.column >= columns;
        at.column -= next_row ? columns : 0;
        at.row += step.row + next_row;
        const bool next_matrix = at.row >= rows;
        at.row -= next_matrix ? rows : 0;
        at.matrix += step.matrix + next_matrix;
    }

private:
    place split(int64_t places) const { return {places / columns / rows, places / columns % rows, places % columns}; }

    const int64_t rows, columns;
    place at;
    const place step;
};

}  // namespace

void gather(const scale_storage &how, const void *scales, int64_t first, int64_t stride, int64_t count,
            uint8_t *codes) {
    constexpr int64_t word = arrangement::word;
    const arrangement layout(how.layout, how.rows, how.columns);
    const auto *const bytes = static_cast<const uint8_t *>(scales);
    const int64_t matrix_bytes = layout.bytes();
    matrix_steps steps(how, first, stride);
    for (int64_t i = 0, taken; i < count; i += taken) {
        const auto [matrix, row, column] = steps.here();
        const uint8_t *const from = bytes + matrix * matrix_bytes + layout.place(row, column / word) + column % word;
        const bool is_word = stride == 1 && column % word == 0 && column + word <= how.columns && i + word <= count;
        taken = is_word ? word : 1;
        if (is_word) {
            std::memcpy(codes + i, from, word);
        } else {
            codes[i] = *from;
        }
        steps.next(taken);
    }
}

void apply_global(qdq_global_sense sense, float global, float *scales, int64_t count) {
    if (sense == QDQ_GLOBAL_NONE) {
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        scales[i] = sense == QDQ_GLOBAL_SCALE ? scales[i] * global : scales[i] / global;
    }
}

}  // namespace qdq::runtime
