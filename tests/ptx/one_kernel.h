// A kernel in a few lines of PTX, run on memory of its own: for the tests of parser, operations and interpreter.
#pragma once

#include "interpreter.h"

#include <cstring>
#include <string>
#include <vector>

namespace ptx_test {

inline const char *const header = ".version 6.0\n.target sm_70\n.address_size 64\n";

// With two parameters, the addresses of its input and its output.
inline std::string module_of(const std::string &body) {
    return std::string(header) +
           ".visible .entry k(\n.param .u64 .ptr .align 1 in,\n.param .u64 out\n)\n{\n"
           ".reg .pred %p<9>;\n.reg .b16 %rs<9>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n" +
           body + "\n}\n";
}

// A device's memory with an input and an output in it, and a launch on them.
class bench {
public:
    bench(const std::string &body, size_t in_bytes, size_t out_bytes) : kernel(ptx::decode(module_of(body))[0]) {
        in = own.find(own.allocate(in_bytes, this)->begin(), 1);
        out = own.find(own.allocate(out_bytes, this)->begin(), 1);
        std::memset(reinterpret_cast<void *>(out->begin()), 0xee, out_bytes);
        settings.kernel = &kernel;
        settings.all_memory = &own;
        settings.context = this;
    }

    void write(const void *bytes, size_t count) {
        std::memcpy(reinterpret_cast<void *>(in->begin()), bytes, count);
        in->written(in->begin(), count);
    }
    ptx::counts run(uint32_t blocks, uint32_t threads) {
        const uint64_t addresses[] = {in->begin(), out->begin()};
        std::vector<uint8_t> parameters(sizeof addresses);
        std::memcpy(parameters.data(), addresses, sizeof addresses);
        settings.parameters = parameters;
        settings.blocks = blocks;
        settings.threads = threads;
        return ptx::run(settings, executed);
    }
    template<typename T> std::vector<T> read() const {
        std::vector<T> all((out->end() - out->begin()) / sizeof(T));
        std::memcpy(all.data(), reinterpret_cast<const void *>(out->begin()), all.size() * sizeof(T));
        return all;
    }
    ptx::counts run_sharing(uint32_t blocks, uint32_t threads, uint32_t bytes) {
        settings.shared_bytes = bytes;
        return run(blocks, threads);
    }
    // What it says of a kernel that does what it must not; "" where nothing does.
    std::string fault_of(uint32_t blocks, uint32_t threads) {
        try {
            run(blocks, threads);
            return "";
        } catch (const ptx::fault &f) {
            return f.what();
        }
    }

    ptx::program kernel;
    ptx::memory own;
    ptx::allocation *in = nullptr, *out = nullptr;
    ptx::launch settings;
    std::vector<uint8_t> executed;
};

}  // namespace ptx_test
