// The text of a device's kernel (OpenCL C or PTX), which its object holds compressed.
#pragma once

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

private:
    char *text = nullptr;
    state now = state::no_memory;
};

}  // namespace qdq::runtime
