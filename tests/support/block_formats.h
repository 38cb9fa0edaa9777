// ggml's block formats, as tests go through them.
#pragma once

#include <qdq/blocks.h>

namespace test_support {

struct named_format {
    qdq_block_format format;
    const char *name;
};

inline constexpr named_format block_formats[] = {{QDQ_Q8_0, "q8_0"},    {QDQ_Q4_0, "q4_0"}, {QDQ_Q4_1, "q4_1"},
                                                 {QDQ_Q5_0, "q5_0"},    {QDQ_Q5_1, "q5_1"}, {QDQ_MXFP4, "mxfp4"},
                                                 {QDQ_IQ4_NL, "iq4_nl"}};

}  // namespace test_support
