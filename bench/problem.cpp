#include "problem.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

namespace bench {

namespace {

// Memory that stays for the whole run, so that every contender of a row finds the same pages. Huge pages where the
// system gives them: page walks would be noise.
void *reserve(size_t bytes) {
    constexpr size_t huge_page = size_t{2} << 20;
    void *memory = std::aligned_alloc(huge_page, (bytes + huge_page - 1) / huge_page * huge_page);
    if (memory == nullptr) {
        std::fprintf(stderr, "no memory for %zu bytes\n", bytes);
        std::exit(1);
    }
    madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

uint32_t next_random() {
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state >> 32);
}

constexpr int8_t zero_point_value = 3;  // the same byte for u8

// In (-4, 4), away from subnormals, which some operations are slow on.
float random_float() {
    const float unit = static_cast<float>(next_random() >> 8) * 0x1p-24f;
    return (unit + 0x1p-10f) * (next_random() % 2 == 0 ? 4.0f : -4.0f);
}

uint16_t to_f16(float value) {  // truncated: any normal value will do
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    return static_cast<uint16_t>((bits >> 16 & 0x8000u) | (((bits >> 23 & 0xff) - 112) << 10) | (bits >> 13 & 0x3ffu));
}

void fill(void *data, qdq_dtype type, size_t bytes) {
    switch (type) {
    case QDQ_F32: std::generate_n(static_cast<float *>(data), bytes / 4, random_float); break;
    case QDQ_F16:
        std::generate_n(static_cast<uint16_t *>(data), bytes / 2, [] { return to_f16(random_float()); });
        break;
    case QDQ_BF16:
        std::generate_n(static_cast<uint16_t *>(data), bytes / 2,
                        [] { return static_cast<uint16_t>(std::bit_cast<uint32_t>(random_float()) >> 16); });
        break;
    default: std::generate_n(static_cast<uint32_t *>(data), bytes / 4, next_random);
    }
}

}  // namespace

const void *input(const element_type &type) {
    static std::map<qdq_dtype, void *> inputs;
    void *&data = inputs[type.dtype];
    if (data == nullptr) {
        const size_t bytes = static_cast<size_t>(most_elements * type.bits / 8);
        data = reserve(bytes);
        fill(data, type.dtype, bytes);
    }
    return data;
}

void *output() {
    static void *const data = [] {
        const size_t bytes = static_cast<size_t>(most_elements) * 4;
        void *memory = reserve(bytes);
        std::memset(memory, 0, bytes);
        return memory;
    }();
    return data;
}

const float *scales() {
    static const std::vector<float> values = [] {
        std::vector<float> all(static_cast<size_t>(most_elements / 32));
        std::generate(all.begin(), all.end(), [] { return 0.03f + 0.001f * static_cast<float>(next_random() % 8); });
        return all;
    }();
    return values.data();
}

bool solves(const baselines::loop &loop, const problem &what) {
    return loop.op == what.op && loop.x == what.x.dtype && loop.y == what.y.dtype && loop.of_scale == what.of_scale &&
           (what.op == operation::dequantize || loop.mode == what.mode) && loop.zero_point == what.zero_point;
}

baselines::operands operands_of(const problem &what, void *y) {
    return {input(what.x), y, scales(), what.size.rows, what.size.columns, zero_point_value};
}

qdq_status prepare(planner by, qdq_plan &plan, const problem &what) {
    const std::array<int64_t, 2> shape{what.size.rows, what.size.columns};
    std::array<int64_t, 2> scale_shape{1, 1};
    switch (what.of_scale) {
    case granularity::tensor: break;
    case granularity::channel_rows: scale_shape = {what.size.rows, 1}; break;
    case granularity::channel_columns: scale_shape = {1, what.size.columns}; break;
    case granularity::block32: scale_shape = {what.size.rows, what.size.columns / 32}; break;
    }
    const qdq_tensor x{nullptr, what.x.dtype, 2, shape.data(), nullptr, {}};
    const qdq_tensor y{nullptr, what.y.dtype, 2, shape.data(), nullptr, {}};
    const qdq_tensor scale{const_cast<float *>(scales()), QDQ_F32, 2, scale_shape.data(), nullptr, {}};
    const std::array<int64_t, 2> whole_shape{1, 1};
    const qdq_tensor zero_point{
        const_cast<int8_t *>(&zero_point_value), what.y.dtype, 2, whole_shape.data(), nullptr, {}};
    qdq_options options{};
    options.scale_mode = what.mode;
    return by(&plan, &x, &scale, what.zero_point ? &zero_point : nullptr, &y, &options);
}

}  // namespace bench
