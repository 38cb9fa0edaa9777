#include "device_code.h"

#include "compressed_text.h"
#include "cubins.h"

#include <LzmaEnc.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace qdq {

using namespace Halide;
using namespace Halide::Internal;
using namespace kernels;

namespace {

ISzAlloc memory = {[](void *, size_t size) { return std::malloc(size); }, [](void *, void *p) { std::free(p); }};

// As kernels/compressed_text.h says.
std::vector<uint8_t> compress(const uint8_t *text, size_t size) {
    CLzmaEncProps properties;
    LzmaEncProps_Init(&properties);
    properties.level = 9;
    properties.fb = 273;  // the longest match looked for: kernels repeat themselves, lane by lane
    properties.pb = 0;    // of text: bytes do not come in words
    properties.dictSize = 1 << 22;
    properties.reduceSize = static_cast<UInt32>(size);

    std::vector<uint8_t> all(sizeof(lzma_bytes) + lzma_header_bytes + size + size / 8 + 128);
    uint8_t *const file = all.data() + sizeof(lzma_bytes);
    SizeT properties_size = lzma_properties_bytes, stream_size = all.size() - sizeof(lzma_bytes) - lzma_header_bytes;
    const SRes status = LzmaEncode(file + lzma_header_bytes, &stream_size, text, size, &properties, file,
                                   &properties_size, 0, nullptr, &memory, &memory);
    if (status != SZ_OK) {
        throw std::runtime_error("LZMA fails to compress a kernel's text: " + std::to_string(status));
    }
    const text_bytes text_size = size;
    std::memcpy(file + lzma_properties_bytes, &text_size, sizeof(text_size));
    const auto file_size = static_cast<lzma_bytes>(lzma_header_bytes + stream_size);
    std::memcpy(all.data(), &file_size, sizeof(file_size));
    all.resize(sizeof(file_size) + file_size);
    return all;
}

class argument_checks_remover : public IRMutator {
    using IRMutator::visit;

    // A check of an argument reports what is wrong with it; one of the device's functions gives on what that returned.
    Stmt visit(const AssertStmt *check) override {
        const Call *report = check->message.as<Call>();
        return report && starts_with(report->name, "halide_error_") ? Evaluate::make(0) : Stmt(check);
    }
};

// A line of OpenCL C in which Halide views a thread's own array of words as vectors, by a pointer of their type:
//
//     ((__address_space_A uint4 *)A)[i] = v;        uint4 v = ((__address_space_A uint4 *)A)[i];
//
// C's rules of aliasing let a compiler take such a store and the words that are read after it for unrelated. Oclgrind's
// does: it stored undefined codes. OpenCL's functions for it mean the same and may be used of any array.
std::string by_vector_functions(const std::string &line, const std::string &text) {
    const size_t view = line.find("((__address_space_");
    const size_t star = line.find(" *)", view), array_end = line.find(")[", star),
                 index_end = line.find("];", array_end);
    const size_t stored_end = line.find("] = ", array_end);
    if (view == std::string::npos || array_end == std::string::npos) {
        return line;
    }
    const std::string array = line.substr(star + 3, array_end - star - 3);
    if (text.find("#define __address_space_" + array + " __private\n") == std::string::npos) {
        return line;
    }
    const std::string width(1, line[star - 1]);
    if (stored_end != std::string::npos) {
        const std::string index = line.substr(array_end + 2, stored_end - array_end - 2);
        const std::string value = line.substr(stored_end + 4, line.find(';', stored_end) - stored_end - 4);
        return line.substr(0, view) + "vstore" + width + "(" + value + ", " + index + ", " + array + ");";
    }
    const std::string index = line.substr(array_end + 2, index_end - array_end - 2);
    return line.substr(0, view) + "vload" + width + "(" + index + ", " + array + ");";
}

std::string with_vector_functions(const std::string &text) {
    std::string result;
    for (size_t begin = 0, end; begin < text.size(); begin = end + 1) {
        end = std::min(text.find('\n', begin), text.size() - 1);
        std::string line = text.substr(begin, end - begin);
        result += by_vector_functions(line, text) + text[end];
    }
    return result;
}

class text_mutator : public IRMutator {
public:
    text_mutator(bool compressed, const std::string &ptxas, const std::string &architectures)
        : compressed(compressed), ptxas(ptxas), architectures(architectures) {}

private:
    using IRMutator::visit;

    const bool compressed;
    const std::string &ptxas, &architectures;

    Expr visit(const Variable *v) override {
        if (!v->image.defined() || !ends_with(v->image.name(), "_gpu_source_kernels")) {
            return v;
        }
        Buffer<uint8_t> of_halide = v->image;
        const std::string text =
            with_cubins(with_vector_functions(std::string(of_halide.begin(), of_halide.end())), ptxas, architectures);
        const auto *const bytes = reinterpret_cast<const uint8_t *>(text.data());
        const std::vector<uint8_t> all =
            compressed ? compress(bytes, text.size()) : std::vector<uint8_t>(bytes, bytes + text.size());
        Buffer<uint8_t> made(int(all.size()), of_halide.name());
        std::copy(all.begin(), all.end(), made.begin());
        return Variable::make(v->type, v->name, made);
    }
};

// Halide's last pass before the one that takes the device's part out and makes its text, which is therefore done here;
// the other then finds nothing left.
class device_code_pass : public IRMutator {
public:
    device_code_pass(const Target &target, const device_code_parameters &made)
        : target(target),
          asserts(made.asserts),
          compressed(made.compressed),
          ptxas(made.ptxas),
          architectures(made.architectures) {}

    Stmt mutate(const Stmt &whole) override {
        Stmt s = asserts ? whole : argument_checks_remover().mutate(whole);
        s = inject_gpu_offload(s, target);
        return text_mutator(compressed, ptxas, architectures).mutate(s);
    }

private:
    using IRMutator::mutate;

    const Target target;
    const bool asserts, compressed;
    const std::string ptxas, architectures;
};

}  // namespace

void device_code_parameters::apply_to(Pipeline pipeline, const Target &target) const {
    pipeline.add_custom_lowering_pass(new device_code_pass(target, *this));
}

}  // namespace qdq
