#include "drawn_transcoding.h"

namespace api_test {

namespace {

// A call's operands; no zero point is NULL.
class operand_views {
public:
    explicit operand_views(const drawn_call &call)
        : scale(call.scale->view()),
          zero_point(call.zero_point ? call.zero_point->view() : qdq_tensor{}),
          has_zero_point(call.zero_point.has_value()) {}
    const qdq_tensor *shift() const { return has_zero_point ? &zero_point : nullptr; }

    const qdq_tensor scale;

private:
    const qdq_tensor zero_point;
    const bool has_zero_point;
};

void call_oracle(const drawn_call &call, const qdq_tensor &x, const qdq_tensor &y) {
    const operand_views operands(call);
    call_reference({call.way, &x, &operands.scale, operands.shift(), &y, &call.options});
}

}  // namespace

tensor_memory expected_codes(const drawn_call &from, const drawn_call &to) {
    const tensor_memory values(QDQ_F32, to.shape);
    tensor_memory expected = *to.y;
    call_oracle(from, from.x->view(), values.view());
    call_oracle(to, values.view(), expected.view());
    return expected;
}

qdq_status transcode(const drawn_call &from, const drawn_call &to, const tensor_memory &y) {
    const operand_views of_x(from), of_y(to);
    const qdq_tensor c_x = from.x->view(), c_y = y.view();
    return qdq_transcode(&c_x, &of_x.scale, of_x.shift(), &from.options, &c_y, &of_y.scale, of_y.shift(), &to.options);
}

}  // namespace api_test
