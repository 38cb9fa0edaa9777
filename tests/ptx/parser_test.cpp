#include "parser.h"
#include "one_kernel.h"
#include "operations.h"

#include <gtest/gtest.h>

namespace ptx_test {
namespace {

std::string problem_of(const std::string &body) {
    try {
        ptx::decode(module_of(body));
        return "";
    } catch (const ptx::unreadable &u) {
        return u.what();
    }
}

ptx::kernel_text only(const std::string &module) {
    std::vector<ptx::kernel_text> all = ptx::parse(module);
    EXPECT_EQ(all.size(), 1U);
    return all[0];
}

TEST(PtxParser, reads_what_llvm_writes) {
    const ptx::kernel_text k = only(std::string("//\n// Generated\n") + header +
                                    "\t// .globl k\n.visible .entry k(\n"
                                    "\t.param .u64 .ptr .align 1 k_param_0,\n\t.param .u8 k_param_1,\n"
                                    "\t.param .u32 k_param_2,\n\t.param .f32 k_param_3\n)\n{\n"
                                    "\t.reg .pred \t%p<2>;\n\t.reg .b32 \t%r<3>;\n\t.reg .b64 \t%rd<2>;\n\n// %bb.0:\n"
                                    "\tld.param.b64 \t%rd1, [k_param_0];\n$L__BB0_1:    // %loop\n"
                                    "\t@!%p1 bra \t$L__BB0_1;\n"
                                    "\t{ .reg .b32 tmp; mov.b64 {tmp, %r1}, %rd1; }\n"
                                    "\tst.global.v2.b32 \t[%rd1+-8], {%r1, %r2};\n\tret;\n"
                                    "                                        // -- End function\n}\n");
    EXPECT_EQ(k.name, "k");
    ASSERT_EQ(k.parameters.size(), 4u);
    EXPECT_EQ(k.parameters[1].offset, 8);
    EXPECT_EQ(k.parameters[2].offset, 12) << "aligned by its size";
    EXPECT_EQ(k.parameters[3].bytes, 4);
    EXPECT_EQ(k.register_bits.at("%p1"), 1);
    EXPECT_EQ(k.register_bits.at("%rd0"), 64);
    EXPECT_EQ(k.register_bits.count("%rd2"), 0u);
    ASSERT_EQ(k.statements.size(), 5u);
    EXPECT_EQ(k.labels.at("$L__BB0_1"), 1u);
    EXPECT_TRUE(k.statements[1].unless);
    EXPECT_EQ(k.statements[1].predicate, "%p1");
    ASSERT_EQ(k.statements[2].operands[0].names.size(), 2u);
    EXPECT_NE(k.statements[2].operands[0].names[0], "tmp") << "a block's register is its own";
    EXPECT_EQ(k.register_bits.at(k.statements[2].operands[0].names[0]), 32);
    EXPECT_EQ(k.statements[3].operands[0].name, "%rd1");
    EXPECT_EQ(static_cast<int64_t>(k.statements[3].operands[0].value), -8);
    EXPECT_EQ(k.statements[3].operands[1].names, (std::vector<std::string>{"%r1", "%r2"}));
}

TEST(PtxParser, reads_several_kernels) {
    const std::vector<ptx::program> all =
        ptx::decode(module_of("mov.b32 %r1, 1; ret;") + module_of("ret;") + module_of("mov.b32 %r2, %r1; ret;"));
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].code.size(), 2U);
    EXPECT_EQ(all[1].code.size(), 1U);
    EXPECT_EQ(all[1].before, 2U);
    EXPECT_EQ(all[2].before, 3U);
}

TEST(PtxParser, reads_numbers) {
    const ptx::kernel_text k =
        only(module_of("mov.b32 %r1, 0fBF800000; mov.b32 %r1, -5; mov.b32 %r1, 0x7F; "
                       "mov.b32 %r1, 4294967295U; ret;"));
    const uint64_t values[] = {0xbf800000, static_cast<uint64_t>(-5), 0x7f, 0xffffffff};
    for (size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(k.statements[i].operands[1].is, ptx::operand::kind::constant);
        EXPECT_EQ(k.statements[i].operands[1].value, values[i]);
    }
}

TEST(PtxParser, refuses_what_it_does_not_know_and_names_the_line) {
    EXPECT_NE(problem_of(".shared .b32 s; ret;").find("line 13"), std::string::npos)
        << problem_of(".shared .b32 s; ret;");
    for (const char *body : {"",
                             "add.s32 %r1, %r2, %r3;",
                             "nonsense.s32 %r1, %r2; ret;",
                             "add.s32 %r1, %r2; ret;",
                             "add.s32 %r1, %r2, %r99; ret;",
                             "add.s32 %r1, %r2, %rd3; ret;",
                             "add.s32 %rs1, %r2, %r3; ret;",
                             "add.s32 %r1, %r2, {%r3, %r4}; ret;",
                             "bra L; ret;",
                             "L: L: ret;",
                             "@%r1 bra L; L: ret;",
                             "@%p1 ret;",
                             "ld.param.b32 %r1, [other]; ret;",
                             "ld.param.b64 %r1, [in]; ret;",
                             "ld.param.b64 %rd1, [in+8]; ret;",
                             "ld.global.nc.b32 %r1, [%r2]; ret;",
                             "ld.global.nc.v2.b32 {%r1, %r2, %r3}, [%rd1]; ret;",
                             "st.global.b32 %rd1, %r1; ret;",
                             "st.global.b32 [%rd1], %rd2; ret;",
                             "mov.b32 {%rs1, %rs2, %rs3}, %r1; ret;",
                             "mov.b32 %r1, 0f3F8; ret;",
                             "mov.b32 %r1, 1x; ret;",
                             "mov.b32 %r1 %r2; ret;",
                             "ret; .reg .b32 %r<2>;",
                             "? ret;",
                             "bar.sync 1; ret;",
                             "ld.global.b32 %r1, [%rd1]; ret;",
                             "add.rn.ftz.f32 %r1, %r2, %r3; ret;",
                             "atom.global.add.u32 %r1, [%rd1], 1; ret;",
                             "shfl.sync.idx.b32 %r1, %r2, 0, 31, -1; ret;"}) {
        EXPECT_NE(problem_of(body), "") << body;
    }
    EXPECT_EQ(problem_of("ret;"), "");
    EXPECT_THROW(ptx::decode(""), ptx::unreadable);
    EXPECT_THROW(ptx::decode(header), ptx::unreadable);
    EXPECT_THROW(ptx::decode(module_of("ret;") + ".entry"), ptx::unreadable);
    EXPECT_THROW(ptx::decode(".address_size 32\n"), ptx::unreadable);
    const std::string all = module_of("ret;");
    EXPECT_THROW(ptx::decode(all.substr(0, all.size() - 3)), ptx::unreadable) << "cut off";
}

}  // namespace
}  // namespace ptx_test
