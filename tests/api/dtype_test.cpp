#include "reference/formats.h"

#include <qdq/qdq.h>

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

namespace {

qdq_dtype dtype_of(int value) {
    qdq_dtype dtype;
    std::memcpy(&dtype, &value, sizeof(dtype));
    return dtype;
}

TEST(Dtype, every_type_has_a_name_of_its_own_and_its_bits) {
    std::set<std::string> names;
    for (int value = 0; qdq_dtype_name(dtype_of(value)) != nullptr; ++value) {
        const qdq_dtype dtype = dtype_of(value);
        EXPECT_TRUE(names.insert(qdq_dtype_name(dtype)).second) << qdq_dtype_name(dtype);
        EXPECT_STREQ(qdq_dtype_name(dtype), reference::name_of(dtype));
        EXPECT_EQ(qdq_dtype_bits(dtype), reference::bits_of(dtype)) << qdq_dtype_name(dtype);
    }
    EXPECT_TRUE(names.contains("f8e5m2fnuz"));
}

TEST(Dtype, a_value_that_is_no_type_has_neither) {
    for (int value : {-1, 1000, INT32_MAX, INT32_MIN}) {
        EXPECT_EQ(qdq_dtype_name(dtype_of(value)), nullptr);
        EXPECT_EQ(qdq_dtype_bits(dtype_of(value)), 0);
    }
}

}  // namespace
