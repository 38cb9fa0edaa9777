#include "other_calls.h"

#include "block_formats.h"
#include "check_calls.h"
#include "conformance/dynamic.h"
#include "conformance/formulas.h"
#include "conformance/supported.h"
#include "reference/blocks.h"
#include "reference/describe.h"
#include "reference/formats.h"

#include <bit>
#include <iterator>
#include <memory>
#include <utility>

namespace conformance {

namespace {

constexpr uint32_t tenth = 0x3dcccccd, ten = 0x41200000;
constexpr uint64_t seed = 0x0123456789abcdef, far_offset = (1ull << 33) + 5;  // of random bits

using outputs = std::vector<call_output>;
using input = std::shared_ptr<const storage>;

input shared(storage values) { return std::make_shared<const storage>(std::move(values)); }

// The tensors of outputs, by their names.
class written_tensors {
public:
    explicit written_tensors(const outputs &all) : all_(all) {
        for (const call_output &each : all) {
            tensors_.push_back(each.values.tensor());
        }
    }

    // NULL where there is none.
    const qdq_tensor *find(const std::string &name) const {
        for (size_t i = 0; i < all_.size(); ++i) {
            if (all_[i].name == name) {
                return &tensors_[i];
            }
        }
        return nullptr;
    }

private:
    const outputs &all_;
    std::vector<qdq_tensor> tensors_;
};

call_output output(std::string name, qdq_dtype type, const dimensions &shape) {
    return {std::move(name), {type, shape, {}, 0xa5}};
}

// Rounding by chance: calls as kernels have them.
std::vector<call_scenario> stochastic_scenarios(qdq_dtype real, qdq_dtype stored) {
    using enum zero_point_rule;
    const struct {
        form along;
        bool is_of_integers;
        scenario how;
    } all[] = {
        {form::row, false, {"divide", tenth}},
        {form::column, false, {"multiply", ten, {.scale_mode = QDQ_MULTIPLY, .random_offset = far_offset}}},
        {form::block, false, {"blocks", tenth}},
        {form::row, true, {"zero points", tenth, {}, small}},
        {form::column, true, {"zero points before rounding", tenth, {.quantize_zp = QDQ_ZP_BEFORE_ROUNDING}, halves}}};
    std::vector<call_scenario> scenarios;
    for (const auto &[along, is_of_integers, how] : all) {
        if (is_of_integers && !reference::is_integer(stored)) {
            continue;
        }
        auto call = std::make_shared<prepared_call>(prepare({true, real, stored, along}, how));
        call->options.rounding = QDQ_STOCHASTIC;
        call->options.random_seed = seed;
        scenarios.push_back({how.name, {{"y", call->output()}}, [call](const library &by, const outputs &to) {
                                 return call->run(by, to[0].values);
                             }});
    }
    return scenarios;
}

// Of dynamic calls of 512 rows of 512 elements.
constexpr int64_t side = 512, blocks_of_side = side / 32;

struct dynamic_granularity {
    std::string name;
    qdq_scale_rule rule;
    qdq_dtype scale;
    dimensions shape;  // of scales
    dimensions other_shape;
};

// Adds what a dynamic call writes.
void add_outputs(outputs &to, const std::string &which, const dynamic_granularity &of, const dimensions &scale_shape,
                 qdq_dtype codes) {
    to.push_back(output(which + "scale", of.scale, scale_shape));
    if (of.rule == QDQ_SCALE_MINMAX) {
        to.push_back(output(which + "zero point", QDQ_I32, scale_shape));
    }
    to.push_back(output(which + "y", codes, {side, side}));
}

call_scenario dynamic_stochastic_scenario(const input &x, qdq_dtype codes, const dynamic_granularity &of,
                                          uint64_t offset) {
    outputs all;
    add_outputs(all, "", of, of.shape, codes);
    const qdq_scale_options how{.rule = of.rule};
    const qdq_options options{.rounding = QDQ_STOCHASTIC, .random_seed = seed, .random_offset = offset};
    return {of.name, std::move(all), [=](const library &by, const outputs &written) {
                const qdq_tensor from = x->tensor();
                const written_tensors to(written);
                return by.quantize_dynamic(&from, to.find("scale"), to.find("zero point"), to.find("y"), &how,
                                           &options);
            }};
}

std::vector<call_scenario> dynamic_stochastic_scenarios(qdq_dtype real, qdq_dtype stored) {
    const input x = shared(dynamic_elements(real, {side, side}));
    const dimensions of_blocks = {side, blocks_of_side};
    std::vector<call_scenario> all = {
        dynamic_stochastic_scenario(x, stored, {"rows", QDQ_SCALE_ABSMAX, QDQ_F32, {side, 1}, {}}, 0),
        dynamic_stochastic_scenario(x, stored, {"blocks", QDQ_SCALE_POWER_FLOOR, QDQ_E8M0, of_blocks, {}}, far_offset)};
    if (reference::is_integer(stored)) {
        all.push_back(
            dynamic_stochastic_scenario(x, stored, {"zero points", QDQ_SCALE_MINMAX, QDQ_F32, of_blocks, {}}, 0));
    }
    return all;
}

call_scenario pair_scenario(const input &x, qdq_dtype codes, const dynamic_granularity &of) {
    outputs all;
    add_outputs(all, "first ", of, of.shape, codes);
    add_outputs(all, "second ", of, of.other_shape, codes);
    const qdq_scale_options how{.rule = of.rule};
    return {of.name, std::move(all), [x, how](const library &by, const outputs &written) {
                const qdq_tensor from = x->tensor();
                const written_tensors to(written);
                const qdq_dynamic_output first{to.find("first scale"), to.find("first zero point"), to.find("first y"),
                                               &how, nullptr},
                    second{to.find("second scale"), to.find("second zero point"), to.find("second y"), &how, nullptr};
                return by.quantize_dynamic_pair(&from, &first, &second);
            }};
}

std::vector<call_scenario> pair_scenarios(qdq_dtype real, qdq_dtype stored) {
    const input x = shared(dynamic_elements(real, {side, side}));
    const dimensions along_rows = {side, blocks_of_side}, along_columns = {blocks_of_side, side};
    std::vector<call_scenario> all = {
        pair_scenario(x, stored, {"blocks", QDQ_SCALE_POWER_FLOOR, QDQ_E8M0, along_rows, along_columns}),
        pair_scenario(x, stored, {"rows and columns", QDQ_SCALE_ABSMAX, QDQ_F32, {side, 1}, {1, side}})};
    if (reference::is_integer(stored)) {
        all.push_back(pair_scenario(x, stored, {"zero points", QDQ_SCALE_MINMAX, QDQ_F32, along_rows, along_columns}));
    }
    return all;
}

// Of rows: none, one, three, five and so on, and the rest.
std::vector<int64_t> offsets_of(int64_t rows) {
    std::vector<int64_t> offsets{0};
    for (int64_t k = 0; k * k < rows; ++k) {
        offsets.push_back(k * k);
    }
    offsets.push_back(rows);
    return offsets;
}

// What has a scale of its own in a group.
enum class share { group, column, block };

constexpr int64_t columns_of_groups = 1024, block_of_groups = 32;

dimensions operands_of(share by, int64_t groups, int64_t columns) {
    switch (by) {
    case share::group: return {groups};
    case share::column: return {groups, columns};
    case share::block: return {groups, 1, columns / block_of_groups};
    }
    return {};
}

int64_t operand_of(share by, int64_t group, int64_t column) {
    switch (by) {
    case share::group: return group;
    case share::column: return group * columns_of_groups + column;
    case share::block: return (group * columns_of_groups + column) / block_of_groups;
    }
    return 0;
}

qdq_options options_of(share by) {
    qdq_options options{};
    options.axis = by == share::group ? 0 : 1;
    options.block_size = by == share::block ? block_of_groups : 0;
    return options;
}

// Scales of groups as kernels' have them, and elements made with these.
call_scenario grouped_scenario(bool quantizes, qdq_dtype from, qdq_dtype to, share by, const scenario &s) {
    const int64_t rows = from == QDQ_F32 || from == QDQ_I32 ? 257 : 65;
    const std::vector<int64_t> offsets = offsets_of(rows);
    const int64_t groups = std::ssize(offsets) - 1;
    const dimensions shape = {rows, columns_of_groups}, of_operands = operands_of(by, groups, columns_of_groups);
    storage scale(QDQ_F32, of_operands), zero_point(QDQ_I32, of_operands), x(from, shape);
    for (int64_t j = 0; j < scale.elements(); ++j) {
        scale.set_code(j, scale_bits(s, j));
        zero_point.set_code(j, zero_point_bits(s.zero_points, j));
    }
    for (int64_t g = 0; g < groups; ++g) {
        for (int64_t i = offsets[size_t(g)] * columns_of_groups; i < offsets[size_t(g) + 1] * columns_of_groups; ++i) {
            const uint32_t own = scale_bits(s, operand_of(by, g, i % columns_of_groups));
            x.set_code(i, element_code(from, std::bit_cast<float>(own), QDQ_DIVIDE, i));
        }
    }
    const input shared_x = shared(std::move(x)), shared_scale = shared(std::move(scale)),
                shared_zero_point = shared(std::move(zero_point));
    const bool shifts = s.zero_points != zero_point_rule::none;
    return {s.name, {output("y", to, shape)}, [=](const library &of, const outputs &results) {
                const qdq_tensor of_x = shared_x->tensor(), of_scale = shared_scale->tensor(),
                                 of_zero_point = shared_zero_point->tensor(), of_y = results[0].values.tensor();
                const qdq_options options = options_of(by);
                auto *const function = quantizes ? of.quantize_grouped : of.dequantize_grouped;
                return function(&of_x, offsets.data(), groups, &of_scale, shifts ? &of_zero_point : nullptr, &of_y,
                                &options);
            }};
}

std::vector<call_scenario> grouped_scenarios(bool quantizes, qdq_dtype real, qdq_dtype stored) {
    const qdq_dtype from = quantizes ? real : stored, to = quantizes ? stored : real;
    std::vector<call_scenario> all = {
        grouped_scenario(quantizes, from, to, share::group, {"a scale for each group", tenth}),
        grouped_scenario(quantizes, from, to, share::column, {"for each column", tenth}),
        grouped_scenario(quantizes, from, to, share::block, {"for each block", tenth})};
    if (reference::is_integer(stored)) {
        all.push_back(
            grouped_scenario(quantizes, from, to, share::group, {"zero points", tenth, {}, zero_point_rule::small}));
    }
    return all;
}

call_scenario dynamic_grouped_scenario(const input &x, qdq_dtype codes, share by, const dynamic_granularity &of) {
    const std::vector<int64_t> offsets = offsets_of(side);
    const qdq_scale_options how{.rule = of.rule};
    outputs all;
    add_outputs(all, "", of, of.shape, codes);
    return {of.name, std::move(all), [=](const library &function, const outputs &written) {
                const qdq_tensor from = x->tensor();
                const written_tensors to(written);
                const qdq_options options = options_of(by);
                return function.quantize_dynamic_grouped(&from, offsets.data(), std::ssize(offsets) - 1,
                                                         to.find("scale"), to.find("zero point"), to.find("y"), &how,
                                                         &options);
            }};
}

std::vector<call_scenario> dynamic_grouped_scenarios(qdq_dtype real, qdq_dtype stored) {
    const input x = shared(dynamic_elements(real, {side, side}));
    const auto scenario_of = [&](share by, const char *name, qdq_scale_rule rule, qdq_dtype scale) {
        const int64_t groups = std::ssize(offsets_of(side)) - 1;
        return dynamic_grouped_scenario(x, stored, by, {name, rule, scale, operands_of(by, groups, side), {}});
    };
    std::vector<call_scenario> all = {scenario_of(share::group, "a scale for each group", QDQ_SCALE_ABSMAX, QDQ_F32),
                                      scenario_of(share::block, "for each block", QDQ_SCALE_POWER_FLOOR, QDQ_E8M0)};
    if (reference::is_integer(stored)) {
        all.push_back(scenario_of(share::column, "zero points", QDQ_SCALE_MINMAX, QDQ_F32));
    }
    return all;
}

call_scenario to_blocks(const char *name, storage x, qdq_block_format format) {
    const input from = shared(std::move(x));
    const dimensions shape = {side, blocks_of_side * reference::bytes_of(format)};
    return {name, {output("y", QDQ_U8, shape)}, [=](const library &by, const outputs &to) {
                const qdq_tensor of_x = from->tensor(), of_y = to[0].values.tensor();
                return by.quantize_blocks(&of_x, &of_y, format);
            }};
}

std::vector<call_scenario> quantize_blocks_scenarios(qdq_dtype real, qdq_block_format format) {
    storage scattered(real, {side, side});
    for (int64_t i = 0; i < scattered.elements(); ++i) {
        scattered.set_code(i, element_code(real, 1, QDQ_DIVIDE, i));
    }
    return {to_blocks("of like magnitudes", dynamic_elements(real, {side, side}), format),
            to_blocks("of any", std::move(scattered), format)};
}

std::vector<call_scenario> dequantize_blocks_scenarios(qdq_dtype real, qdq_block_format format) {
    storage x(QDQ_U8, {side, blocks_of_side * reference::bytes_of(format)});
    for (int64_t i = 0; i < x.elements(); ++i) {
        x.set_code(i, mixed(static_cast<uint64_t>(i)) & 0xff);
    }
    const input from = shared(std::move(x));
    return {{"any bytes", {output("y", real, {side, side})}, [=](const library &by, const outputs &to) {
                 const qdq_tensor of_x = from->tensor(), of_y = to[0].values.tensor();
                 return by.dequantize_blocks(&of_x, &of_y, format);
             }}};
}

// A scenario, as the checks of all calls take it.
class scenario_call {
public:
    explicit scenario_call(call_scenario s) : scenario_(std::move(s)) {}

