#include "device/buffers.h"

#include "device_arguments.h"
#include "support/status.h"

#include <algorithm>
#include <cstring>

namespace qdq::runtime {

void device_buffer::set(uint64_t memory, int bits) {
    data = memory;
    buffer.type = {halide_type_uint, static_cast<uint8_t>(bits), 1};
    buffer.dimensions = 2;
    buffer.dim = shape;
}

void device_buffer::set_rows(uint64_t memory, int32_t bits, int32_t words, int64_t rows) {
    set(memory, bits);
    shape[0] = {0, words, 1};
    shape[1] = {0, static_cast<int32_t>(rows), words};
}

void device_buffer::set_pages(uint64_t memory, int bits, int64_t end) {
    const int64_t page = int64_t{1} << page_bits, pages = (end - 1) / page + 1;
    set(memory, bits);
    shape[0] = {0, static_cast<int32_t>(end - (pages - 1) * page), 1};
    shape[1] = {0, static_cast<int32_t>(pages), static_cast<int32_t>(page)};
}

device_memory::device_memory(const device_backend &backend, const void *data, int64_t offset_in_object)
    : base(reinterpret_cast<uintptr_t>(data)), offset(offset_in_object) {
    if (backend.has_addresses) {
        base += static_cast<uint64_t>(offset);
        offset = 0;
    }
}

bool device_memory::is_misaligned(const device_backend &backend, int32_t bits) const {
    return backend.has_addresses && base % static_cast<uint64_t>(std::max(bits / 8, 1)) != 0;
}

bool device_memory::is_there(const device_backend &backend, device_launch &launch, const span &bytes) const {
    return backend.has_memory(launch, base, offset + bytes.first, offset + bytes.end);
}

int64_t device_memory::view_units(const device_backend &backend, const span &touched, int64_t bytes,
                                  device_buffer &buffer) const {
    const int64_t begin = backend.has_addresses ? touched.first : -offset;
    buffer.set_pages(base + static_cast<uint64_t>(backend.has_addresses ? begin : 0), int(8 * bytes),
                     (touched.end - begin) / bytes);
    return begin;
}

device_memory::aligned device_memory::from_aligned(const device_backend &backend, int64_t first) const {
    constexpr uint64_t alignment = 16;
    const uint64_t bytes = static_cast<uint64_t>(offset + first);
    if (!backend.has_addresses) {
        return {base, bytes};
    }
    const uint64_t address = base + bytes;
    return {address / alignment * alignment, address % alignment};
}

namespace {

qdq_status failure(const char *function, const target &on, const device_launch &launch, int error) {
    const bool memory = error == halide_error_code_out_of_memory || std::strstr(launch.message, "OUT_OF_MEMORY") ||
                        std::strstr(launch.message, "OUT_OF_HOST_MEMORY") ||
                        std::strstr(launch.message, "MEM_OBJECT_ALLOCATION_FAILURE");
    return fail(memory ? QDQ_OUT_OF_MEMORY : QDQ_DEVICE_ERROR, "%s: target %s: %s", function, on.name,
                launch.message[0] ? launch.message : "the kernel failed and did not say why");
}

}  // namespace

qdq_status call_with_buffers(const char *function, const target &on, device_launch &launch,
                             std::initializer_list<device_buffer *> buffers, qdq_device_kernel_function *kernel,
                             kernel_arguments &arguments) {
    const device_backend &backend = *on.device;
    int error = 0;
    const auto *wrapped = buffers.begin();
    while (wrapped != buffers.end() && (error = backend.wrap(launch, (*wrapped)->buffer, (*wrapped)->data)) == 0) {
        wrapped++;
    }
    if (error == 0) {
        error = kernel(arguments.data());
    }
    while (wrapped != buffers.begin()) {
        backend.unwrap(launch, (*--wrapped)->buffer);
    }
    return error == 0 ? QDQ_OK : failure(function, on, launch, error);
}

}  // namespace qdq::runtime
