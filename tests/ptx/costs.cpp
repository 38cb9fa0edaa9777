// What each CUDA kernel costs, counted by the interpreter: a line for each with the bytes of x and y for an element,
// PTX instructions for an element, and the part of the touched sectors of 32 bytes that was wanted. Dense tensors of
// the forms that models use: an operand for all, for each row and for blocks of 32 (the group form), for each column
// (each), and transposed (strided). tools/gpu_costs.py makes the table of docs/gpu.md of
// it.
#include "conformance/storage.h"
#include "conformance/supported.h"
#include "driver.h"
#include "kernel/operand.h"
#include "reference/formats.h"
#include "support/device.h"

#include <dlfcn.h>

#include <cstdio>

namespace {

using conformance::dimensions;
using conformance::storage;

struct form {
    const char *name, *kernel;
    dimensions scale_shape;
    int64_t block_size;
    dimensions x_strides;
};

constexpr int64_t rows = 256, columns = 1024, elements = rows * columns;

const form forms[] = {
    {"tensor", "group", {}, 0, {}},
    {"row", "group", {rows, 1}, 0, {}},
    {"block of 32", "group", {rows, columns / 32}, 0, {}},
    {"column", "each", {1, columns}, 0, {}},
    {"row, transposed", "strided", {rows, 1}, 0, {1, rows}},
};

// Numbers of ordinary sizes, or any codes.
void fill(storage &x, bool of_floats) {
    uint32_t drawn = 1;
    for (int64_t i = 0; i < x.elements(); ++i) {
        drawn = drawn * 1664525 + 1013904223;
        x.set_code(i, of_floats ? kernel_test::operand::encode(x.tensor().dtype, static_cast<int32_t>(drawn >> 8) % 100)
                                : drawn >> 16 & ((uint64_t{1} << reference::bits_of(x.tensor().dtype)) - 1));
    }
}

}  // namespace

int main() {
    void *const library = dlopen("libcuda.so.1", RTLD_NOW);
    auto *const counts_of =
        library != nullptr ? reinterpret_cast<void (*)(uint64_t *)>(dlsym(library, "ptx_driver_counts")) : nullptr;
    if (counts_of == nullptr || qdq_force_target("cuda") != QDQ_OK) {
        std::fprintf(stderr, "costs: the driver of tests/ptx is not loaded\n");
        return 1;
    }
    std::printf(
        "{\"columns\": [\"quantizes\", \"float\", \"stored\", \"scales\", \"form\", \"bits\", \"instructions\", "
        "\"wanted\"],\n \"rows\": [");
    const char *separator = "\n";
    for (const bool quantizes : {true, false}) {
        for (const qdq_dtype real : {QDQ_F32, QDQ_F16, QDQ_BF16}) {
            for (const qdq_dtype stored : supported::stored_types) {
                for (const form &f : forms) {
                    const bool needs_bytes = !f.x_strides.empty() && reference::is_packed(stored);
                    if (needs_bytes || !supported::on_devices(stored)) {
                        continue;
                    }
                    storage x(quantizes ? real : stored, {rows, columns}, f.x_strides),
                        y(quantizes ? stored : real, {rows, columns});
                    storage scale(QDQ_F32, f.scale_shape);
                    fill(x, quantizes);
                    for (int64_t i = 0; i < scale.elements(); ++i) {
                        scale.set_code(i, kernel_test::operand::encode(QDQ_F32, 0.37));
                    }
                    const qdq_tensor x_tensor = x.tensor(), scale_tensor = scale.tensor(), y_tensor = y.tensor();
                    uint64_t counts[4];
                    counts_of(counts);
                    if ((quantizes ? test_support::quantize : test_support::dequantize)(
                            &x_tensor, &scale_tensor, nullptr, &y_tensor, nullptr) != QDQ_OK) {
                        std::fprintf(stderr, "costs: %s\n", qdq_last_error());
                        return 1;
                    }
                    counts_of(counts);
                    std::printf("%s  [%s, \"%s\", \"%s\", \"%s\", \"%s\", %d, %.1f, %.3f]", separator,
                                quantizes ? "true" : "false", reference::name_of(real), reference::name_of(stored),
                                f.name, f.kernel, int(reference::bits_of(real) + reference::bits_of(stored)),
                                double(counts[1]) / elements, double(counts[3]) / 32 / double(counts[2]));
                    separator = ",\n";
                }
            }
        }
    }
    std::printf("\n]}\n");
    return 0;
}
