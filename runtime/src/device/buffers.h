// The device's memory as kernels see it.
#pragma once

#include "device/launch.h"
#include "plan/memory.h"

#include <array>
#include <cstdint>

namespace qdq::runtime {

// A buffer of the device's memory for one call.
struct device_buffer {
    halide_buffer_t buffer{};
    halide_dimension_t shape[2];
    uint64_t data = 0;

    device_buffer() = default;
    device_buffer(const device_buffer &) = delete;  // the buffer points to the shape

    // Rows of so many words of so many bits that lie end to end.
    void set_rows(uint64_t memory, int32_t bits, int32_t words, int64_t rows);

    // Elements [0, end), by pages. Halide takes the last page's size for all pages', and the sum for the buffer's.
    void set_pages(uint64_t memory, int bits, int64_t end);

private:
    void set(uint64_t memory, int bits);
};

// A tensor's memory: an address, or a handle and an offset in bytes.
struct device_memory {
    uint64_t base;
    int64_t offset;

    device_memory(const device_backend &backend, const void *data, int64_t offset_in_object);

    // Whether its first element, of so many bits, lies between two elements' places. Offsets in memory objects have
    // been checked.
    bool is_misaligned(const device_backend &backend, int32_t bits) const;

    // Whether bytes relative to its first element are the device's memory; else the launch has a message.
    bool is_there(const device_backend &backend, device_launch &launch, const span &bytes) const;

    // Views the memory that a tensor touches as units of some bytes. Where the view begins, in bytes from the tensor's
    // first element: memory objects are viewed from their own beginning.
    int64_t view_units(const device_backend &backend, const span &touched, int64_t bytes, device_buffer &buffer) const;

    // The same by what lies at multiples of 16 bytes of the device's memory: where that begins, and how many bytes the
    // place `first` bytes from the first element is from there.
    struct aligned {
        uint64_t base, bytes;
    };
    aligned from_aligned(const device_backend &backend, int64_t first) const;
};

// What a kernel is called with, in its order: the user context, which is there already, then what is added.
class kernel_arguments {
public:
    explicit kernel_arguments(device_launch &launch) : user_context(&launch) {
        add(static_cast<void *>(&user_context));
    }
    kernel_arguments(const kernel_arguments &) = delete;

    void add(void *argument) { all[static_cast<size_t>(count++)] = argument; }
    void **data() { return all.data(); }

private:
    static constexpr int most = 128;
    void *user_context;
    std::array<void *, most> all;
    int count = 0;
};

// Calls a kernel while its buffers have the device's memory; a failure of the driver's becomes a status.
qdq_status call_with_buffers(const char *function, const target &on, device_launch &launch,
                             std::initializer_list<device_buffer *> buffers, qdq_device_kernel_function *kernel,
                             kernel_arguments &arguments);

}  // namespace qdq::runtime
