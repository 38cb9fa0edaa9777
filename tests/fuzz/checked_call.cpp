#include "checked_call.h"

#include "reference/formats.h"
#include "support/fenced_memory.h"
#include "support/targets.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace fuzz {

namespace {

using test_support::choices;
using test_support::fenced_memory;
using test_support::flush;

constexpr int64_t most_misaligned = 63;

// A copy of a tensor's memory beside a guard page, where an access one byte beyond it is a crash, or some bytes away
// from it, at an address that suits no type.
class fenced_tensor {
public:
    fenced_tensor(const tensor_memory &of, choices &from)
        : tensor_(of.view()),
          memory_(static_cast<int64_t>(of.occupied().size()) + most_misaligned),
          bytes_(of.occupied().size()) {
        const flush side = from.chance(2) ? flush::leading : flush::trailing;
        const int64_t gap = from.chance(4) ? from.between(1, most_misaligned) : 0;
        place_ = static_cast<std::byte *>(memory_.place(static_cast<int64_t>(bytes_), side, gap));
        std::memcpy(place_, of.occupied().data(), bytes_);
        tensor_.data = place_ + of.first_byte();
    }

    const qdq_tensor &view() const { return tensor_; }
    void forbid_writing() { memory_.forbid_writing(); }

    bool equals(const tensor_memory &expected) const {
        return std::memcmp(place_, expected.occupied().data(), bytes_) == 0 && memory_.surroundings_intact();
    }

    void fill_with(const tensor_memory &values) { std::memcpy(place_, values.occupied().data(), bytes_); }

private:
    qdq_tensor tensor_;
    fenced_memory memory_;
    const size_t bytes_;
    std::byte *place_ = nullptr;
};

std::vector<std::string> usable_targets() {
    std::vector<std::string> names;
    for (const std::string &name : test_support::host_targets()) {
        if (test_support::usable(name)) {
            names.push_back(name);
        }
    }
    return names;
}

void run(const api_test::arguments &given, bool by_plan) {
    if (!by_plan) {
        require(api_test::call(given) == QDQ_OK, "a valid call fails");
        return;
    }
    qdq_tensor x = *given.x, y = *given.y;
    x.data = y.data = nullptr;
    api_test::arguments layout = given;
    layout.x = &x;
    layout.y = &y;
    qdq_plan plan;
    require(api_test::prepare(&plan, layout) == QDQ_OK, "a valid plan fails");
    require(qdq_run(&plan, given.x->data, given.y->data, nullptr) == QDQ_OK, "a valid plan does not run");
}

// y in the place of x, which has its layout.
bool may_be_in_place(const operands &given) {
    const qdq_tensor x = given.x.view(), y = given.y.view();
    if (reference::bits_of(x.dtype) != reference::bits_of(y.dtype) ||
        (x.strides == nullptr) != (y.strides == nullptr)) {
        return false;
    }
    return x.strides == nullptr || std::equal(x.strides, x.strides + x.rank, y.strides);
}

}  // namespace

void require(bool holds, const char *what) {
    if (!holds) {
        std::fprintf(stderr, "%s; the last error: %s\n", what, qdq_last_error());
        std::abort();
    }
}

void check_call(const operands &given, choices &from) {
    static const std::vector<std::string> targets = usable_targets();
    const bool in_place = may_be_in_place(given) && from.chance(2);
    fenced_tensor x(given.x, from), scale(given.scale, from), own_y(given.y, from);
    std::optional<fenced_tensor> zero_point;
    if (given.zero_point != nullptr) {
        zero_point.emplace(*given.zero_point, from).forbid_writing();
    }
    scale.forbid_writing();
    if (!in_place) {
        x.forbid_writing();
    }
    fenced_tensor &y = in_place ? x : own_y;
    const tensor_memory &before = in_place ? given.x : given.y;
    qdq_tensor y_view = given.y.view();
    y_view.data = y.view().data;

    tensor_memory expected = before;
    qdq_tensor expected_view = y_view;
    expected_view.data = expected.view().data;
    api_test::arguments call{given.way,      &x.view(),     &scale.view(), zero_point ? &zero_point->view() : nullptr,
                             &expected_view, &given.options};
    api_test::call_reference(call);

    call.y = &y_view;
    for (int turn = 0; turn < 2; turn++) {
        const std::string &target = from.one_of(targets);
        require(qdq_force_target(target.c_str()) == QDQ_OK, "a usable target cannot be forced");
        qdq_set_num_threads(static_cast<int32_t>(from.between(1, 3)));
        run(call, from.chance(2));
        require(y.equals(expected), ("the result differs from the oracle's on " + target).c_str());
        y.fill_with(before);
    }
}

}  // namespace fuzz
