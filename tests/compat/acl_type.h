// ACL's number of an element type that its functions take.
#pragma once

#include <qdq/compat/aclnn.h>
#include <qdq/qdq.h>

namespace compat_test {

inline aclDataType acl_type(qdq_dtype type) {
    switch (type) {
    case QDQ_F16: return ACL_FLOAT16;
    case QDQ_BF16: return ACL_BF16;
    case QDQ_I8: return ACL_INT8;
    case QDQ_U8: return ACL_UINT8;
    case QDQ_I32: return ACL_INT32;
    case QDQ_I4: return ACL_INT4;
    case QDQ_F8E4M3: return ACL_FLOAT8_E4M3FN;
    case QDQ_F8E5M2: return ACL_FLOAT8_E5M2;
    case QDQ_F4E2M1: return ACL_FLOAT4_E2M1;
    case QDQ_F4E1M2: return ACL_FLOAT4_E1M2;
    case QDQ_HIF8: return ACL_HIFLOAT8;
    case QDQ_E8M0: return ACL_FLOAT8_E8M0;
    default: return ACL_FLOAT;
    }
}

}  // namespace compat_test
