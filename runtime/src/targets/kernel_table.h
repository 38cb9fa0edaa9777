// The compiled kernels, as the table that is linked has them: qdq/link/kernels.h.
#pragma once

#include "HalideRuntime.h"
#include "device_arguments.h"
#include "element_types.h"
#include "forms.h"
#include "qdq/link/kernels.h"
#include "qdq/qdq.h"
#include "targets/nontemporal.h"

#include <array>
#include <cstdint>
#include <iterator>

namespace qdq::runtime {

using namespace kernels;

enum class operation : uint8_t { quantize, dequantize };

using kernel_form = kernels::form;
using dispatch_parameters = qdq_dispatch_parameters;
using quantize_row = qdq_quantize_row;      // forms: in the order of qdq::form
using dequantize_row = qdq_dequantize_row;  // the same
using device_row = qdq_device_row;          // forms: in the order of device_form
using device_kernel = qdq_device_kernel;    // run: on buffers and kernels/device_arguments.h
using bytes_kernel = qdq_bytes_kernel;
using target = qdq_target;

static_assert(std::size(quantize_row{}.forms) == form_count && std::size(dequantize_row{}.forms) == form_count);
static_assert(std::size(device_row{}.forms) == device_form_count);

// Of the elements of kernels' buffers, by qdq_dtype: packed codes are bytes. A table, as calls of 64 elements notice
// branches.
inline constexpr auto halide_types = [] {
    std::array<halide_type_t, std::size(element_types)> table{};
    for (const element_type &type : element_types) {
        const bool is_number = type.roles.floats || (type.is_signed() && !type.is_packed());
        const auto of_number = type.is_integer()        ? halide_type_int
                               : type.dtype == QDQ_BF16 ? halide_type_bfloat
                                                        : halide_type_float;
        const int bits = type.bytes() * 8;
        table[type.dtype] = {is_number ? of_number : halide_type_uint, static_cast<uint8_t>(bits), 1};
    }
    return table;
}();

// NULL where the target has no kernel for the pair.
const quantize_row *find_quantize(const target &t, qdq_dtype from, qdq_dtype to);
const dequantize_row *find_dequantize(const target &t, qdq_dtype from, qdq_dtype to);
const device_row *find_device_row(const target &t, operation op, qdq_dtype float_type, qdq_dtype stored_type);

}  // namespace qdq::runtime
