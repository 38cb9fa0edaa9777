// Bytes a second of a device's rows, dynamic ones among them, against a copy on the device in the same run, and what a
// launch costs. Prints JSON.
//
// usage: qdq_gpu_bench TARGET [--models] [ELEMENTS...]     --models: the types of language models alone
#include "support/device.h"
#include "support/inputs.h"
#include "types_in_role.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

using bench::element_type;
using bench::float_types;
using bench::stored_types;
using test_support::device;

// Rows of 4096 elements, and how the scale meets them.
struct granularity {
    const char *name;
    int64_t scale_rows, scale_columns;  // 0: as many as x has
    bool transposed = false;            // x lies by columns
};
constexpr int64_t columns = 4096;
constexpr granularity granularities[] = {{"tensor", 1, 1},
                                         {"row", 0, 1},
                                         {"column", 1, 0},
                                         {"block_of_32", 0, columns / 32},
                                         {"row_of_transposed_x", 0, 1, true}};

[[noreturn]] void stop(const char *what) {
    std::fprintf(stderr, "%s: %s\n", what, qdq_last_error());
    std::exit(1);
}

// Seconds of one of `work`, the least of some rounds, each of enough of them to make the clock's grain and one wait
// small.
template<typename Work> double seconds_of(device &on, Work &&work) {
    double best = 1e30;
    for (int round = 0, repeats = 1; round < 7; ++round) {
        on.finish();
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < repeats; ++i) {
            work();
        }
        on.finish();
        const double taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (round > 0) {
            best = std::min(best, taken / repeats);  // the first compiles the kernel
        }
        repeats = std::clamp(static_cast<int>(0.02 / (taken / repeats)), 1, 100);
    }
    return best;
}

class memory {
public:
    memory(device &on, int64_t bytes) : on_(on), data_(on.allocate(bytes)) {
        if (data_ == nullptr) {
            stop("no room on the device");
        }
    }
    ~memory() { on_.free(data_); }
    memory(const memory &) = delete;
    void *data() const { return data_; }

private:
    device &on_;
    void *data_;
};

// Values over what codes reach for a scale of 0.1, in every type of x alike: the bytes of any codes, and of floats
// near 1.
std::vector<uint8_t> bytes_of_x(bool floats, const element_type &type, int64_t bytes) {
    test_support::random_bits random(7);
    std::vector<uint8_t> all(static_cast<size_t>(bytes));
    for (size_t i = 0; i < all.size(); i += 4) {
        uint32_t word = random.next32();
        if (floats && type.dtype == QDQ_F32) {
            word = 0x3f000000u | (word & 0x80ffffffu);
        }
        if (floats && type.dtype == QDQ_F16) {
            word = 0x38003800u | (word & 0x87ff87ffu);
        }
        if (floats && type.dtype == QDQ_BF16) {
            word = 0x3f003f00u | (word & 0x80ff80ffu);
        }
        std::memcpy(&all[i], &word, std::min<size_t>(4, all.size() - i));
    }
    return all;
}

// Calls that compute the scales, too, of x in bf16: as activations are quantized.
struct dynamic_row {
    qdq_dtype codes, scale;
    const char *granularity;
    int64_t block;  // of a row; 0: the row
    qdq_scale_rule rule;
};
constexpr dynamic_row dynamic_rows[] = {
    {QDQ_I8, QDQ_F32, "row", 0, QDQ_SCALE_ABSMAX},
    {QDQ_F8E4M3, QDQ_F32, "row", 0, QDQ_SCALE_ABSMAX},
    {QDQ_F8E4M3, QDQ_F32, "tensor", columns, QDQ_SCALE_ABSMAX},
    {QDQ_F8E4M3, QDQ_F32, "block_of_128", 128, QDQ_SCALE_ABSMAX},
    {QDQ_F8E4M3, QDQ_E8M0, "block_of_32", 32, QDQ_SCALE_POWER_FLOOR},
    {QDQ_F4E2M1, QDQ_E8M0, "block_of_32", 32, QDQ_SCALE_POWER_FLOOR},
};

// What models' weights and activations are stored as, and computed in.
bool is_of_models(const element_type &floats, const element_type &stored) {
    const std::initializer_list<qdq_dtype> types{QDQ_I8, QDQ_F8E4M3, QDQ_I4, QDQ_F4E2M1};
    return floats.dtype != QDQ_F32 && std::find(types.begin(), types.end(), stored.dtype) != types.end();
}

