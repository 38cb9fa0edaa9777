// Descriptions of tensors that nothing keeps valid, with no memory behind x, y and scale: they are refused with a
// message, and nothing is touched. The few that are valid and small get memory and run.
#include "checked_call.h"

#include "conformance/supported.h"
#include "reference/formats.h"
#include "reference/quantize.h"
#include "reference/scales.h"
#include "support/fenced_memory.h"
#include "support/inputs.h"

#include <qdq/blocks.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

using fuzz::require;
using test_support::choices;

constexpr int64_t most_elements = 4096, most_bytes = 1 << 16;

// Any number, and often one of those that overflow something.
int64_t any_number(choices &from) {
    switch (from.between(0, 3)) {
    case 0: return from.between(0, 8);
    case 1: return from.between(-130, 130);
    case 2: return (int64_t{1} << from.between(0, 62)) * (from.chance(2) ? -1 : 1) + from.between(-1, 1);
    default: return from.chance(2) ? from.between(INT64_MIN, INT64_MAX) : from.one_of<int64_t>({INT64_MIN, INT64_MAX});
    }
}

int any_value(choices &from, int most) {
    return from.chance(30) ? static_cast<int>(from.between(INT32_MIN, INT32_MAX))
                           : static_cast<int>(from.between(0, most));
}

// Memory that may be neither read nor written, and addresses that are none.
void *no_memory(choices &from) {
    static test_support::fenced_memory nothing(0);
    static const auto forbidden = reinterpret_cast<intptr_t>(nothing.place(0, test_support::flush::leading));
    const intptr_t address =
        from.one_of<intptr_t>({0, forbidden, forbidden + 3, forbidden - 64, 1, 64, -1, -4096, INTPTR_MAX});
    return reinterpret_cast<void *>(address);
}

// A descriptor whose shape and strides lie in memory of exactly their size, so that a sanitizer sees what reads beyond.
struct descriptor {
    std::unique_ptr<int64_t[]> shape, strides;
    qdq_tensor tensor{};

    descriptor(choices &from, const descriptor *like) {
        api_test::set_raw(tensor.dtype, any_value(from, supported::every_type.back()));
        const bool same = like != nullptr && !from.chance(8);
        tensor.rank = same              ? like->tensor.rank
                      : from.chance(20) ? any_value(from, 10)
                                        : static_cast<int32_t>(from.between(0, 4));
        const auto entries = static_cast<size_t>(tensor.rank >= 0 && tensor.rank <= 8 ? tensor.rank : 0);
        shape = std::make_unique<int64_t[]>(entries);
        for (size_t d = 0; d < entries; d++) {
            shape[d] = same ? like->shape[d] : from.chance(4) ? any_number(from) : from.between(0, 40);
        }
        if (from.chance(3)) {
            strides = std::make_unique<int64_t[]>(entries);
            for (size_t d = 0; d < entries; d++) {
                strides[d] = any_number(from);
            }
        }
        tensor.shape = from.chance(50) ? nullptr : shape.get();
        tensor.strides = strides.get();
        tensor.data = no_memory(from);
        if (from.chance(30)) {
            api_test::set_raw(tensor.device.kind, any_value(from, 3));
            tensor.device.id = any_value(from, 3);
            tensor.device.offset = any_number(from);
        }
    }

    // Whether it can be given memory: a valid rank and type, and few elements and bytes.
    bool is_small() const {
        int type;
        std::memcpy(&type, &tensor.dtype, sizeof(type));
        if (type < 0 || type > supported::every_type.back() || tensor.rank < 0 || tensor.rank > 8 ||
            tensor.shape == nullptr) {
            return false;
        }
        __int128 elements = 1, reach = 1;
        for (int d = 0; d < tensor.rank; d++) {
            const int64_t extent = tensor.shape[d];
            if (extent < 0 || extent > most_elements) {
                return false;
            }
            elements *= extent;
            const __int128 far =
                extent > 0 && tensor.strides ? static_cast<__int128>(tensor.strides[d]) * (extent - 1) : 0;
            reach += far < 0 ? -far : far;
        }
        return elements <= most_elements && reach <= most_bytes;
    }

