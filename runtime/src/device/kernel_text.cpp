#include "device/kernel_text.h"

#include "compressed_text.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

// LZMA's decoder under names of our own: a program may have another version of it.
#define LzmaDec_Allocate qdq_LzmaDec_Allocate
#define LzmaDec_AllocateProbs qdq_LzmaDec_AllocateProbs
#define LzmaDec_DecodeToBuf qdq_LzmaDec_DecodeToBuf
#define LzmaDec_DecodeToDic qdq_LzmaDec_DecodeToDic
#define LzmaDec_Free qdq_LzmaDec_Free
#define LzmaDec_FreeProbs qdq_LzmaDec_FreeProbs
#define LzmaDec_Init qdq_LzmaDec_Init
#define LzmaDec_InitDicAndState qdq_LzmaDec_InitDicAndState
#define LzmaDecode qdq_LzmaDecode
#define LzmaProps_Decode qdq_LzmaProps_Decode
#include <LzmaDec.c>  // NOLINT(bugprone-suspicious-include): the names apply to what it defines

namespace qdq::runtime {

namespace {

ISzAlloc heap = {[](void *, size_t size) { return std::malloc(size); }, [](void *, void *p) { std::free(p); }};

template<typename Number> Number number_at(const void *place) {
    Number n;
    std::memcpy(&n, place, sizeof(n));
    return n;
}

}  // namespace

kernel_text::kernel_text(const void *compressed) {
    using namespace kernels;
    const auto *const begin = static_cast<const Byte *>(compressed);
    const Byte *const properties = begin + sizeof(lzma_bytes);
    const Byte *const stream = properties + lzma_header_bytes;
    const auto whole_size = static_cast<SizeT>(number_at<text_bytes>(properties + lzma_properties_bytes));
    text = static_cast<char *>(std::malloc(whole_size));
    if (!text) {
        return;
    }
    const SizeT file_size = number_at<lzma_bytes>(begin);
    SizeT stream_size = file_size - std::min(file_size, lzma_header_bytes);
    ELzmaStatus status;
    size = whole_size;
    const SRes result = LzmaDecode(reinterpret_cast<Byte *>(text), &size, stream, &stream_size, properties,
                                   lzma_properties_bytes, LZMA_FINISH_ANY, &status, &heap);
    if (result != SZ_ERROR_MEM) {
        now = result == SZ_OK && size > 0 && text[size - 1] == '\0' ? state::whole : state::damaged;
    }
}

kernel_text::~kernel_text() { std::free(text); }

size_t kernel_text::next_cubin(size_t place) const {
    using namespace kernels;
    if (!data()) {
        return 0;
    }
    const size_t next = place == 0
                            ? aligned_cubin(std::strlen(text) + 1)
                            : place + sizeof(cubin_header) + aligned_cubin(number_at<cubin_header>(text + place).bytes);
    return next + sizeof(cubin_header) < size ? next : 0;
}

const void *kernel_text::cubin_for(int major, int minor) const {
    const auto first = static_cast<uint32_t>(10 * major), last = static_cast<uint32_t>(10 * major + minor);
    const void *best = nullptr;
    uint32_t best_architecture = 0;
    for (size_t place = next_cubin(0); place != 0; place = next_cubin(place)) {
        const uint32_t architecture = number_at<kernels::cubin_header>(text + place).architecture;
        if (architecture >= first && architecture <= last && architecture >= best_architecture) {
            best = text + place + sizeof(kernels::cubin_header);
            best_architecture = architecture;
        }
    }
    return best;
}

}  // namespace qdq::runtime
