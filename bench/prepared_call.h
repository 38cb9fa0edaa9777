// A call with memory for its tensors, planned.
#pragma once

#include "cliffs_calls.h"
#include "support/inputs.h"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

namespace bench {

using test_support::random_bits;

inline void require(qdq_status status) {
    if (status != QDQ_OK) {
        throw std::runtime_error(qdq_last_error());
    }
}

// Memory for all that a layout reaches.
class tensor {
public:
    tensor(const layout &given, random_bits &random, bool is_scale, bool has_specials) : of(given) {
        int64_t below = 0, above = count_of(of.shape) - 1;
        if (!of.strides.empty()) {
            above = 0;
            for (size_t d = 0; d < of.shape.size(); d++) {
                const int64_t far = (of.shape[d] - 1) * of.strides[d];
                (far < 0 ? below : above) += far;
            }
        }
        const element_type &type = type_of(of.type);
        const int64_t bytes = ((above - below + 1) * type.bits + 7) / 8;
        memory.reset(static_cast<char *>(std::aligned_alloc(64, static_cast<size_t>((bytes + 127) / 64 * 64))));
        char *const begin = memory.get() + of.past_line;
        for (int64_t i = 0; i < bytes; i += type.bytes()) {
            const uint32_t code = code_of(type, random, is_scale, has_specials);
            std::memcpy(begin + i, &code, static_cast<size_t>(type.bytes()));
        }
        first = begin - below * type.bits / 8;
    }
    void *data() const { return first; }
    qdq_tensor view() const {
        return {
            first, of.type, int32_t(of.shape.size()), of.shape.data(), of.strides.empty() ? nullptr : of.strides.data(),
            {}};
    }

private:
    layout of;
    struct release {
        void operator()(char *p) const { std::free(p); }
    };
    std::unique_ptr<char, release> memory;
    char *first;

    // In (-4, 4), scales near 1/32, or any bits of a code.
    static uint32_t code_of(const element_type &type, random_bits &random, bool is_scale, bool has_specials) {
        const uint32_t any = random.next32();
        if (type.layout.special == qdq::kernels::specials::powers_of_two) {
            return 120 + any % 4;
        }
        if (!type.roles.floats) {
            return is_scale ? 0x20 + any % 16 : type.bits >= 16 ? any % 200 : any;
        }
        if (has_specials && any % 64 == 0) {
            return random.next32() >> (32 - type.bits) & (any % 128 == 0 ? ~0u : type.bits == 32 ? 0x807fffff : 0x807f);
        }
        const float unit = static_cast<float>(any >> 9) * 0x1p-23f + 0x1p-6f;
        const float value = is_scale ? 0.02f + unit * 0.02f : any % 2 == 0 ? 4 * unit : -4 * unit;
        const uint32_t bits = std::bit_cast<uint32_t>(value);
        const uint32_t f16 = (bits >> 16 & 0x8000u) | (((bits >> 23 & 0xff) - 112) << 10) | (bits >> 13 & 0x3ffu);
        return type.dtype == QDQ_F16 ? f16 : bits >> (32 - type.bits);
    }
};

// A call with its memory.
class prepared {
public:
    prepared(const call &given, random_bits &random)
        : c(given),
          x(c.x, random, false, c.has_specials),
          scale(c.scale, random, true, false),
          y(c.y, random, false, false) {
        if (c.zero_point) {
            zero_point.emplace(*c.zero_point, random, true, false);
        }
        if (c.codes) {
            codes = std::make_unique<prepared>(*c.codes, random);
        }
        if (c.second) {
            second = std::make_unique<prepared>(*c.second, random);
        }
        options.block_shape = c.blocks.empty() ? nullptr : c.blocks.data();
        for (tensor *each : {&x, &scale, &y}) {
            views.push_back(each->view());
        }
        views.push_back(zero_point ? zero_point->view() : qdq_tensor{});
        require(plan_or_try());
    }
    prepared(const prepared &) = delete;

    void run() const {
        if (codes) {
            qdq_transcode(&codes->views[0], &codes->views[1], codes->zero_view(), &codes->options, &views[2], &views[1],
                          zero_view(), &options);
        } else if (second && !c.is_apart) {
            qdq_run_dynamic_pair(&plan, &second->plan, x.data(), scale.data(), nullptr, y.data(), second->scale.data(),
                                 nullptr, second->y.data(), nullptr);
        } else if (second) {
            qdq_run_dynamic(&plan, x.data(), scale.data(), nullptr, y.data(), nullptr);
            qdq_run_dynamic(&second->plan, x.data(), second->scale.data(), nullptr, second->y.data(), nullptr);
        } else if (c.format || !c.offsets.empty()) {
            run_without_plan();
        } else if (c.computes_scales) {
            qdq_run_dynamic(&plan, x.data(), scale.data(), nullptr, y.data(), nullptr);
        } else if (c.by_plan) {
            qdq_run(&plan, x.data(), y.data(), nullptr);
        } else {
            (c.quantizes ? qdq_quantize : qdq_dequantize)(&views[0], &views[1], zero_view(), &views[2], &options);
        }
    }

private:
    const call c;
    tensor x, scale, y;
    std::optional<tensor> zero_point;
    std::unique_ptr<const prepared> codes;  // of a transcoding
    std::unique_ptr<prepared> second;       // of a pair
    qdq_options options = c.options;
    std::vector<qdq_tensor> views;
    qdq_plan plan;

    qdq_scale_options rule() const {
        return {.rule = c.scale.type == QDQ_E8M0 ? QDQ_SCALE_POWER_FLOOR : QDQ_SCALE_ABSMAX};
    }

    // What has no plan is called, and may refuse.
    qdq_status plan_or_try() {
        const qdq_scale_options how = rule();
        if (c.format || !c.offsets.empty()) {
            return run_without_plan();
        }
        if (second && !c.is_apart) {
            const qdq_scale_options other = second->rule();
            const qdq_dynamic_output first_output{&views[1], nullptr, &views[2], &how, &options},
                second_output{&second->views[1], nullptr, &second->views[2], &other, &second->options};
            return qdq_plan_quantize_dynamic_pair(&plan, &second->plan, &views[0], &first_output, &second_output);
        }
        if (c.computes_scales) {
            return qdq_plan_quantize_dynamic(&plan, &views[0], &views[1], nullptr, &views[2], &how, &options);
        }
        return (c.quantizes ? qdq_plan_quantize : qdq_plan_dequantize)(&plan, &views[0], &views[1], zero_view(),
                                                                       &views[2], &options);
    }

    qdq_status run_without_plan() const {
        if (c.format) {
            return (c.quantizes ? qdq_quantize_blocks : qdq_dequantize_blocks)(&views[0], &views[2], *c.format);
        }
        const int64_t groups = int64_t(c.offsets.size()) - 1;
        if (c.computes_scales) {
            const qdq_scale_options how = rule();
            return qdq_quantize_dynamic_grouped(&views[0], c.offsets.data(), groups, &views[1], nullptr, &views[2],
                                                &how, &options);
        }
        return (c.quantizes ? qdq_quantize_grouped : qdq_dequantize_grouped)(
            &views[0], c.offsets.data(), groups, &views[1], zero_view(), &views[2], &options);
    }

    const qdq_tensor *zero_view() const { return zero_point ? &views[3] : nullptr; }
};

}  // namespace bench
