// A command line with one wrong result: what `qdq verify` must notice. The linker gives it the calls of qdq_quantize,
// by its symbol.
#include <qdq/qdq.h>

#include <cstdint>

extern "C" {

qdq_status __real_qdq_quantize_3(const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point,
                                 const qdq_tensor *y, const qdq_options *options);

qdq_status __wrap_qdq_quantize_3(const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point,
                                 const qdq_tensor *y, const qdq_options *options) {
    const qdq_status status = __real_qdq_quantize_3(x, scale, zero_point, y, options);
    if (x->dtype == QDQ_BF16 && y->dtype == QDQ_U8 && options->rounding == QDQ_UP) {
        static_cast<uint8_t *>(y->data)[1000] ^= 4;
    }
    return status;
}

}  // extern "C"