    fuzz::tensor_memory memory(uint64_t seed, bool is_dense = false) const {
        const bool strided = tensor.strides != nullptr && !reference::is_packed(tensor.dtype);
        const fuzz::dimensions of(tensor.shape, tensor.shape + tensor.rank);
        fuzz::tensor_memory made =
            is_dense ? fuzz::tensor_memory::dense(tensor.dtype, of)
                     : fuzz::tensor_memory(tensor.dtype, of,
                                           strided ? fuzz::dimensions(tensor.strides, tensor.strides + tensor.rank)
                                                   : fuzz::dimensions{});
        test_support::random_bits random(seed);
        const auto mask = static_cast<uint32_t>((uint64_t{1} << reference::bits_of(tensor.dtype)) - 1);
        made.fill([&](int64_t) { return seed == 0 ? 0u : random.next32() & mask; });
        return made;
    }
};

struct odd_options {
    std::unique_ptr<int64_t[]> block_shape;
    float global_scale = 3;
    qdq_options options{};

    odd_options(choices &from, int32_t rank) {
        auto odd = [&](auto &field, int most) {
            if (from.chance(6)) {
                api_test::set_raw(field, any_value(from, most));
            }
        };
        odd(options.scale_mode, 2);
        odd(options.quantize_zp, 1);
        odd(options.dequantize_zp, 1);
        odd(options.rounding, 5);
        odd(options.no_saturate, 1);
        odd(options.axis, 8);
        odd(options.quant_min, 100);
        odd(options.quant_max, 200);
        odd(options.packing, 2);
        odd(options.stores, 2);
        odd(options.nan, 1);
        if (from.chance(6)) {
            options.block_size = any_number(from);
        }
        if (from.chance(6)) {
            const auto entries = static_cast<size_t>(rank >= 0 && rank <= 8 ? rank : 0);
            block_shape = std::make_unique<int64_t[]>(entries);
            for (size_t d = 0; d < entries; d++) {
                block_shape[d] = any_number(from);
            }
            options.block_shape = block_shape.get();
        }
        if (from.chance(40)) {
            options.stream = &options;
        }
        if (options.rounding == QDQ_STOCHASTIC) {
            options.random_seed = static_cast<uint64_t>(any_number(from));
            options.random_offset = static_cast<uint64_t>(any_number(from));
        }
    }

    // Of calls that are not dynamic.
    void draw_storage(choices &from) {
        if (from.chance(8)) {
            options.packing = QDQ_DENSE;
        }
        options.scale_is_arranged = from.chance(6) ? any_value(from, 1) : 0;
        api_test::set_raw(options.scale_layout, any_value(from, 1));
        if (from.chance(6)) {
            api_test::set_raw(options.global_sense, any_value(from, 2));
            options.global_scale = from.chance(8) ? nullptr : &global_scale;
        }
    }
};

void require_message() {
    const char *message = qdq_last_error();
    require(message != nullptr && std::strncmp(message, "qdq_", 4) == 0 && std::strlen(message) < 512,
            "a failure's message does not name the function");
}

// The functions that take names and numbers.
void call_others(choices &from) {
    std::string name;
    for (int64_t length = from.between(0, 40); length > 0; length--) {
        name += static_cast<char>(from.between(1, 255));
    }
    const int32_t number = any_value(from, 4);
    if (qdq_force_target(name.c_str()) != QDQ_OK) {
        require_message();
    }
    require(qdq_force_target(nullptr) == QDQ_OK, "no target cannot be forced");
    qdq_options options;
    const auto type = static_cast<qdq_dtype>(from.between(0, supported::every_type.back()));
    qdq_profile_options(name.c_str(), type, &options);
    const char *profile = from.one_of<const char *>({"onnx", "torch", "torchao", "acl", "tensorrt", "tripy", "pypto"});
    qdq_profile_options(profile, type, &options);
    qdq_scale_options how;
    qdq_dynamic_profile(from.chance(2) ? name.c_str() : profile, type, &how, &options);
    require(qdq_status_string(static_cast<qdq_status>(from.between(0, 7))) != nullptr, "a status has no name");
    const bool exists = number >= 0 && number < qdq_target_count();
    require((qdq_target_name(number) != nullptr) == exists, "a target has no name");
    require((qdq_target_problem(number) == nullptr) == (qdq_target_usable(number) != 0),
            "a problem of a usable target");
    const qdq_plan none{};
    require(qdq_run(&none, no_memory(from), no_memory(from), nullptr) != QDQ_OK, "a plan that no call has made runs");
    require_message();
}

// Nothing is there, so what has elements is refused.
void call_blocks(qdq_tensor x, qdq_tensor y) {
    x.data = y.data = nullptr;
    qdq_block_format format;
    api_test::set_raw(format, x.rank);  // any number
    for (auto *function : {qdq_quantize_blocks, qdq_dequantize_blocks}) {
        if (function(&x, &y, format) != QDQ_OK) {
            require_message();
        }
    }
}

