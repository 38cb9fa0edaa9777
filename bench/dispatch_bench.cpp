// What a call costs before the first element: 64 elements, which the kernel itself takes a few nanoseconds for.
#include <qdq/direct/quantize_f32_i8.h>
#include <qdq/qdq.h>
#include <qdq/qdq.hpp>

#include <benchmark/benchmark.h>

#include <array>

namespace {

constexpr int64_t elements = 64;

struct call {
    alignas(64) std::array<float, elements> x{};
    alignas(64) std::array<int8_t, elements> y{};
    std::array<int64_t, 2> shape{8, 8};
    std::array<float, 8> scale{1, 2, 3, 4, 5, 6, 7, 8};
    std::array<int64_t, 1> per_channel{8};
    qdq_tensor c_x{x.data(), QDQ_F32, 2, shape.data(), nullptr, {}};
    qdq_tensor c_y{y.data(), QDQ_I8, 2, shape.data(), nullptr, {}};
    qdq_tensor c_one{scale.data(), QDQ_F32, 0, nullptr, nullptr, {}};
    std::array<int8_t, 1> zero_point{3};
    qdq_tensor c_zero_point{zero_point.data(), QDQ_I8, 0, nullptr, nullptr, {}};
    qdq_tensor c_channels{scale.data(), QDQ_F32, 1, per_channel.data(), nullptr, {}};
};

void require(benchmark::State &state, qdq_status status) {
    if (status != QDQ_OK) {
        state.SkipWithError(qdq_last_error());
    }
}

void measure_calls(benchmark::State &state, qdq_tensor call::*scale) {
    call c;
    for (auto _ : state) {
        require(state, qdq_quantize(&c.c_x, &(c.*scale), nullptr, &c.c_y, nullptr));
        benchmark::ClobberMemory();
    }
}

void measure_runs(benchmark::State &state, qdq_tensor call::*scale, qdq_tensor call::*zero_point = nullptr) {
    call c;
    qdq_plan plan;
    const qdq_tensor *const added = zero_point ? &(c.*zero_point) : nullptr;
    require(state, qdq_plan_quantize(&plan, &c.c_x, &(c.*scale), added, &c.c_y, nullptr));
    for (auto _ : state) {
        require(state, qdq_run(&plan, c.x.data(), c.y.data(), nullptr));
        benchmark::ClobberMemory();
    }
}

// By the best target that the library was built for.
void measure_direct(benchmark::State &state) {
    call c;
    for (auto _ : state) {
        require(state, qdq_direct_quantize_f32_i8(c.x.data(), c.y.data(), elements, c.scale[0]));
        benchmark::ClobberMemory();
    }
}

void measure_planning(benchmark::State &state, qdq_tensor call::*scale) {
    call c;
    qdq_plan plan;
    for (auto _ : state) {
        require(state, qdq_plan_quantize(&plan, &c.c_x, &(c.*scale), nullptr, &c.c_y, nullptr));
        benchmark::DoNotOptimize(plan);
    }
}

void measure_wrapper(benchmark::State &state) {
    call c;
    for (auto _ : state) {
        if (!qdq::quantize({c.x, {8, 8}}, qdq::scalar(c.scale[0]), {c.y, {8, 8}})) {
            state.SkipWithError(qdq_last_error());
        }
        benchmark::ClobberMemory();
    }
}

void measure_errors(benchmark::State &state) {
    call c;
    qdq_options options{};
    options.block_size = -1;
    for (auto _ : state) {
        benchmark::DoNotOptimize(qdq_quantize(&c.c_x, &c.c_channels, nullptr, &c.c_y, &options));
    }
}

// What the 64 elements cost in a plain loop of the same arithmetic, as a floor.
void measure_plain_loop(benchmark::State &state) {
    call c;
    for (auto _ : state) {
        for (size_t i = 0; i < elements; i++) {
            c.y[i] = static_cast<int8_t>(c.x[i] * c.scale[0]);
        }
        benchmark::ClobberMemory();
    }
}

BENCHMARK_CAPTURE(measure_runs, tensor, &call::c_one);
BENCHMARK_CAPTURE(measure_runs, channel, &call::c_channels);
BENCHMARK_CAPTURE(measure_runs, zero_point, &call::c_one, &call::c_zero_point);
BENCHMARK(measure_direct);
BENCHMARK_CAPTURE(measure_calls, tensor, &call::c_one);
BENCHMARK_CAPTURE(measure_calls, channel, &call::c_channels);
BENCHMARK_CAPTURE(measure_planning, tensor, &call::c_one);
BENCHMARK_CAPTURE(measure_planning, channel, &call::c_channels);
BENCHMARK(measure_wrapper);
BENCHMARK(measure_errors);
BENCHMARK(measure_plain_loop);

}  // namespace

BENCHMARK_MAIN();
