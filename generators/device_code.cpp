#include "device_code.h"

#include "compressed_text.h"

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

class text_compressor : public IRMutator {
    using IRMutator::visit;

    Expr visit(const Variable *v) override {
        if (!v->image.defined() || !ends_with(v->image.name(), "_gpu_source_kernels")) {
            return v;
        }
        Buffer<uint8_t> text = v->image;
        const std::vector<uint8_t> all = compress(text.data(), text.size_in_bytes());
        Buffer<uint8_t> compressed(int(all.size()), text.name());
        std::copy(all.begin(), all.end(), compressed.begin());
        return Variable::make(v->type, v->name, compressed);
    }
};

// Halide's last pass before the one that takes the device's part out and makes its text, which is therefore done here;
// the other then finds nothing left.
class device_code_pass : public IRMutator {
public:
    device_code_pass(const Target &target, bool asserts, bool compressed)
        : target(target), asserts(asserts), compressed(compressed) {}

    Stmt mutate(const Stmt &whole) override {
        Stmt s = asserts ? whole : argument_checks_remover().mutate(whole);
        s = inject_gpu_offload(s, target);
        return compressed ? text_compressor().mutate(s) : s;
    }

private:
    using IRMutator::mutate;

    const Target target;
    const bool asserts, compressed;
};

}  // namespace

void device_code_parameters::apply_to(Pipeline pipeline, const Target &target) const {
    pipeline.add_custom_lowering_pass(new device_code_pass(target, asserts, compressed));
}

}  // namespace qdq
