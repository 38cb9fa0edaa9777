// The compiled kernels: a constant table generated from kernels/manifest.cmake, targets best first.
#pragma once

#include "HalideRuntime.h"
#include "device_arguments.h"
#include "dispatch_parameters.h"
#include "element_types.h"
#include "forms.h"
#include "kernel_types.h"
#include "qdq/qdq.h"
#include "targets/encode.h"
#include "targets/lookup.h"
#include "targets/nontemporal.h"

#include <cstdint>

namespace qdq::runtime {

using namespace kernels;

enum class operation : uint8_t { quantize, dequantize };

using kernel_form = kernels::form;

// The kernels of one pair of element types.
template<typename Kernel> struct kernel_row {
    qdq_dtype float_type;
    qdq_dtype stored_type;
    Kernel *forms[form_count];  // in the order of qdq::form; NULL for a table that a row has not
    dispatch_parameters tuned;
};

struct device_kernel {
    int (*run)(void **arguments);  // pointers to them: buffers and kernels/device_arguments.h
    int32_t unit_elements;         // for device_group
};

struct device_row {
    qdq_dtype float_type;
    qdq_dtype stored_type;
    device_kernel quantize[device_form_count], dequantize[device_form_count];  // in the order of device_form
};

struct device_backend;

struct target {
    const char *name;
    uint32_t features = 0;  // every cpu_feature it needs
    const kernel_row<quantize_kernel> *quantize = nullptr;
    const kernel_row<dequantize_kernel> *dequantize = nullptr;
    int quantize_count = 0, dequantize_count = 0;
    transpose_kernel *transpose[3] = {};  // of 1, 2 and 4-byte elements
    bytes_kernel *swap_nibbles = nullptr;
    bytes_kernel *split_halves = nullptr;
    bytes_kernel *join_halves = nullptr;
    const nontemporal_stores *nontemporal = nullptr;  // NULL for none
    const result_lookup *lookup = nullptr;            // the same
    const code_encoder *encode = nullptr;             // the same
    const device_backend *device = nullptr;           // NULL for the processor, which has no device_rows
    const device_row *device_rows = nullptr;
    int device_count = 0;
};

extern const target targets[];
extern const int target_count;

// NULL where the target has no kernel for the pair.
const kernel_row<quantize_kernel> *find_quantize(const target &t, qdq_dtype from, qdq_dtype to);
const kernel_row<dequantize_kernel> *find_dequantize(const target &t, qdq_dtype from, qdq_dtype to);
const device_row *find_device_row(const target &t, qdq_dtype float_type, qdq_dtype stored_type);

}  // namespace qdq::runtime
