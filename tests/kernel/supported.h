// The element types this build has kernels for. A type added to kernels/manifest.cmake gets one entry here, and every
// test of this folder follows.
#pragma once

#include <qdq/qdq.h>

#include <vector>

namespace supported {

inline const std::vector<qdq_dtype> stored_types{QDQ_I8, QDQ_U8, QDQ_I16, QDQ_U16, QDQ_I32, QDQ_I4, QDQ_U4,
                                                QDQ_F8E4M3, QDQ_F8E5M2, QDQ_F8E4M3FNUZ, QDQ_F8E5M2FNUZ, QDQ_F4E2M1};
inline const std::vector<qdq_dtype> float_types{QDQ_F32, QDQ_F16, QDQ_BF16};
inline const std::vector<qdq_dtype> scale_types{QDQ_F32, QDQ_F16, QDQ_BF16, QDQ_E8M0, QDQ_F8E4M3};
inline const std::vector<qdq_dtype> zero_point_types{QDQ_F32, QDQ_F16, QDQ_BF16, QDQ_I8, QDQ_U8, QDQ_I16, QDQ_U16, QDQ_I32};

} // namespace supported
