// An object of static storage duration that makes a call, split over threads, in its constructor and in its destructor.
#pragma once

#include <qdq/qdq.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace concurrency_test {

inline bool a_split_call_is_right() {
    const int64_t elements = int64_t{1} << 20, still = 0;
    float x = 3, step = 0.5f;
    std::vector<int8_t> codes(static_cast<size_t>(elements));
    const qdq_tensor c_x{&x, QDQ_F32, 1, &elements, &still}, c_scale{&step, QDQ_F32, 0, nullptr, nullptr};
    const qdq_tensor c_y{codes.data(), QDQ_I8, 1, &elements, nullptr};
    qdq_set_num_threads(4);
    return qdq_quantize(&c_x, &c_scale, nullptr, &c_y, nullptr) == QDQ_OK &&
           codes == std::vector<int8_t>(codes.size(), 6);
}

class calls_at_both_ends {
public:
    using observer = void (*)(bool was_right);

    calls_at_both_ends(observer constructed, observer destroyed) : destroyed(destroyed) {
        constructed(a_split_call_is_right());
    }
    ~calls_at_both_ends() { destroyed(a_split_call_is_right()); }
    calls_at_both_ends(const calls_at_both_ends &) = delete;

private:
    observer destroyed;
};

}  // namespace concurrency_test