    const std::string &name() const { return scenario_.name; }
    static int64_t results(const outputs &of) { return of.back().values.elements(); }
    outputs empty() const { return scenario_.outputs; }
    qdq_status run(const library &by, const outputs &to) const { return scenario_.run(by, to); }

    // The first result that is not the other's; empty where there is none.
    static std::string difference(const outputs &got, const outputs &expected) {
        for (size_t o = 0; o < got.size(); ++o) {
            const storage &one = got[o].values, &other = expected[o].values;
            const qdq_dtype type = one.tensor().dtype;
            for (int64_t i = 0; i < one.elements(); ++i) {
                if (one.code(i) != other.code(i)) {
                    return got[o].name + ", element " + std::to_string(i) + ": expected " +
                           reference::describe_code(type, other.code(i)) + ", got " +
                           reference::describe_code(type, one.code(i));
                }
            }
        }
        return "";
    }

    static uint64_t digest(const outputs &all) {
        std::vector<uint64_t> digests;
        for (const call_output &each : all) {
            digests.push_back(digest_of(each.values.bytes(), each.values.size()));
        }
        return combined(digests);
    }

private:
    const call_scenario scenario_;
};

std::vector<scenario_call> calls_of(const other_call &c) {
    std::vector<scenario_call> calls;
    for (const call_scenario &s : c.scenarios()) {
        calls.emplace_back(s);
    }
    return calls;
}

size_t first_turn(const other_call &c) { return c.name.size(); }

}  // namespace

std::vector<other_call> other_calls() {
    std::vector<other_call> all;
    for (const qdq_dtype real : supported::float_types) {
        const std::string of_real = reference::name_of(real);
        for (const qdq_dtype stored : supported::stored_types) {
            const std::string of_stored = reference::name_of(stored), both = of_real + "_" + of_stored;
            if (supported::has_row(true, real, stored)) {
                all.push_back({"quantize_dynamic_pair_" + both, [=] { return pair_scenarios(real, stored); }});
                all.push_back({"quantize_grouped_" + both, [=] { return grouped_scenarios(true, real, stored); }});
                all.push_back(
                    {"quantize_dynamic_grouped_" + both, [=] { return dynamic_grouped_scenarios(real, stored); }});
            }
            if (supported::has_row(true, real, stored) && supported::has_row(true, QDQ_F32, stored)) {
                all.push_back({"quantize_" + both + "_stochastic", [=] { return stochastic_scenarios(real, stored); },
                               supported::on_devices(stored)});
                all.push_back({"quantize_dynamic_" + both + "_stochastic",
                               [=] { return dynamic_stochastic_scenarios(real, stored); }});
            }
            if (supported::has_row(false, stored, real)) {
                all.push_back({"dequantize_grouped_" + of_stored + "_" + of_real,
                               [=] { return grouped_scenarios(false, real, stored); }});
            }
        }
        for (int f = 0; f < static_cast<int>(std::size(qdq::kernels::block_formats)); ++f) {
            const auto format = static_cast<qdq_block_format>(f);
            const std::string name = qdq::kernels::block_formats[f].name;
            all.push_back(
                {"quantize_blocks_" + of_real + "_" + name, [=] { return quantize_blocks_scenarios(real, format); }});
            all.push_back({"dequantize_blocks_" + name + "_" + of_real,
                           [=] { return dequantize_blocks_scenarios(real, format); }});
        }
    }
    return all;
}

finding run(const other_call &c, const library &of, hostile_environments taken) {
    return run_calls(calls_of(c), of, taken, first_turn(c));
}

finding check(const other_call &c, uint64_t published, const library &of, hostile_environments taken) {
    return check_calls(calls_of(c), published, of, taken, first_turn(c));
}

}  // namespace conformance
