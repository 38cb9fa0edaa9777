#include "tensors/scale_method.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace qdq::model {

namespace {

constexpr std::pair<std::string_view, qdq_scale_rule> rules[] = {
    {"absmax", QDQ_SCALE_ABSMAX},           {"minmax", QDQ_SCALE_MINMAX},
    {"power-floor", QDQ_SCALE_POWER_FLOOR}, {"power-ceil", QDQ_SCALE_POWER_CEIL},
    {"power-even", QDQ_SCALE_POWER_EVEN},   {"power-round-up", QDQ_SCALE_POWER_ROUND_UP},
};

}  // namespace

bool use_rule(scale_method &method, std::string_view name) {
    const auto *found = std::ranges::find(rules, name, &std::pair<std::string_view, qdq_scale_rule>::first);
    if (found == std::end(rules)) {
        return false;
    }
    method.rule = found->second;
    method.asymmetric = method.asymmetric || found->second == QDQ_SCALE_MINMAX;
    return true;
}

std::string_view scale_rule_name(qdq_scale_rule rule) {
    return std::ranges::find(rules, rule, &std::pair<std::string_view, qdq_scale_rule>::second)->first;
}

std::vector<std::string> scale_rule_names() {
    std::vector<std::string> names;
    for (const auto &[name, rule] : rules) {
        names.emplace_back(name);
    }
    return names;
}

bool is_power_of_two(qdq_scale_rule rule) { return rule != QDQ_SCALE_ABSMAX && rule != QDQ_SCALE_MINMAX; }

}  // namespace qdq::model
