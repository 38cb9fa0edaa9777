// A drawn call of quantize made dynamic: a rule, and the types of its outputs, are drawn besides.
#pragma once

#include "drawn_call.h"

#include "reference/scales.h"

#include <optional>
#include <string>

namespace api_test {

class dynamic_call {
public:
    dynamic_call(const drawn_call &drawn, test_support::choices &from);
    // Another of the same x.
    dynamic_call(const dynamic_call &other, const drawn_call &drawn, test_support::choices &from);

    const drawn_call &drawn;
    qdq_scale_options how{};  // whose global_scale is of each run's own
    float global = 1;         // where it is given
    bool diagnoses = false;
    qdq_options options{};
    std::optional<tensor_memory> x, scale, zero_point;

    std::string description() const;

private:
    tensor_memory like_scale(qdq_dtype type) const;
    void draw_rule(test_support::choices &from);
    void draw_candidates(test_support::choices &from);
    void draw_global(test_support::choices &from);
    void draw_x(test_support::choices &from);
};

// What such a call writes.
struct dynamic_outputs {
    tensor_memory scale, y;
    std::optional<tensor_memory> zero_point;
    float global;
    qdq_diagnostics diagnostics{};

    explicit dynamic_outputs(const dynamic_call &call)
        : scale(*call.scale),
          y(*call.drawn.y),
          zero_point(call.zero_point),
          global(call.global),
          how_(call.how),
          diagnoses_(call.diagnoses) {}

    // How they are computed, with places for the global scale and for diagnostics.
    qdq_scale_options how() {
        qdq_scale_options own = how_;
        own.diagnostics = diagnoses_ ? &diagnostics : nullptr;
        own.global_scale = own.global_sense == QDQ_GLOBAL_NONE ? nullptr : &global;
        return own;
    }

    // Calls run(scale, zero point or NULL, y) with views of them.
    template<typename Run> void with_views(Run &&run) const {
        const qdq_tensor of_scale = scale.view(), of_y = y.view();
        qdq_tensor of_zero_point{};
        if (zero_point) {
            of_zero_point = zero_point->view();
        }
        run(of_scale, zero_point ? &of_zero_point : nullptr, of_y);
    }

private:
    qdq_scale_options how_;
    bool diagnoses_;
};

bool same_diagnostics(const qdq_diagnostics &a, const qdq_diagnostics &b);

// The oracle's.
dynamic_outputs expected_outputs(const dynamic_call &call);

// Two outputs of one x at once, as C has them; `run` is called with views of both.
template<typename Run>
void with_pair(const dynamic_call &first, dynamic_outputs &to_first, const dynamic_call &second,
               dynamic_outputs &to_second, Run &&run) {
    const qdq_scale_options how = to_first.how(), other_how = to_second.how();
    to_first.with_views([&](const qdq_tensor &scale, const qdq_tensor *zero_point, const qdq_tensor &y) {
        to_second.with_views(
            [&](const qdq_tensor &other_scale, const qdq_tensor *other_zero_point, const qdq_tensor &other_y) {
                run(first.x->view(), qdq_dynamic_output{&scale, zero_point, &y, &how, &first.options},
                    qdq_dynamic_output{&other_scale, other_zero_point, &other_y, &other_how, &second.options});
            });
    });
}

}  // namespace api_test
