#include "plan/draft.h"
#include "plan/stochastic.h"

#include <cinttypes>
#include <cstddef>
#include <cstring>

namespace qdq::runtime {

namespace {

qdq_status check_choices(const draft &d) {
    const struct {
        const char *name;
        int value, most;
    } choices[] = {{"scale_mode", stored_value(d.options.scale_mode), QDQ_RECIPROCAL},
                   {"quantize_zp", stored_value(d.options.quantize_zp), QDQ_ZP_BEFORE_ROUNDING},
                   {"dequantize_zp", stored_value(d.options.dequantize_zp), QDQ_ZP_ADD},
                   {"rounding", stored_value(d.options.rounding), QDQ_STOCHASTIC},
                   {"packing", stored_value(d.options.packing), QDQ_DENSE},
                   {"stores", stored_value(d.options.stores), QDQ_STORES_NONTEMPORAL},
                   {"nan", stored_value(d.options.nan), QDQ_NAN_ZERO}};
    for (const auto &choice : choices) {
        if (choice.value < 0 || choice.value > choice.most) {
            return d.invalid("%s: options: %s %d is not in 0..%d", choice.name, choice.value, choice.most);
        }
    }
    return QDQ_OK;
}

qdq_status check_packing(const draft &d) {
    const qdq_options &options = d.options;
    const element_type &codes = d.code_type();
    if (options.packing == QDQ_DENSE) {
        if (!has_six_bits(codes)) {
            return d.invalid("%s: options: packing %d is of f6e2m3 and f6e3m2, not %s", int(QDQ_DENSE), codes.name);
        }
        const char *const instead = d.is_on_device()                     ? "these are on a device"
                                    : options.rounding == QDQ_STOCHASTIC ? "it does not round stochastically"
                                                                         : nullptr;
        return instead ? fail(QDQ_UNSUPPORTED, "%s: options: packing %d: it is for tensors on the host, and %s",
                              d.given.function, int(QDQ_DENSE), instead)
                       : QDQ_OK;
    }
    if (options.packing != QDQ_LOW_FIRST && codes.codes_per_byte() > 2) {
        return d.invalid(
            "%s: options: packing %d is of types with two codes to a byte; %s has %d, the first in the lowest "
            "bits",
            int(options.packing), codes.name, codes.codes_per_byte());
    }
    if (options.packing == QDQ_SPLIT_HALVES && d.x_elements % split_group != 0) {
        return d.invalid("%s: options: packing in split halves needs a multiple of %d elements, not %" PRId64,
                         int(split_group), d.x_elements);
    }
    return QDQ_OK;
}

qdq_status check_blocks_asked(const draft &d) {
    const qdq_options &options = d.options;
    if (options.block_size < 0) {
        return d.invalid("%s: options: block_size %" PRId64 " is below 0", options.block_size);
    }
    if (options.block_shape && options.block_size > 0) {
        return d.invalid("%s: options: block_size %" PRId64 " and block_shape are both given", options.block_size);
    }
    for (int i = 0; options.block_shape && i < d.given.x->rank; i++) {
        if (options.block_shape[i] < 0) {
            return d.invalid("%s: options: block_shape[%d] is %" PRId64 ", below 0", i, options.block_shape[i]);
        }
    }
    return QDQ_OK;
}

// Of the codes: y's range, and x's where one set of options serves both ways.
qdq_status check_range(draft &d) {
    const qdq_options &options = d.options;
    const element_type &codes = d.code_type();
    const char *name = d.op.quantizes() ? "y" : "x";
    d.op.lowest = int32_t(codes.lowest());
    d.op.highest = int32_t(codes.highest());
    if (options.quant_min != 0 || options.quant_max != 0) {
        if (!codes.is_integer()) {
            return d.invalid("%s: options: quant_min and quant_max need an integer %s, not %s", name, codes.name);
        }
        if (options.quant_min > options.quant_max || options.quant_min < d.op.lowest ||
            options.quant_max > d.op.highest) {
            return d.invalid("%s: options: quant_min %d and quant_max %d are not a range within %s's %d..%d",
                             options.quant_min, options.quant_max, name, d.op.lowest, d.op.highest);
        }
        d.op.lowest = options.quant_min;
        d.op.highest = options.quant_max;
    }
    const bool rounds_floats = options.rounding == QDQ_NEAREST_EVEN || options.rounding == QDQ_STOCHASTIC;
    if (d.op.quantizes() && !rounds_floats && !codes.is_integer()) {
        return d.invalid("%s: options: rounding %d needs an integer y, not %s", int(options.rounding), codes.name);
    }
    return QDQ_OK;
}

// What came with an option later is read where that is given: the options of callers compiled with an earlier header
// end before it.
void read_options(draft &d) {
    std::memcpy(&d.options, d.given.options, offsetof(qdq_options, random_seed));
    if (stored_value(d.options.rounding) == QDQ_STOCHASTIC) {
        d.options.random_seed = d.given.options->random_seed;
        d.options.random_offset = d.given.options->random_offset;
    }
    if (d.given.has_scale_storage) {
        d.options.scale_is_arranged = d.given.options->scale_is_arranged;
        d.options.scale_layout = d.given.options->scale_layout;
        d.options.global_sense = d.given.options->global_sense;
        d.options.global_scale = d.given.options->global_scale;
    }
}

// Its rules are where it is linked.
qdq_status check_stochastic(const draft &d) {
    if (!d.op.quantizes() || d.options.rounding != QDQ_STOCHASTIC) {
        return QDQ_OK;
    }
    return qdq_linked_stochastic_rounding
               ? qdq_linked_stochastic_rounding->check(d)
               : fail(QDQ_UNSUPPORTED, "%s: options: rounding %d was not picked; STOCHASTIC and %s add it",
                      d.given.function, int(QDQ_STOCHASTIC), qdq_linked_by);
}

}  // namespace

qdq_status check_options(draft &d) {
    if (d.given.options) {
        read_options(d);
    }
    if (qdq_status s = check_choices(d)) {
        return s;
    }
    if (d.options.stream && !d.is_on_device()) {
        return d.invalid("%s: options: stream: target %s runs on the CPU and takes none", d.op.target->name);
    }
    if (qdq_status s = check_packing(d)) {
        return s;
    }
    if (qdq_status s = check_blocks_asked(d)) {
        return s;
    }
    if (qdq_status s = check_stochastic(d)) {
        return s;
    }
    if (qdq_status s = check_scale_storage(d)) {
        return s;
    }
    return check_range(d);
}

}  // namespace qdq::runtime
