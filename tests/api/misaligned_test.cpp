// Data at any address: elements of 2 and 4 bytes need not begin at multiples of their size.
#include "call.h"

#include "conformance/supported.h"
#include "support/targets.h"

#include <algorithm>

namespace api_test {
namespace {

class Misaligned : public Api {};

// A copy of a tensor, so many bytes past an address that is aligned for every type.
class moved_tensor {
public:
    moved_tensor(const tensor_memory &from, int64_t by) : view_(from.view()) {
        const std::vector<std::byte> &bytes = from.bytes();
        units_.resize(bytes.size() / sizeof(unit) + 2);
        std::byte *const to = reinterpret_cast<std::byte *>(units_.data()) + by;
        std::copy(bytes.begin(), bytes.end(), to);
        view_.data = to + (static_cast<std::byte *>(view_.data) - bytes.data());
    }

    // Valid while the tensor that was copied and this object live.
    const qdq_tensor &view() const { return view_; }

private:
    struct alignas(64) unit {
        std::byte bytes[64];
    };
    std::vector<unit> units_;
    qdq_tensor view_;
};

bool same_elements(const qdq_tensor &a, const qdq_tensor &b) {
    bool same = true;
    reference::for_each_index(
        a, [&](const int64_t *at) { same &= reference::load_code(a, at) == reference::load_code(b, at); });
    return same;
}

using supported::float_types, supported::stored_types, supported::scale_types, supported::zero_point_types;

void expect_aligned_result(direction way, const tensor_memory &x, const tensor_memory &scale,
                           const tensor_memory *zero_point, const tensor_memory &y) {
    const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_y = y.view();
    const qdq_tensor c_zero_point = zero_point != nullptr ? zero_point->view() : qdq_tensor{};
    const qdq_tensor *zero_point_or_null = zero_point != nullptr ? &c_zero_point : nullptr;
    const tensor_memory untouched = y;
    call_reference({way, &c_x, &c_scale, zero_point_or_null, &c_y, nullptr});
    for (int64_t by : {1, 2, 3}) {
        SCOPED_TRACE(name_of(way) + " " + reference::name_of(c_x.dtype) + " to " + reference::name_of(c_y.dtype) +
                     ", scale " + reference::name_of(c_scale.dtype) + ", " + std::to_string(by) + " bytes off");
        const moved_tensor x_off(x, by), scale_off(scale, by), y_off(untouched, 4 - by);
        const moved_tensor zero_point_off(zero_point != nullptr ? *zero_point : scale, by);
        ASSERT_EQ(call({way, &x_off.view(), &scale_off.view(), zero_point != nullptr ? &zero_point_off.view() : nullptr,
                        &y_off.view(), nullptr}),
                  QDQ_OK)
            << qdq_last_error();
        EXPECT_TRUE(same_elements(c_y, y_off.view()));
    }
}

// Dense, transposed and with gaps on either side, whole tiles and parts of one.
TEST_F(Misaligned, x_and_y_of_every_type_in_every_layout) {
    test_support::for_each_target([](const std::string &) {
        for (const dimensions &shape : {dimensions{64, 64}, {3, 37}}) {
            const dimensions dense{}, transposed{1, shape[0]}, gaps{3 * shape[1], 3};
            for (const tensor_memory &scale : {scales({}), scales({shape[0], 1}), scales({1, shape[1]})}) {
                for (qdq_dtype real : float_types) {
                    for (qdq_dtype codes : stored_types) {
                        for (const dimensions &layout : {dense, transposed, gaps}) {
                            const dimensions of_codes = reference::is_packed(codes) ? dense : layout;
                            expect_aligned_result(direction::quantize, floats(real, shape, layout), scale, nullptr,
                                                  tensor_memory(codes, shape, dense));
                            expect_aligned_result(direction::quantize, floats(real, shape, dense), scale, nullptr,
                                                  tensor_memory(codes, shape, of_codes));
                            expect_aligned_result(direction::dequantize, stored(codes, shape, of_codes), scale, nullptr,
                                                  tensor_memory(real, shape, dense));
                            expect_aligned_result(direction::dequantize, stored(codes, shape, dense), scale, nullptr,
                                                  tensor_memory(real, shape, layout));
                        }
                    }
                }
            }
        }
    });
}

TEST_F(Misaligned, scales_and_zero_points_of_every_type) {
    const dimensions shape{3, 37};
    for (const dimensions &spread : {dimensions{}, {3, 1}, {1, 37}, {3, 37}}) {
        for (qdq_dtype scale_type : scale_types) {
            tensor_memory scale(scale_type, spread);
            const uint32_t above_0 = scale_type == QDQ_F32                  ? 0x3f000000
                                     : reference::bits_of(scale_type) == 16 ? 0x3800
                                                                            : 0x30;
            scale.fill([&](int64_t i) { return above_0 + static_cast<uint32_t>(i); });
            for (qdq_dtype zero_point_type : zero_point_types) {
                const bool integer = reference::is_integer(zero_point_type);
                const tensor_memory zero_point =
                    integer ? zero_points(zero_point_type, spread) : floats(zero_point_type, spread);
                expect_aligned_result(direction::quantize, floats(QDQ_F32, shape), scale, &zero_point,
                                      tensor_memory(QDQ_I8, shape));
                expect_aligned_result(direction::dequantize, stored(QDQ_I8, shape), scale, &zero_point,
                                      tensor_memory(QDQ_F32, shape));
            }
        }
    }
}

TEST_F(Misaligned, results_too_large_for_the_caches) {
    const dimensions shape{2049, 2051};
    const tensor_memory scale = scales({2049, 1});
    test_support::for_each_target([&](const std::string &) {
        expect_aligned_result(direction::quantize, floats(QDQ_F32, shape), scale, nullptr,
                              tensor_memory(QDQ_I16, shape));
        expect_aligned_result(direction::dequantize, stored(QDQ_I16, shape), scale, nullptr,
                              tensor_memory(QDQ_F32, shape));
    });
}

}  // namespace
}  // namespace api_test
