// What special values cost: for each kind of x, scale and rounding the time of an element, and how many times that of
// normal values it is. Processors take a hundred cycles for an operation on subnormal numbers.
#include <qdq/qdq.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

namespace {

constexpr int64_t elements = 4096;
constexpr float infinity = std::numeric_limits<float>::infinity();

struct kind {
    const char *name;
    float x, scale;
};

struct way {
    const char *name;
    qdq_scale_mode scale_mode;
    qdq_rounding rounding;
};

// The first is what the others are compared with.
const kind quantized[] = {
    {"normal", 1.7f, 0.1f},
    {"x subnormal", 1e-40f, 0.1f},
    {"remainder subnormal", 1.1e-33f, 0.1f},
    {"result subnormal", 1.1e-20f, 0x1p59f},
    {"scale subnormal", 1.7f, 1e-40f},
    {"scale 0", 1.7f, 0},
    {"NaN", std::numeric_limits<float>::quiet_NaN(), 0.1f},
    {"infinite", infinity, 0.1f},
    {"zero", 0, 0.1f},
};

const way ways[] = {
    {"divide, nearest even", QDQ_DIVIDE, QDQ_NEAREST_EVEN},
    {"multiply, nearest even", QDQ_MULTIPLY, QDQ_NEAREST_EVEN},
    {"divide, nearest away", QDQ_DIVIDE, QDQ_NEAREST_AWAY},
    {"divide, toward zero", QDQ_DIVIDE, QDQ_TOWARD_ZERO},
    {"divide, down", QDQ_DIVIDE, QDQ_DOWN},
    {"divide, up", QDQ_DIVIDE, QDQ_UP},
};

const kind dequantized[] = {
    {"normal", 0, 0.1f}, {"result subnormal", 0, 0x1p-135f}, {"scale subnormal", 0, 1e-40f},
    {"scale 0", 0, 0},   {"scale NaN", 0, std::nanf("")},    {"scale infinite", 0, infinity},
};

struct call {
    std::vector<float> floats = std::vector<float>(elements);
    std::vector<int32_t> codes = std::vector<int32_t>(elements, 0x03050305);
    int64_t shape[1] = {elements};
    float scale = 1;

    qdq_tensor tensor(void *data, qdq_dtype dtype) { return {data, dtype, 1, shape, nullptr, {}}; }
    qdq_tensor one_scale() { return {&scale, QDQ_F32, 0, nullptr, nullptr, {}}; }
};

void require(qdq_status status) {
    if (status != QDQ_OK) {
        std::fprintf(stderr, "%s\n", qdq_last_error());
        std::exit(1);
    }
}

// Of an element, in ns: the least of many runs.
double time_of(const qdq_plan &plan, const void *x, void *y) {
    using clock = std::chrono::steady_clock;
    double least = infinity;
    for (int i = 0; i < 200; i++) {
        const auto begin = clock::now();
        require(qdq_run(&plan, x, y, nullptr));
        least = std::min(least, std::chrono::duration<double, std::nano>(clock::now() - begin).count());
    }
    return least / elements;
}

double time_of_quantize(const kind &k, const way &w, qdq_dtype stored) {
    call c;
    for (size_t i = 0; i < c.floats.size(); i++) {
        c.floats[i] = i % 3 == 0 ? -k.x : k.x;
    }
    c.scale = w.scale_mode == QDQ_MULTIPLY && k.x != 1.7f && std::isnormal(k.scale) ? 1 / k.scale : k.scale;
    qdq_options options{};
    options.scale_mode = w.scale_mode;
    options.rounding = w.rounding;
    const qdq_tensor x = c.tensor(c.floats.data(), QDQ_F32), y = c.tensor(c.codes.data(), stored), s = c.one_scale();
    qdq_plan plan;
    require(qdq_plan_quantize(&plan, &x, &s, nullptr, &y, &options));
    return time_of(plan, c.floats.data(), c.codes.data());
}

double time_of_dequantize(const kind &k, qdq_dtype stored) {
    call c;
    c.scale = k.scale;
    const qdq_tensor x = c.tensor(c.codes.data(), stored), y = c.tensor(c.floats.data(), QDQ_F32), s = c.one_scale();
    qdq_plan plan;
    require(qdq_plan_dequantize(&plan, &x, &s, nullptr, &y, nullptr));
    return time_of(plan, c.codes.data(), c.floats.data());
}

template<typename Kinds, typename Time> void print_row(const std::string &name, const Kinds &kinds, Time time_of_kind) {
    double normal = 0;
    for (const kind &k : kinds) {
        const double time = time_of_kind(k);
        normal = normal == 0 ? time : normal;
        std::printf("%-52s %-22s %8.3f ns %8.2f\n", name.c_str(), k.name, time, time / normal);
    }
}

}  // namespace

int main(int count, char **arguments) {
    if (count > 1) {
        require(qdq_force_target(arguments[1]));
    }
    const std::string target = qdq_current_target();
    for (qdq_dtype stored : {QDQ_I8, QDQ_F8E4M3}) {
        const std::string type = qdq_dtype_name(stored);
        for (const way &w : ways) {
            if (stored == QDQ_I8 || w.rounding == QDQ_NEAREST_EVEN) {
                print_row(target + " f32 to " + type + ", " + w.name, quantized,
                          [&](const kind &k) { return time_of_quantize(k, w, stored); });
            }
        }
        print_row(target + " " + type + " to f32", dequantized,
                  [&](const kind &k) { return time_of_dequantize(k, stored); });
    }
}
