#include "plan/arrangement.h"
#include "plan/draft.h"

namespace qdq::runtime {

int64_t product(int64_t a, int64_t b) {
    int64_t result;
    return __builtin_mul_overflow(a, b, &result) ? INT64_MAX : result;
}

int64_t arrangement::bytes() const {
    return layout == QDQ_SCALES_TILED_128X4 ? product(product(pieces(rows, tile_rows), words), tile_bytes)
                                            : product(product(words, pieces(rows, word)), word * word);
}

namespace {

qdq_status check_layout(const draft &d) {
    const qdq_tensor &scale = *d.given.scale;
    if (!is_layout(d.options.scale_layout)) {
        return d.invalid("%s: options: scale_layout %d is not in 0..%d", stored_value(d.options.scale_layout),
                         int(QDQ_SCALES_COLUMN_WORDS));
    }
    if (scale.dtype != QDQ_E8M0 && scale.dtype != QDQ_F8E4M3) {
        return d.invalid("%s: scale: it is arranged, and its type, %s, is neither e8m0 nor f8e4m3",
                         type_of(scale.dtype).name);
    }
    if (scale.rank < 2) {
        return d.invalid("%s: scale: it is arranged, and its rank, %d, is below 2: it has no rows and columns",
                         int(scale.rank));
    }
    return scale.strides ? d.invalid("%s: scale: it is arranged, and has strides") : QDQ_OK;
}

qdq_status check_global(const draft &d) {
    const int sense = stored_value(d.options.global_sense);
    if (sense < 0 || sense > QDQ_GLOBAL_INVERSE) {
        return d.invalid("%s: options: global_sense %d is not in 0..%d", sense, int(QDQ_GLOBAL_INVERSE));
    }
    if ((sense != QDQ_GLOBAL_NONE) != (d.options.global_scale != nullptr)) {
        return d.invalid("%s: options: global_scale is%s NULL, and global_sense is %d",
                         d.options.global_scale ? " not" : "", sense);
    }
    return QDQ_OK;
}

}  // namespace

qdq_status check_scale_storage(draft &d) {
    const qdq_options &options = d.options;
    const bool is_arranged = options.scale_is_arranged != 0;
    if (is_arranged && options.scale_is_arranged != 1) {
        return d.invalid("%s: options: scale_is_arranged %d is not in 0..1", options.scale_is_arranged);
    }
    qdq_status s;
    if ((is_arranged && (s = check_layout(d))) || (s = check_global(d))) {
        return s;
    }
    if (d.is_on_device() && (is_arranged || options.global_scale)) {
        return fail(QDQ_UNSUPPORTED, "%s: options: %s: it is for tensors on the host, and these are on a device",
                    d.given.function, is_arranged ? "scale_is_arranged" : "global_scale");
    }
    d.op.stored.sense = options.global_sense;
    d.op.stored.global = options.global_scale;
    if (is_arranged) {
        const int64_t *const matrix = d.given.scale->shape + d.given.scale->rank - 2;
        d.op.stored.is_arranged = true;
        d.op.stored.layout = options.scale_layout;
        d.op.stored.rows = matrix[0];
        d.op.stored.columns = matrix[1];
    }
    return QDQ_OK;
}

}  // namespace qdq::runtime
