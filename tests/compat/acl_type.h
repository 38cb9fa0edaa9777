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
    default: return ACL_FLOAT;
    }
}

}  // namespace compat_test
