#include "dynamic.h"

#include "check_calls.h"
#include "conformance/formulas.h"
#include "conformance/supported.h"
#include "reference/describe.h"
#include "reference/formats.h"
#include "reference/quantize.h"

#include <cstring>
#include <iterator>

namespace conformance {

namespace {

constexpr int64_t rows = 1 << 16, columns = 4;

constexpr qdq_scale_rule rules[] = {QDQ_SCALE_ABSMAX,     QDQ_SCALE_MINMAX,     QDQ_SCALE_POWER_FLOOR,
                                    QDQ_SCALE_POWER_CEIL, QDQ_SCALE_POWER_EVEN, QDQ_SCALE_POWER_ROUND_UP};
constexpr const char *rule_names[] = {"absmax", "minmax", "power_floor", "power_ceil", "power_even", "power_round_up"};

struct dynamic_scenario {
    std::string name;
    qdq_dtype scale;
    float clip_ratio = 0, least_scale = 0;
    bool has_narrow_range = false;  // of codes: from the lowest + 1 to floor(the highest / 2)
};

bool is_power(qdq_scale_rule rule) { return rule != QDQ_SCALE_ABSMAX && rule != QDQ_SCALE_MINMAX; }

std::vector<dynamic_scenario> scenarios_of(const dynamic_rule &r) {
    const std::vector<qdq_dtype> types = is_power(r.rule) ? std::vector{QDQ_E8M0, QDQ_F32, QDQ_BF16}
                                                          : std::vector{QDQ_F32, QDQ_F16, QDQ_BF16, QDQ_F8E4M3};
    std::vector<dynamic_scenario> all;
    for (const qdq_dtype type : types) {
        all.push_back({std::string("scales of ") + reference::name_of(type), type});
    }
    all.push_back({"clipped", types[0], 0.75f, is_power(r.rule) ? 0 : 0x1p-20f});
    if (reference::is_integer(r.codes) && reference::bits_of(r.codes) > 2) {
        all.push_back({"narrow range", types[0], 0, 0, true});
    }
    return all;
}

// The largest magnitude of a row, with its sign.
uint32_t first_of(qdq_dtype x, int64_t row) {
    constexpr int64_t listed = 2 * std::ssize(special_x);
    if (x != QDQ_F32) {
        return static_cast<uint32_t>(row);
    }
    return row < listed ? special_x[row / 2] | (row % 2 == 0 ? 0 : 0x80000000)
                        : static_cast<uint32_t>(mixed(static_cast<uint64_t>(row)) >> 32);
}

// Magnitudes of floats are ordered as their bits.
uint32_t element(qdq_dtype x, int64_t row, int64_t column) {
    const uint32_t first = first_of(x, row), sign = x == QDQ_F32 ? 0x80000000 : 0x8000;
    if (column == 0) {
        return first;
    }
    const uint64_t drawn = mixed(static_cast<uint64_t>(row * columns + column));
    const uint64_t magnitude = (first & (sign - 1)) * (drawn & 0xff) / 256;
    return static_cast<uint32_t>(magnitude) | (drawn >> 63 ? sign : 0);
}

struct outputs {
    storage scale, zero_point, y;
};

class dynamic_call {
public:
    dynamic_call(const dynamic_rule &r, const dynamic_scenario &s, const storage &x) : rule_(r), scenario_(s), x_(x) {
        how_.rule = r.rule;
        how_.clip_ratio = s.clip_ratio;
        how_.least_scale = s.least_scale;
        if (s.has_narrow_range) {
            const reference::integer_range all = reference::saturation_range(r.codes, {});
            options_.quant_min = static_cast<int32_t>(all.lowest + 1);
            options_.quant_max = static_cast<int32_t>(all.highest / 2);
        }
    }

    const std::string &name() const { return scenario_.name; }

    static int64_t results(const outputs &of) { return of.y.elements(); }

    outputs empty() const {
        const dimensions of_scale = {rows, 1};
        return {{scenario_.scale, of_scale, {}, 0xa5},
                {type_of_zero_points(), of_scale, {}, 0xa5},
                {rule_.codes, {rows, columns}, {}, 0xa5}};
    }

    qdq_status run(const library &by, const outputs &to) const {
        const qdq_tensor x = x_.tensor(), scale = to.scale.tensor(), zero_point = to.zero_point.tensor(),
                         y = to.y.tensor();
        return by.quantize_dynamic(&x, &scale, has_zero_point() ? &zero_point : nullptr, &y, &how_, &options_);
    }