// The rows of one size. Its memory is that of the widest types; x is written once for each type of floats, and once for
// codes of any type.
class table {
public:
    table(device &on, const std::string &target, int64_t elements, bool of_models)
        : on(on),
          target(target),
          elements(elements / columns * columns),
          of_models(of_models),
          x(on, 4 * elements),
          y(on, 4 * elements),
          copy_to(on, 4 * elements),
          scale(on, 4 * scales()),
          computed(on, 4 * scales()) {
        on.write(scale.data(), std::vector<float>(static_cast<size_t>(scales()), 0.1f).data(), 4 * scales());
    }

    void run() {
        for (const element_type &floats : float_types) {
            write_x(true, floats);
            for_each_row(floats,
                         [&](const element_type &stored, const granularity &g) { print(true, floats, stored, g); });
            if (floats.dtype == QDQ_BF16) {
                for_each_row(floats, [&](const element_type &stored, const granularity &g) {
                    print(true, floats, stored, g, QDQ_STOCHASTIC);
                });
                for (const dynamic_row &row : dynamic_rows) {
                    print_dynamic(floats, row);
                }
            }
        }
        write_x(false, stored_types.front());
        for (const element_type &floats : float_types) {
            for_each_row(floats,
                         [&](const element_type &stored, const granularity &g) { print(false, stored, floats, g); });
        }
    }

private:
    device &on;
    const std::string target;
    const int64_t elements;
    const bool of_models;
    const memory x, y, copy_to, scale, computed;

    int64_t scales() const { return std::max(elements / 32, columns); }

    void write_x(bool floats, const element_type &type) {
        on.write(x.data(), bytes_of_x(floats, type, 4 * elements).data(), 4 * elements);
    }

    template<typename Row> void for_each_row(const element_type &floats, Row &&row) {
        for (const element_type &stored : stored_types) {
            for (const granularity &g : granularities) {
                const bool can_be = !stored.roles.host && (!g.transposed || stored.bits >= 8);
                if (can_be && (!of_models || is_of_models(floats, stored))) {
                    row(stored, g);
                }
            }
        }
    }

    void print(bool quantizes, const element_type &from, const element_type &to, const granularity &g,
               qdq_rounding rounding = QDQ_NEAREST_EVEN) {
        const int64_t rows = elements / columns;
        const int64_t shape[] = {rows, columns}, by_columns[] = {1, rows};
        const int64_t scale_shape[] = {g.scale_rows ? g.scale_rows : rows, g.scale_columns ? g.scale_columns : columns};
        const qdq_device where{on.kind(), 0, 0};
        const qdq_tensor c_x{x.data(), from.dtype, 2, shape, g.transposed ? by_columns : nullptr, where},
            c_y{y.data(), to.dtype, 2, shape, nullptr, where};
        const qdq_tensor c_scale{scale.data(), QDQ_F32, 2, scale_shape, nullptr, where};
        const qdq_options options{.rounding = rounding};
        qdq_plan plan;
        if ((quantizes ? qdq_plan_quantize : qdq_plan_dequantize)(&plan, &c_x, &c_scale, nullptr, &c_y, &options) !=
            QDQ_OK) {
            stop("plan");
        }
        const double taken = seconds_of(on, [&] {
            if (qdq_run(&plan, x.data(), y.data(), on.stream()) != QDQ_OK) {
                stop("run");
            }
        });
        const char *const op = !quantizes                   ? "dequantize"
                               : rounding == QDQ_STOCHASTIC ? "quantize_stochastic"
                                                            : "quantize";
        print_row(op, from, to, g.name, 4 * scale_shape[0] * scale_shape[1], taken);
    }

