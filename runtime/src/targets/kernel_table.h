// The compiled kernels, as the table that is linked has them: qdq/link/kernels.h.
#pragma once

#include "HalideRuntime.h"
#include "device_arguments.h"
#include "element_types.h"
#include "forms.h"
#include "qdq/link/kernels.h"
#include "qdq/qdq.h"
#include "targets/nontemporal.h"

#include <algorithm>
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

// Of an element of a kernel's buffer: packed codes are bytes.
inline halide_type_t halide_type(qdq_dtype dtype) {
    switch (dtype) {
    case QDQ_F32: return {halide_type_float, 32, 1};
    case QDQ_F16: return {halide_type_float, 16, 1};
    case QDQ_BF16: return {halide_type_bfloat, 16, 1};
    case QDQ_I8:
    case QDQ_I16:
    case QDQ_I32: return {halide_type_int, static_cast<uint8_t>(type_of(dtype).bits), 1};
    default: return {halide_type_uint, static_cast<uint8_t>(std::max(type_of(dtype).bits, 8)), 1};
    }
}

// NULL where the target has no kernel for the pair.
const quantize_row *find_quantize(const target &t, qdq_dtype from, qdq_dtype to);
const dequantize_row *find_dequantize(const target &t, qdq_dtype from, qdq_dtype to);
const device_row *find_device_row(const target &t, operation op, qdq_dtype float_type, qdq_dtype stored_type);

}  // namespace qdq::runtime