    // The first result that is not the other's; empty where there is none.
    std::string difference(const outputs &got, const outputs &expected) const {
        for (int64_t row = 0; row < rows; ++row) {
            std::string text = different(got.scale, expected.scale, scenario_.scale, row);
            if (!text.empty()) {
                return "row " + std::to_string(row) + ", " + inputs(row) + ": scale: " + text;
            }
            text = has_zero_point() ? different(got.zero_point, expected.zero_point, type_of_zero_points(), row) : "";
            if (!text.empty()) {
                return "row " + std::to_string(row) + ", " + inputs(row) + ": zero point: " + text;
            }
        }
        for (int64_t i = 0; i < rows * columns; ++i) {
            const std::string text = different(got.y, expected.y, rule_.codes, i);
            if (!text.empty()) {
                return "element " + std::to_string(i) + " of " + inputs(i / columns) + ": " + text;
            }
        }
        return "";
    }

    uint64_t digest(const outputs &of) const {
        std::vector<uint64_t> digests = {digest_of(of.scale.bytes(), of.scale.size())};
        if (has_zero_point()) {
            digests.push_back(digest_of(of.zero_point.bytes(), of.zero_point.size()));
        }
        digests.push_back(digest_of(of.y.bytes(), of.y.size()));
        return combined(digests);
    }

private:
    bool has_zero_point() const { return rule_.rule == QDQ_SCALE_MINMAX; }

    // That of the codes, or the one of a byte that has them.
    qdq_dtype type_of_zero_points() const {
        if (!has_zero_point()) {
            return QDQ_I8;
        }
        const bool is_unsigned = reference::saturation_range(rule_.codes, {}).lowest == 0;
        return reference::bits_of(rule_.codes) >= 8 ? rule_.codes : is_unsigned ? QDQ_U8 : QDQ_I8;
    }

    std::string inputs(int64_t row) const {
        std::string text = "x";
        for (int64_t column = 0; column < columns; ++column) {
            text += " " + reference::describe_code(rule_.x, x_.code(row * columns + column));
        }
        return text;
    }

    static std::string different(const storage &got, const storage &expected, qdq_dtype type, int64_t i) {
        return got.code(i) == expected.code(i) ? ""
                                               : "expected " + reference::describe_code(type, expected.code(i)) +
                                                     ", got " + reference::describe_code(type, got.code(i));
    }

    const dynamic_rule &rule_;
    const dynamic_scenario &scenario_;
    const storage &x_;
    qdq_scale_options how_{};
    qdq_options options_{};
};

// Calls visit(calls) with those of a rule.
template<typename Visit> finding with_calls(const dynamic_rule &r, Visit visit) {
    const storage x = dynamic_elements(r.x, {rows, columns});
    const std::vector<dynamic_scenario> scenarios = scenarios_of(r);
    std::vector<dynamic_call> calls;
    for (const dynamic_scenario &s : scenarios) {
        calls.emplace_back(r, s, x);
    }
    return visit(calls);
}

size_t first_turn(const dynamic_rule &r) { return static_cast<size_t>(r.codes); }

}  // namespace

storage dynamic_elements(qdq_dtype x, const dimensions &shape) {
    storage all(x, shape);
    for (int64_t i = 0; i < all.elements(); ++i) {
        all.set_code(i, element(x, i / columns, i % columns));
    }
    return all;
}

std::vector<dynamic_rule> dynamic_rules() {
    std::vector<dynamic_rule> all;
    for (const qdq_dtype x : supported::float_types) {
        for (const qdq_dtype codes : supported::stored_types) {
            for (const qdq_scale_rule rule : rules) {
                const bool fits = rule != QDQ_SCALE_MINMAX || reference::is_integer(codes);
                if (fits && supported::has_row(true, x, codes)) {
                    all.push_back({x, codes, rule});
                }
            }
        }
    }
    return all;
}

std::string name_of(const dynamic_rule &r) {
    return std::string("quantize_dynamic_") + reference::name_of(r.x) + "_" + reference::name_of(r.codes) + "_" +
           rule_names[r.rule];
}

finding run(const dynamic_rule &r, const library &of, hostile_environments taken) {
    return with_calls(r, [&](const auto &calls) { return run_calls(calls, of, taken, first_turn(r)); });
}

finding check(const dynamic_rule &r, uint64_t published, const library &of, hostile_environments taken) {
    return with_calls(r, [&](const auto &calls) { return check_calls(calls, published, of, taken, first_turn(r)); });
}

}  // namespace conformance