// The tensors of a dynamic call; without zero points that is null.
struct dynamic_tensors {
    const descriptor *x, *scale, *zero_point, *y;
};

qdq_scale_options any_rule(choices &from) {
    qdq_scale_options how{};
    api_test::set_raw(how.rule, any_value(from, 5));
    if (from.chance(3)) {
        how.clip_ratio = from.one_of<float>({0.5f, 1, 1e-40f, 0, -0.0f, -1, 1.5f, INFINITY, NAN});
        how.least_scale = from.one_of<float>({0, 1e-5f, 1e-45f, 3e38f, -1, INFINITY, NAN});
    }
    return how;
}

// One that is valid and small gives the reference's scales, zero points and codes; others are refused.
void check_dynamic(const dynamic_tensors &of, const qdq_scale_options &how, const qdq_options &options) {
    const auto tensor_of = [](const descriptor *d) { return d == nullptr ? nullptr : &d->tensor; };
    const qdq_tensor *x = tensor_of(of.x), *scale = tensor_of(of.scale), *zero_point = tensor_of(of.zero_point),
                     *y = tensor_of(of.y);
    qdq_plan plan;
    if (qdq_plan_quantize_dynamic(&plan, x, scale, zero_point, y, &how, &options) != QDQ_OK) {
        require_message();
        require(qdq_quantize_dynamic(x, scale, zero_point, y, &how, &options) != QDQ_OK,
                "a dynamic call succeeds whose plan is refused");
        return;
    }
    if (!of.x->is_small() || !of.scale->is_small() || !of.y->is_small() ||
        (zero_point != nullptr && !of.zero_point->is_small())) {
        return;
    }
    const fuzz::tensor_memory of_x = of.x->memory(1);
    const auto outputs = [&] {
        std::vector<fuzz::tensor_memory> made = {of.scale->memory(2), of.y->memory(3)};
        if (zero_point != nullptr) {
            made.push_back(of.zero_point->memory(4));
        }
        return made;
    };
    const std::vector<fuzz::tensor_memory> got = outputs(), expected = outputs();
    const auto call = [&](const std::vector<fuzz::tensor_memory> &to, auto &&compute) {
        const qdq_tensor c_x = of_x.view(), c_scale = to[0].view(), c_y = to[1].view();
        const qdq_tensor shift = zero_point != nullptr ? to[2].view() : qdq_tensor{};
        compute(c_x, c_scale, zero_point != nullptr ? &shift : nullptr, c_y);
    };
    call(got, [&](const qdq_tensor &c_x, const qdq_tensor &s, const qdq_tensor *z, const qdq_tensor &c_y) {
        require(qdq_quantize_dynamic(&c_x, &s, z, &c_y, &how, &options) == QDQ_OK,
                "a dynamic call is refused whose plan is made");
    });
    call(expected, [&](const qdq_tensor &c_x, const qdq_tensor &s, const qdq_tensor *z, const qdq_tensor &c_y) {
        reference::compute_scales(c_x, c_y.dtype, s, z, &how, &options);
        if (c_y.rank == 0 || *std::min_element(c_y.shape, c_y.shape + c_y.rank) > 0) {
            reference::quantize(c_x, s, z, c_y, &options);
        }
    });
    require(got == expected, "a dynamic call does not give what the reference does");
}

