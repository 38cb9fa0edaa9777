// The text of a device's kernel (OpenCL C or PTX), which its object holds compressed.
#pragma once

#include <cstddef>

namespace qdq::runtime {

// Made when the driver compiles the kernel for a context: in 0.2 to 4 ms, of which the driver then takes a second. No
// later launch looks at it.
class kernel_text {
public:
    enum class state { whole, no_memory, damaged };

    // What the object holds, as kernels/compressed_text.h says.
    explicit kernel_text(const void *compressed);
    ~kernel_text();
    kernel_text(const kernel_text &) = delete;

    state is() const { return now; }
    // Ends with a NUL; NULL where it is not whole.
    const char *data() const { return now == state::whole ? text : nullptr; }
    // Whether there are any cubins; and the one that runs on a device of that compute capability, or NULL: of the same
    // major number, and of minor numbers the last that is not above the device's.
    bool has_cubins() const { return next_cubin(0) != 0; }
    const void *cubin_for(int major, int minor) const;

private:
    // Where the header behind that of a place is, 0 being the text's; 0 behind the last.
    size_t next_cubin(size_t place) const;

    char *text = nullptr;
    size_t size = 0;
    state now = state::no_memory;
};

}  // namespace qdq::runtime
