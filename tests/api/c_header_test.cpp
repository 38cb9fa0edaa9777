// qdq.h as C sees it. The layouts are the binary interface: a change here breaks programs already built.
#include <qdq/qdq.h>

#include <gtest/gtest.h>

#include <cstddef>

extern "C" int use_qdq_from_c99(void);
extern "C" int use_qdq_from_c11(void);

namespace {

TEST(CHeader, works_from_c99) { EXPECT_EQ(use_qdq_from_c99(), 0) << qdq_last_error(); }
TEST(CHeader, works_from_c11) { EXPECT_EQ(use_qdq_from_c11(), 0) << qdq_last_error(); }

TEST(CHeader, numbers_its_enums) {
    EXPECT_EQ(QDQ_F32, 0);
    EXPECT_EQ(QDQ_I8, 3);
    EXPECT_EQ(QDQ_I4, 8);
    EXPECT_EQ(QDQ_E8M0, 13);
    EXPECT_EQ(QDQ_OK, 0);
    EXPECT_EQ(QDQ_OUT_OF_MEMORY, 4);
    EXPECT_EQ(QDQ_MULTIPLY, 1);
    EXPECT_EQ(QDQ_ZP_BEFORE_ROUNDING, 1);
    EXPECT_EQ(QDQ_ZP_ADD, 1);
    EXPECT_EQ(QDQ_UP, 4);
    EXPECT_EQ(QDQ_STOCHASTIC, 5);
}

TEST(CHeader, fixes_its_layouts) {
    if (sizeof(void *) != 8) {
        GTEST_SKIP() << "for 64-bit machines";
    }
    EXPECT_EQ(sizeof(qdq_tensor), 48u);
    EXPECT_EQ(offsetof(qdq_tensor, strides), 24u);
    EXPECT_EQ(offsetof(qdq_tensor, device), 32u);
    EXPECT_EQ(sizeof(qdq_options), 112u);
    EXPECT_EQ(offsetof(qdq_options, block_size), 24u);
    EXPECT_EQ(offsetof(qdq_options, quant_max), 36u);
    EXPECT_EQ(offsetof(qdq_options, stream), 56u);
    EXPECT_EQ(offsetof(qdq_options, random_seed), 72u);
    EXPECT_EQ(offsetof(qdq_options, scale_is_arranged), 88u);
    EXPECT_EQ(sizeof(qdq_plan), 1536u);
    EXPECT_EQ(alignof(qdq_plan), 8u);
}

}  // namespace