// Rows in groups, by offsets of which some are right: a call is refused with a message, or writes y alone.
void check_grouped(choices &from, const dynamic_tensors &of, const qdq_options &options) {
    if (!of.x->is_small() || !of.scale->is_small() || !of.y->is_small() ||
        (of.zero_point != nullptr && !of.zero_point->is_small())) {
        return;
    }
    const fuzz::tensor_memory x = of.x->memory(1), scale = of.scale->memory(2), y = of.y->memory(3);
    const fuzz::tensor_memory zero_point = (of.zero_point != nullptr ? of.zero_point : of.scale)->memory(4);
    const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_y = y.view(), c_zero_point = zero_point.view();
    const qdq_tensor *const shift = of.zero_point != nullptr ? &c_zero_point : nullptr;
    const int64_t rows = c_x.rank > 0 ? c_x.shape[0] : 3;
    const int64_t wanted = c_scale.rank > 0 && !from.chance(8) ? std::min<int64_t>(c_scale.shape[0], 40) : 2;
    std::vector<int64_t> offsets = {from.chance(20) ? any_number(from) : 0};
    for (int64_t more = wanted - 1; more > 0; more--) {
        offsets.push_back(from.chance(20) ? any_number(from)
                                          : std::min(std::min(offsets.back(), rows) + from.between(0, 3), rows));
    }
    offsets.push_back(from.chance(8) ? any_number(from) : rows);
    const auto groups = static_cast<int64_t>(offsets.size()) - 1;
    const qdq_scale_options how = any_rule(from);
    const fuzz::tensor_memory x_before = x, scale_before = scale;
    if (qdq_quantize_grouped(&c_x, offsets.data(), groups, &c_scale, shift, &c_y, &options) != QDQ_OK) {
        require_message();
    }
    require(x == x_before && scale == scale_before, "a call of groups writes what it reads");
    if (qdq_quantize_dynamic_grouped(&c_x, offsets.data(), groups, &c_scale, shift, &c_y, &how, &options) != QDQ_OK) {
        require_message();
    }
    require(x == x_before, "a dynamic call of groups writes x");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    test_support::byte_choices from(std::span(data, size));
    if (from.chance(30)) {
        call_others(from);
        return 0;
    }
    const auto way = from.chance(2) ? api_test::direction::quantize : api_test::direction::dequantize;
    descriptor x(from, nullptr), y(from, &x), scale(from, from.chance(3) ? &x : nullptr);
    if (!from.chance(20)) {  // types that may go together
        qdq_tensor &floats = way == api_test::direction::quantize ? x.tensor : y.tensor;
        floats.dtype = from.one_of<qdq_dtype>({QDQ_F32, QDQ_F16, QDQ_BF16});
        scale.tensor.dtype = from.one_of<qdq_dtype>({QDQ_F32, QDQ_F16, QDQ_BF16, QDQ_E8M0, QDQ_F8E4M3});
    }
    // Zero points of float formats are looked at while a call is checked: they have memory, or there are none.
    descriptor zero_point(from, from.chance(2) ? &scale : nullptr);
    std::optional<fuzz::tensor_memory> zero_memory;
    const auto zero_seed = static_cast<uint64_t>(from.between(0, 3));
    if (from.chance(2) && zero_point.is_small()) {
        zero_memory.emplace(zero_point.memory(zero_seed));
        zero_point.tensor.data = zero_memory->view().data;
    }
    odd_options odd(from, x.tensor.rank);
    call_blocks(x.tensor, y.tensor);

    if (way == api_test::direction::quantize && from.chance(3)) {
        const dynamic_tensors given{&x, &scale, zero_memory ? &zero_point : nullptr, &y};
        if (from.chance(3)) {
            check_grouped(from, given, odd.options);
            return 0;
        }
        const qdq_scale_options how = any_rule(from);
        check_dynamic(given, how, odd.options);
        return 0;
    }
    odd.draw_storage(from);
    api_test::arguments call{way,           &x.tensor,
                             &scale.tensor, zero_memory ? &zero_point.tensor : nullptr,
                             &y.tensor,     from.chance(8) ? nullptr : &odd.options};
    for (const qdq_tensor **operand : {&call.x, &call.scale, &call.y}) {
        if (from.chance(200)) {
            *operand = nullptr;
        }
    }
    qdq_plan plan;
    if (api_test::prepare(from.chance(200) ? nullptr : &plan, call) != QDQ_OK) {
        require_message();
        require(call.x == nullptr || call.scale == nullptr || call.y == nullptr ||
                    api_test::prepare(&plan, call) == QDQ_OK || api_test::call(call) != QDQ_OK,
                "a call succeeds whose plan is refused");
        return 0;
    }
    if (!x.is_small() || !y.is_small() || !scale.is_small()) {
        return 0;
    }
    const qdq_options defaults{};
    const bool is_dense = call.options && call.options->packing == QDQ_DENSE,
               quantizes = way == api_test::direction::quantize;
    const fuzz::tensor_memory x_memory = x.memory(1, is_dense && !quantizes),
                              y_memory = y.memory(3, is_dense && quantizes);
    const bool is_arranged = call.options && call.options->scale_is_arranged != 0;
    const fuzz::tensor_memory by_strides = scale.memory(2);
    const fuzz::tensor_memory scale_memory =
        is_arranged ? arranged(by_strides, call.options->scale_layout) : by_strides;
    fuzz::check_call({way, x_memory, scale_memory, zero_memory ? &*zero_memory : nullptr, y_memory,
                      call.options ? *call.options : defaults},
                     from);
    return 0;
}