    // x counts once, however often it is read.
    void print_dynamic(const element_type &from, const dynamic_row &row) {
        const int64_t rows = elements / columns, block = row.block == 0 ? columns : row.block;
        const bool is_tensor = std::strcmp(row.granularity, "tensor") == 0;
        const int64_t shape[] = {rows, columns}, scale_shape[] = {is_tensor ? 1 : rows, columns / block};
        const qdq_device where{on.kind(), 0, 0};
        const qdq_tensor c_x{x.data(), from.dtype, 2, shape, nullptr, where},
            c_y{y.data(), row.codes, 2, shape, nullptr, where},
            c_scale{computed.data(), row.scale, 2, scale_shape, nullptr, where};
        const qdq_scale_options how{.rule = row.rule};
        qdq_plan plan;
        if (qdq_plan_quantize_dynamic(&plan, &c_x, &c_scale, nullptr, &c_y, &how, nullptr) != QDQ_OK) {
            stop("plan");
        }
        const double taken = seconds_of(on, [&] {
            if (qdq_run_dynamic(&plan, x.data(), computed.data(), nullptr, y.data(), on.stream()) != QDQ_OK) {
                stop("run");
            }
        });
        const auto of = [](qdq_dtype dtype) { return [=](const element_type &type) { return type.dtype == dtype; }; };
        const int64_t scale_bytes = scale_shape[0] * scale_shape[1] * (row.scale == QDQ_E8M0 ? 1 : 4);
        print_row("quantize_dynamic", from, *std::find_if(stored_types.begin(), stored_types.end(), of(row.codes)),
                  row.granularity, scale_bytes, taken);
    }

    void print_row(const char *op, const element_type &from, const element_type &to, const char *granularity,
                   int64_t scale_bytes, double taken) {
        const int64_t x_bytes = elements * from.bits / 8, y_bytes = elements * to.bits / 8;
        const double copied = seconds_of(on, [&] { on.copy(copy_to.data(), x.data(), (x_bytes + y_bytes) / 2); });
        const double moved = static_cast<double>(x_bytes + y_bytes + scale_bytes);
        std::printf(
            "%s  {\"target\": \"%s\", \"op\": \"%s\", \"from\": \"%s\", \"to\": \"%s\", \"granularity\": \"%s\", "
            "\"elements\": %lld, \"GB/s\": %.1f, \"copy GB/s\": %.1f, \"ratio\": %.3f}",
            first_row ? "" : ",\n", target.c_str(), op, from.name, to.name, granularity,
            static_cast<long long>(elements), moved / taken / 1e9,
            static_cast<double>(x_bytes + y_bytes) / copied / 1e9,
            moved / taken / (static_cast<double>(x_bytes + y_bytes) / copied));
        std::fflush(stdout);
        first_row = false;
    }

    static bool first_row;
};
bool table::first_row = true;

// Microseconds that the caller spends in one qdq_run on few elements.
double launch_microseconds(device &on) {
    const int64_t few = 64;
    const float one = 1;
    const memory x(on, 4 * few), y(on, few), scale(on, 4);
    on.write(scale.data(), &one, 4);
    on.write(x.data(), std::vector<float>(few, one).data(), 4 * few);
    const qdq_device where{on.kind(), 0, 0};
    const qdq_tensor c_x{x.data(), QDQ_F32, 1, &few, nullptr, where}, c_y{y.data(), QDQ_I8, 1, &few, nullptr, where};
    const qdq_tensor c_scale{scale.data(), QDQ_F32, 0, nullptr, nullptr, where};
    qdq_plan plan;
    if (qdq_plan_quantize(&plan, &c_x, &c_scale, nullptr, &c_y, nullptr) != QDQ_OK) {
        stop("plan");
    }
    double best = 1e30;
    for (int round = 0; round < 20; ++round) {
        on.finish();
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < 50; ++i) {
            if (qdq_run(&plan, x.data(), y.data(), on.stream()) != QDQ_OK) {
                stop("run");
            }
        }
        best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 50);
    }
    on.finish();
    return best * 1e6;
}

}  // namespace

int main(int count, char **arguments) {
    if (count < 2 || qdq_force_target(arguments[1]) != QDQ_OK || test_support::current_device() == QDQ_DEVICE_HOST) {
        stop("usage: qdq_gpu_bench cuda|opencl [--models] [ELEMENTS...]");
    }
    device &on = test_support::shared_device(test_support::current_device());
    std::vector<int64_t> sizes;
    const bool of_models = count > 2 && std::strcmp(arguments[2], "--models") == 0;
    for (int i = of_models ? 3 : 2; i < count; ++i) {
        sizes.push_back(std::atoll(arguments[i]));
    }
    if (sizes.empty()) {
        sizes = {int64_t{1} << 24, int64_t{1} << 26, int64_t{1} << 28, int64_t{1} << 30};
    }
    std::printf("{\"device\": \"%s\", \"launch microseconds\": %.2f, \"rows\": [\n", on.name().c_str(),
                launch_microseconds(on));
    for (int64_t elements : sizes) {
        table(on, arguments[1], elements, of_models).run();
    }
    std::printf("\n]}\n");
}
