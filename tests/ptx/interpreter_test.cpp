#include "one_kernel.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <set>

namespace ptx_test {
namespace {

// out[i] of 32 bits, i the thread of the launch, in %rd1; i in %r1.
const std::string at_own_place =
    "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r1, %tid.x; mad.lo.s32 %r1, %r2, %r3, %r1;"
    "ld.param.b64 %rd2, [out]; mul.wide.u32 %rd1, %r1, 4; add.s64 %rd1, %rd2, %rd1;";

TEST(PtxInterpreter, runs_every_thread_of_every_block_once) {
    for (const uint32_t blocks : {1u, 2u, 7u, 33u}) {
        for (const uint32_t threads : {1u, 31u, 32u, 33u, 256u}) {
            bench b(at_own_place + "add.s32 %r4, %r1, 7; st.global.b32 [%rd1], %r4; ret;", 1,
                    size_t{4} * blocks * threads);
            const ptx::counts done = b.run(blocks, threads);
            const std::vector<uint32_t> out = b.read<uint32_t>();
            for (uint32_t i = 0; i < out.size(); ++i) {
                ASSERT_EQ(out[i], i + 7);
            }
            EXPECT_EQ(done.threads, out.size());
            EXPECT_EQ(done.instructions, 10 * out.size());
            EXPECT_EQ(done.bytes, 4 * out.size());
        }
    }
}

TEST(PtxInterpreter, counts_the_sectors_that_a_warp_touches) {
    bench beside(at_own_place + "st.global.b32 [%rd1], %r1; ret;", 1, 4 * 32);
    EXPECT_EQ(beside.run(1, 32).sectors, 4u);
    bench apart(at_own_place + "mul.wide.u32 %rd1, %r1, 128; add.s64 %rd1, %rd2, %rd1; st.global.b32 [%rd1], %r1; ret;",
                1, 128 * 32);
    EXPECT_EQ(apart.run(1, 32).sectors, 32u);
}

// Each thread counts to its own number modulo 5, and odd ones take another way after it.
const std::string with_ways =
    at_own_place +
    "and.b32 %r4, %r1, 3; mov.b32 %r5, 0; Loop: setp.ge.u32 %p1, %r5, %r4; @%p1 bra Done; add.s32 %r5, %r5, 1;"
    "bra.uni Loop; Done: and.b32 %r6, %r1, 1; setp.eq.b32 %p2, %r6, 0; @!%p2 bra Odd; add.s32 %r5, %r5, 100;"
    "bra.uni End; Odd: add.s32 %r5, %r5, 200; End: @%p2 add.s32 %r5, %r5, 1000; st.global.b32 [%rd1], %r5; ret;";

TEST(PtxInterpreter, lanes_part_and_come_together) {
    bench b(with_ways, 1, 4 * 100);
    b.run(2, 50);
    const std::vector<uint32_t> out = b.read<uint32_t>();
    for (uint32_t i = 0; i < out.size(); ++i) {
        EXPECT_EQ(out[i], (i & 3) + (i & 1 ? 200 : 1100)) << i;
    }
    for (const uint8_t ran : b.executed) {
        EXPECT_EQ(ran, 1);
    }
    bench some(with_ways, 1, 4);
    some.run(1, 1);
    EXPECT_EQ(std::count(some.executed.begin(), some.executed.end(), 0), 3)
        << "one thread, even: no step of the loop, not the odd way";
}

TEST(PtxInterpreter, threads_that_return_early_are_out) {
    bench b(at_own_place + "setp.ge.u32 %p1, %r1, 5; @%p1 ret; st.global.b32 [%rd1], %r1; ret;", 1, 4 * 5);
    EXPECT_EQ(b.fault_of(1, 32), "");
    EXPECT_EQ(b.read<uint32_t>(), (std::vector<uint32_t>{0, 1, 2, 3, 4}));
}

TEST(PtxInterpreter, finds_threads_that_write_one_byte) {
    const std::string at_half =
        "mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 1; ld.param.b64 %rd2, [out]; mul.wide.u32 %rd1, %r2, 4;"
        "add.s64 %rd1, %rd2, %rd1; st.global.b32 [%rd1], %r2; ret;";
    bench same(at_half, 1, 4 * 32);
    EXPECT_NE(same.fault_of(1, 64).find("another thread of the launch writes"), std::string::npos)
        << same.fault_of(1, 64);
    EXPECT_EQ(same.fault_of(1, 1), "");
    bench blocks("ld.param.b64 %rd1, [out]; st.global.b32 [%rd1], %r1; ret;", 1, 4);
    EXPECT_EQ(blocks.fault_of(1, 1), "") << "a launch before is none of this one";
    EXPECT_EQ(blocks.fault_of(1, 1), "");
    EXPECT_NE(blocks.fault_of(100, 1), "") << "in blocks on several processors";
}

TEST(PtxInterpreter, finds_threads_that_read_what_others_write) {
    // Each thread copies a byte of its neighbour's within one memory.
    const auto body = [](int distance) {
        return "mov.u32 %r1, %tid.x; ld.param.b64 %rd2, [in]; cvt.u64.u32 %rd1, %r1; add.s64 %rd1, %rd2, %rd1;"
               "ld.global.nc.b8 %rs1, [%rd1+" +
               std::to_string(distance) + "]; st.global.b8 [%rd1], %rs1; ret;";
    };
    const std::vector<uint8_t> in(128);
    for (const uint64_t seed : {1, 2, 3, 4}) {
        bench across(body(32), 128, 1);
        across.settings.seed = seed;
        across.write(in.data(), in.size());
        EXPECT_NE(across.fault_of(1, 64).find("another thread"), std::string::npos)
            << "in whatever order the warps run";
    }
    bench own(body(0), 128, 1);
    own.write(in.data(), in.size());
    EXPECT_EQ(own.fault_of(1, 64), "");
}

TEST(PtxInterpreter, checks_every_access) {
    const auto fault_of = [](const std::string &body) {
        bench b("ld.param.b64 %rd1, [in]; ld.param.b64 %rd2, [out]; " + body + " ret;", 16, 16);
        const uint64_t in[] = {1, 2};
        b.write(in, sizeof in);
        return b.fault_of(1, 1);
    };
    EXPECT_EQ(fault_of("ld.global.nc.b32 %r1, [%rd1+12];"), "");
    EXPECT_NE(fault_of("ld.global.nc.b32 %r1, [%rd1+16];").find("no memory at"), std::string::npos);
    EXPECT_NE(fault_of("ld.global.nc.b8 %rs1, [%rd1+-1];").find("no memory at"), std::string::npos);
    EXPECT_NE(fault_of("ld.global.nc.b32 %r1, [%rd1+2];").find("misaligned"), std::string::npos);
    EXPECT_NE(fault_of("ld.global.nc.v2.b64 {%rd3, %rd4}, [%rd1+8];").find("misaligned"), std::string::npos)
        << "of the whole vector";
    EXPECT_NE(fault_of("st.global.v2.b64 [%rd2+16], {%rd3, %rd4};").find("no memory at"), std::string::npos);
    EXPECT_NE(fault_of("ld.global.nc.b8 %rs1, [%rd2];").find("never written"), std::string::npos);
    EXPECT_EQ(fault_of("st.global.b8 [%rd2], %rs1; ld.global.nc.b8 %rs1, [%rd2];"), "");
    const std::string said = fault_of("st.global.b16 [%rd2+1], %rs1;");
    for (const char *word : {"k: line 13", "st.global.b16", "block 0", "thread 0"}) {
        EXPECT_NE(said.find(word), std::string::npos) << said;
    }
    bench foreign("ld.param.b64 %rd1, [out]; st.global.b8 [%rd1], %rs1; ret;", 1, 1);
    foreign.settings.context = nullptr;
    EXPECT_NE(foreign.fault_of(1, 1).find("another context"), std::string::npos);
    foreign.settings.context = &foreign;
    EXPECT_TRUE(foreign.own.free(foreign.out->begin()));
    bench freed("ld.param.b64 %rd1, [out]; st.global.b8 [%rd1], %rs1; ret;", 1, 1);
    const uint64_t out = freed.out->begin();
    EXPECT_TRUE(freed.own.free(out));
    EXPECT_EQ(freed.own.find(out, 1), nullptr);
}

// Each thread stores 3 times its number, and reads what is there of the thread so far behind it.
std::string through_shared_memory(const std::string &between, int distance) {
    return at_own_place +
           "mov.u32 %r5, %tid.x; mul.wide.u32 %rd3, %r5, 4; mul.lo.s32 %r6, %r5, 3;"
           "st.shared.b32 [%rd3], %r6;" +
           between + "ld.shared.b32 %r7, [%rd3+" + std::to_string(4 * distance) + "]; st.global.b32 [%rd1], %r7; ret;";
}

TEST(PtxInterpreter, threads_of_a_block_meet_at_a_barrier) {
    for (const uint64_t seed : {1, 2, 3, 4}) {
        bench b(through_shared_memory("setp.lt.u32 %p1, %r5, 50; @%p1 bra Few; bra.uni On; Few: On: bar.sync 0; "
                                      "sub.s32 %r5, 99, %r5; mul.wide.u32 %rd3, %r5, 4;",
                                      0),
                1, 4 * 300);
        b.settings.seed = seed;
        b.run_sharing(3, 100, 400);
        const std::vector<uint32_t> out = b.read<uint32_t>();
        for (uint32_t i = 0; i < out.size(); ++i) {
            ASSERT_EQ(out[i], 3 * (99 - i % 100)) << i;
        }
    }
}

TEST(PtxInterpreter, finds_threads_that_share_without_a_barrier) {
    const auto fault_of = [](const std::string &between, int distance, uint32_t bytes = 4 * 65) {
        bench b(through_shared_memory(between, distance), 1, 4 * 64);
        b.settings.shared_bytes = bytes;
        return b.fault_of(1, 64);
    };
    EXPECT_EQ(fault_of("", 0), "") << "its own";
    EXPECT_NE(fault_of("", 1), "") << "its neighbour's";
    EXPECT_NE(fault_of("bar.sync 0;", 1).find("never written"), std::string::npos) << "of the last one, which has none";
    EXPECT_NE(fault_of("bar.sync 0;", 1, 4 * 64).find("no shared memory at 0x100"), std::string::npos);
    EXPECT_NE(fault_of("", 0, 0).find("no shared memory at"), std::string::npos);
    EXPECT_NE(fault_of("st.shared.b32 [%rd3+2], %r6;", 0).find("misaligned"), std::string::npos);
    // What one phase reads another may write, but not the same one.
    const std::string write = "mov.b64 %rd4, 0; setp.eq.b32 %p1, %r5, 0; @%p1 st.shared.b32 [%rd4], %r6;";
    EXPECT_EQ(fault_of("bar.sync 0; mov.b64 %rd4, 0; ld.shared.b32 %r8, [%rd4]; bar.sync 0;" + write, 0), "");
    EXPECT_NE(fault_of("bar.sync 0; mov.b64 %rd4, 0; ld.shared.b32 %r8, [%rd4];" + write, 0).find("another thread"),
              std::string::npos);
}

TEST(PtxInterpreter, finds_threads_that_do_not_come_to_a_barrier) {
    bench finished(through_shared_memory("setp.ge.u32 %p1, %r5, 40; @%p1 ret; bar.sync 0;", 0), 1, 4 * 64);
    finished.settings.shared_bytes = 256;
    EXPECT_NE(finished.fault_of(1, 64).find("waits for threads that have finished"), std::string::npos);
    bench apart(through_shared_memory("setp.ge.u32 %p1, %r5, 40; @%p1 bra Late; bar.sync 0; bra.uni On; "
                                      "Late: bar.sync 0; On:",
                                      0),
                1, 4 * 64);
    apart.settings.shared_bytes = 256;
    EXPECT_NE(apart.fault_of(1, 64).find("waits while others wait at another barrier"), std::string::npos);
}

TEST(PtxInterpreter, shared_memory_is_a_blocks_own) {
    bench b(at_own_place + "mov.b64 %rd3, 0; ld.shared.b32 %r7, [%rd3]; st.shared.b32 [%rd3], %r7; ret;", 1, 4 * 2);
    b.settings.shared_bytes = 4;
    EXPECT_NE(b.fault_of(2, 1).find("never written"), std::string::npos);
}

TEST(PtxInterpreter, does_not_take_the_threads_arithmetic) {
    bench b(
        "ld.param.b64 %rd2, [out]; mov.b32 %r1, 0f00800000; mul.rn.f32 %r1, %r1, 0f3F000000; st.global.b32 [%rd2], "
        "%r1; ret;",
        1, 4);
    std::fenv_t before;
    std::fegetenv(&before);
    std::fesetround(FE_UPWARD);
#ifdef __SSE__
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);  // flushes subnormals
#endif
    b.run(1, 1);
    const bool kept = std::fegetround() == FE_UPWARD;
    std::fesetenv(&before);
    EXPECT_TRUE(kept);
    EXPECT_EQ(b.read<uint32_t>()[0], 0x00400000u);
}

TEST(PtxInterpreter, a_nan_is_the_same_for_a_seed) {
    const std::string body =
        at_own_place + "mov.b32 %r4, 0f7FC00000; neg.f32 %r4, %r4; st.global.b32 [%rd1], %r4; ret;";
    std::set<std::vector<uint32_t>> results;
    for (const uint64_t seed : {1, 1, 2, 3}) {
        bench b(body, 1, 4 * 512);
        b.settings.seed = seed;
        b.run(16, 32);
        results.insert(b.read<uint32_t>());
    }
    EXPECT_EQ(results.size(), 3u);
}

}  // namespace
}  // namespace ptx_test
