// Every opcode against results worked out from the PTX ISA's description of it.
#include "operations.h"
#include "one_kernel.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace ptx_test {
namespace {

using ptx::lanes;

// What a result may be any NaN of: of an f32, of an f16.
constexpr uint64_t any_f32_nan = uint64_t{1} << 40, any_f16_nan = uint64_t{1} << 41;

struct vector_of {
    uint64_t result;
    std::vector<uint64_t> operands;
};

constexpr uint64_t one = 0x3f800000, minus_one = 0xbf800000, two = 0x40000000, half = 0x3f000000, three = 0x40400000;
constexpr uint64_t infinity = 0x7f800000, minus_infinity = 0xff800000, minus_zero = 0x80000000;
constexpr uint64_t largest = 0x7f7fffff, least_normal = 0x00800000, least = 1;
constexpr uint64_t quiet = 0x7fc01234, signaling = 0xff800001;
constexpr uint64_t low32 = 0xffffffff, least_s32 = 0x80000000, least_s64 = uint64_t{1} << 63;

const std::map<std::string, std::vector<vector_of>> &vectors() {
    static const std::map<std::string, std::vector<vector_of>> all = {
        {"abs.f32",
         {{one, {minus_one}},
          {0, {minus_zero}},
          {least, {0x80000001}},
          {infinity, {minus_infinity}},
          {any_f32_nan, {quiet}},
          {any_f32_nan, {signaling}}}},
        {"neg.f32",
         {{minus_one, {one}},
          {0, {minus_zero}},
          {minus_zero, {0}},
          {0x80000001, {least}},
          {minus_infinity, {infinity}},
          {any_f32_nan, {quiet}},
          {any_f32_nan, {signaling}}}},
        {"add.rn.f32",
         {{three, {one, two}},
          {0, {one, minus_one}},
          {minus_zero, {minus_zero, minus_zero}},
          {0, {0, minus_zero}},
          {2, {least, least}},
          {0x00000001, {least_normal, 0x807fffff}},  // subnormals are kept
          {0x4b800000, {0x4b800000, one}},
          {0x4b800002, {0x4b800001, one}},  // 2^24 + 1, and the next: ties to even
          {infinity, {largest, largest}},
          {largest, {largest, one}},
          {any_f32_nan, {infinity, minus_infinity}},
          {infinity, {infinity, largest}},
          {any_f32_nan, {quiet, one}},
          {any_f32_nan, {one, signaling}}}},
        {"mul.rn.f32",
         {{two, {one, two}},
          {minus_zero, {0, minus_one}},
          {0x3f800002, {0x3f800001, 0x3f800001}},
          {0x00400000, {least_normal, half}},
          {0, {least, half}},
          {2, {3, half}},  // halves of the least: to even
          {infinity, {largest, two}},
          {any_f32_nan, {0, infinity}},
          {any_f32_nan, {quiet, 0}}}},
        {"div.rn.f32",
         {{half, {one, two}},
          {0x3eaaaaab, {one, three}},
          {0xbeaaaaab, {minus_one, three}},
          {infinity, {one, 0}},
          {minus_infinity, {one, minus_zero}},
          {0, {one, infinity}},
          {0x00400000, {least_normal, two}},
          {0, {least, two}},
          {2, {3, two}},
          {infinity, {largest, half}},
          {0x4a800000, {least_normal, 2}},
          {any_f32_nan, {0, 0}},
          {any_f32_nan, {infinity, infinity}},
          {any_f32_nan, {one, quiet}}}},
        {"fma.rn.f32",
         {{0x40e00000, {two, three, one}},
          {0x28800000, {0x3f800001, 0x3f800001, 0xbf800002}},  // the square of 1 + 2^-23 less what it rounds to: 2^-46
          {0x80000000, {minus_zero, one, minus_zero}},
          {0, {minus_zero, one, 0}},
          {2, {least, half, least}},
          {0x00400000, {least_normal, half, 0}},
          {largest, {largest, two, 0xff7fffff}},  // no overflow within
          {infinity, {largest, two, 0}},
          {any_f32_nan, {infinity, 0, one}},
          {any_f32_nan, {infinity, one, minus_infinity}},
          {any_f32_nan, {one, one, quiet}}}},
        {"min.f32",
         {{one, {one, two}},
          {minus_one, {one, minus_one}},
          {minus_zero, {0, minus_zero}},
          {minus_zero, {minus_zero, 0}},
          {one, {quiet, one}},
          {one, {one, signaling}},
          {minus_infinity, {minus_infinity, quiet}},
          {least, {least, 2}},
          {any_f32_nan, {quiet, signaling}}}},
        {"max.f32",
         {{two, {one, two}},
          {one, {one, minus_one}},
          {0, {0, minus_zero}},
          {0, {minus_zero, 0}},
          {one, {quiet, one}},
          {one, {one, signaling}},
          {2, {least, 2}},
          {any_f32_nan, {quiet, signaling}}}},

        {"add.s32", {{3, {1, 2}}, {least_s32, {0x7fffffff, 1}}, {0, {low32, 1}}}},
        {"add.s64", {{3, {1, 2}}, {uint64_t{1} << 32, {low32, 1}}, {least_s64, {least_s64 - 1, 1}}}},
        {"sub.s32", {{low32, {1, 2}}, {0x7fffffff, {least_s32, 1}}}},
        {"sub.s64", {{~uint64_t{0}, {1, 2}}, {low32, {uint64_t{1} << 32, 1}}}},
        {"mul.lo.s32", {{6, {2, 3}}, {1, {low32, low32}}, {0, {0x10000, 0x10000}}, {0xfffffffa, {2, 0xfffffffd}}}},
        {"mul.lo.s64",
         {{6, {2, 3}}, {uint64_t{1} << 32, {0x10000, 0x10000}}, {0, {uint64_t{1} << 32, uint64_t{1} << 32}}}},
        {"mad.lo.s32", {{10, {2, 3, 4}}, {0, {low32, 1, 1}}}},
        {"mad.lo.s64", {{10, {2, 3, 4}}, {low32 + 1, {low32, 1, 1}}}},
        {"mul.wide.s32",
         {{1, {low32, low32}}, {~uint64_t{0} - 1, {low32, 2}}, {uint64_t{1} << 62, {least_s32, least_s32}}}},
        {"mul.wide.u32", {{0xfffffffe00000001, {low32, low32}}, {low32 * 2, {low32, 2}}}},
        {"mul.wide.u16", {{0xfffe0001, {0xffff, 0xffff}}, {6, {2, 3}}}},
        {"min.s32", {{low32, {1, low32}}, {least_s32, {least_s32, 5}}}},
        {"min.u32", {{1, {1, low32}}, {5, {least_s32, 5}}}},
        {"max.s32", {{1, {1, low32}}, {5, {least_s32, 5}}}},
        {"max.u32", {{low32, {1, low32}}, {least_s32, {least_s32, 5}}}},

        {"and.b16", {{0x1200, {0x1234, 0xff00}}}},
        {"and.b32", {{0x12005600, {0x12345678, 0xff00ff00}}}},
        {"and.b64", {{0x1200000000000078, {0x1234567812345678, 0xff000000000000ff}}}},
        {"and.pred", {{0, {0, 1}}, {0, {1, 0}}, {1, {1, 1}}, {0, {0, 0}}}},
        {"or.b16", {{0x56ff, {0x5678, 0x00ff}}}},
        {"or.b32", {{0x12ff56ff, {0x12345678, 0x00ff00ff}}}},
        {"or.b64", {{0x80000000000000ff, {least_s64, 0xff}}}},
        {"or.pred", {{1, {0, 1}}, {1, {1, 0}}, {1, {1, 1}}, {0, {0, 0}}}},
        {"xor.b32", {{0x12cb6879, {0x12345678, 0x00ff3e01}}}},
        {"copysign.f32", {{minus_one, {minus_zero, one}}, {one, {0, minus_one}}, {minus_zero, {minus_infinity, 0}}}},
        {"mul.hi.u32",
         {{0xfffffffe, {low32, low32}}, {0, {low32, 1}}, {1, {least_s32, 2}}, {0x40000000, {least_s32, least_s32}}}},
        {"neg.s32", {{0xffffffff, {1}}, {1, {0xffffffff}}, {0, {0}}, {least_s32, {least_s32}}}},
        {"prmt.b32",
         {{0x44332211, {0x44332211, 0x88776655, 0x3210}},
          {0x88776655, {0x44332211, 0x88776655, 0x7654}},
          {0x66552211, {0x44332211, 0x88776655, 0x5410}},
          {0x11111155, {0x44332211, 0x88776655, 0x0004}},
          {0xff00ff00, {0x80007f00, 0, 0xb8b9}},
          {0x55228811, {0x44332211, 0x88776655, 0xffff4170}}}},  // the high half of a selector is not read
        {"not.b32", {{0xedcba987, {0x12345678}}, {0, {low32}}}},
        {"not.pred", {{1, {0}}, {0, {1}}}},
        {"shl.b16", {{0x1200, {0x3412, 8}}, {0x8000, {1, 15}}, {0, {0xffff, 16}}}},
        {"shl.b32", {{0x10, {1, 4}}, {least_s32, {1, 31}}, {0, {1, 32}}, {0, {1, low32}}, {5, {5, 0}}}},
        {"shl.b64", {{uint64_t{1} << 32, {1, 32}}, {least_s64, {1, 63}}, {0, {1, 64}}, {0, {1, low32}}}},
        {"shr.s32",
         {{low32, {least_s32, 31}},
          {0xf8000000, {least_s32, 4}},
          {low32, {least_s32, 32}},
          {low32, {least_s32, low32}},
          {0, {0x7fffffff, 40}}}},
        {"shr.s64",
         {{~uint64_t{0}, {least_s64, 63}},
          {0xf800000000000000, {least_s64, 4}},
          {~uint64_t{0}, {least_s64, 64}},
          {0, {least_s64 - 1, 70}}}},
        {"shr.u16", {{0x0800, {0x8000, 4}}, {1, {0x8000, 15}}, {0, {0x8000, 16}}, {0, {0xffff, 31}}}},
        {"shr.u32", {{0x08000000, {least_s32, 4}}, {1, {least_s32, 31}}, {0, {least_s32, 32}}, {0, {low32, 255}}}},
        {"shr.u64", {{1, {least_s64, 63}}, {0, {least_s64, 64}}, {low32, {~uint64_t{0}, 32}}}},
        {"bfe.u32",
         {{0x56, {0x12345678, 8, 8}},
          {0x1, {0x12345678, 28, 8}},
          {0, {low32, 0, 0}},
          {0, {low32, 32, 4}},
          {low32, {low32, 0, 32}},
          {low32, {low32, 0, 255}},
          {0x7, {low32, 256 + 29, 256 + 8}}}},  // positions and lengths are bytes
        {"bfe.u64",
         {{0x5678, {0x1234567800000000, 32, 16}},
          {1, {least_s64, 63, 8}},
          {0, {~uint64_t{0}, 5, 0}},
          {0, {~uint64_t{0}, 64, 4}},
          {0xffffffff, {~uint64_t{0}, 256 + 32, 256 + 40}}}},
        {"bfe.s32",
         {{0x56, {0x12345678, 8, 8}},
          {0xffffff9a, {0x12349a78, 8, 8}},
          {0, {low32, 0, 0}},
          {low32, {least_s32, 31, 1}},
          {low32, {least_s32, 40, 4}},
          {0xfffffff8, {least_s32, 28, 8}},
          {0, {0x7fffffff, 40, 4}}}},
        {"bfe.s64",
         {{0x56, {0x5678, 8, 8}},
          {0xffffffffffffff9a, {0x9a00000000, 32, 8}},
          {0, {~uint64_t{0}, 5, 0}},
          {~uint64_t{0}, {least_s64, 63, 1}},
          {~uint64_t{0}, {least_s64, 200, 9}},
          {0xfffffffffffffffe, {least_s64, 62, 2}},
          {0xfffffffffffffff8, {least_s64, 60, 32}},
          {0xffffffff80000000, {least_s32, 0, 32}}}},
        {"selp.b16", {{1, {1, 2, 1}}, {2, {1, 2, 0}}}},
        {"selp.b32", {{1, {1, 2, 1}}, {2, {1, 2, 0}}}},
        {"selp.b64", {{least_s64, {least_s64, 2, 1}}, {low32, {1, low32, 0}}}},
        {"selp.f32", {{quiet, {quiet, 2, 1}}, {signaling, {1, signaling, 0}}}},  // bits as they are
        {"mov.b32", {{signaling, {signaling}}}},
        {"mov.b64", {{0x123456789abcdef0, {0x123456789abcdef0}}}},
        {"mov.u32", {{low32, {low32}}}},
        {"cvta.to.global.u64", {{0x7fff00001234, {0x7fff00001234}}}},

        {"setp.eq.b16", {{1, {5, 5}}, {0, {5, 6}}, {0, {0xffff, 0x7fff}}}},
        {"setp.ne.b16", {{0, {5, 5}}, {1, {5, 6}}}},
        {"setp.eq.b32", {{1, {low32, low32}}, {0, {0x10000, 0}}}},
        {"setp.eq.b64", {{1, {least_s64, least_s64}}, {0, {uint64_t{1} << 32, 0}}}},
        {"setp.ne.b32", {{0, {low32, low32}}, {1, {0x10000, 0}}}},
        {"setp.ge.s32", {{0, {low32, 0}}, {1, {0, low32}}, {1, {3, 3}}}},
        {"setp.gt.s32", {{0, {low32, 0}}, {1, {0, low32}}, {0, {3, 3}}}},
        {"setp.le.s32", {{1, {low32, 0}}, {0, {0, low32}}, {1, {3, 3}}}},
        {"setp.lt.s32", {{1, {low32, 0}}, {0, {0, low32}}, {0, {3, 3}}}},
        {"setp.ge.u32", {{1, {low32, 0}}, {0, {0, low32}}, {1, {3, 3}}}},
        {"setp.gt.u32", {{1, {low32, 0}}, {0, {0, low32}}, {0, {3, 3}}}},
        {"setp.lt.u32", {{0, {low32, 0}}, {1, {0, low32}}, {0, {3, 3}}}},
        {"setp.gt.u16", {{1, {0xffff, 0}}, {0, {0, 0xffff}}, {0, {3, 3}}}},
        {"setp.lt.u16", {{0, {0xffff, 0}}, {1, {0, 0xffff}}, {0, {3, 3}}}},
        {"setp.gt.f32",
         {{1, {two, one}},
          {0, {one, two}},
          {0, {one, one}},
          {0, {0, minus_zero}},
          {1, {least, 0}},
          {0, {quiet, one}},
          {0, {one, quiet}}}},
        {"setp.lt.f32",
         {{0, {two, one}},
          {1, {one, two}},
          {0, {one, one}},
          {0, {minus_zero, 0}},
          {1, {0, least}},
          {0, {quiet, one}},
          {0, {one, signaling}}}},
        {"setp.leu.f32",
         {{0, {two, one}},
          {1, {one, two}},
          {1, {one, one}},
          {1, {quiet, one}},
          {1, {one, signaling}},
          {0, {least, 0}}}},
        {"setp.geu.f32",
         {{1, {two, one}},
          {0, {one, two}},
          {1, {one, one}},
          {1, {quiet, one}},
          {1, {one, signaling}},
          {0, {0, least}}}},

        {"cvt.s16.s8", {{0xff80, {0x80}}, {0x7f, {0x7f}}, {0x34, {0x1234}}}},
        {"cvt.s32.s8", {{0xffffff80, {0x80}}, {0x7f, {0x7f}}, {0x34, {0x1234}}}},
        {"cvt.s32.s16", {{0xffff8000, {0x8000}}, {0x7fff, {0x7fff}}, {5, {0x10005}}}},
        {"cvt.s64.s32", {{0xffffffff80000000, {least_s32}}, {0x7fffffff, {0x7fffffff}}}},
        {"cvt.u16.u32", {{0x5678, {0x12345678}}}},
        {"cvt.u16.u64", {{0x5678, {0xffffffff12345678}}}},
        {"cvt.u32.u16", {{0x8000, {0x8000}}}},
        {"cvt.u32.u64", {{0x12345678, {0xffffffff12345678}}}},
        {"cvt.u64.u32", {{low32, {low32}}}},
        {"cvt.rn.f32.s16", {{0xc7000000, {0x8000}}, {0x46fffe00, {0x7fff}}, {minus_one, {0xffff}}}},
        {"cvt.rn.f32.u16", {{0x477fff00, {0xffff}}, {0x47000000, {0x8000}}}},
        {"cvt.rn.f32.s32",
         {{0x4b800000, {16777217}},
          {0x4b800002, {16777219}},
          {0x4f000000, {0x7fffffff}},
          {0xcf000000, {least_s32}},
          {minus_one, {low32}},
          {0, {0}}}},
        {"cvt.rn.f32.u32", {{0x4b800000, {16777217}}, {0x4f800000, {low32}}, {0x4f000000, {least_s32}}}},
        {"cvt.rni.f32.f32",
         {{two, {0x40200000}},
          {0x40800000, {0x40600000}},
          {0, {half}},
          {minus_zero, {0xbf000000}},
          {minus_zero, {minus_zero}},
          {0, {least}},
          {infinity, {infinity}},
          {0x4b000001, {0x4b000001}},
          {any_f32_nan, {quiet}}}},
        {"cvt.rzi.f32.f32",
         {{two, {0x403fffff}},
          {minus_one, {0xbfffffff}},
          {minus_zero, {0xbf7fffff}},
          {0, {least}},
          {minus_infinity, {minus_infinity}},
          {any_f32_nan, {signaling}}}},
        {"cvt.rmi.f32.f32",
         {{two, {0x403fffff}},
          {0xc0000000, {0xbf800001}},
          {minus_one, {0x80000001}},
          {minus_zero, {minus_zero}},
          {any_f32_nan, {quiet}}}},
        {"cvt.rpi.f32.f32",
         {{three, {0x40000001}},
          {minus_one, {0xbfffffff}},
          {one, {least}},
          {minus_zero, {0xbf7fffff}},
          {any_f32_nan, {quiet}}}},
        {"cvt.rzi.s32.f32",
         {{2, {0x403fffff}},
          {low32, {0xbfffffff}},
          {0x7fffffff, {0x4f000000}},
          {0x7fffffff, {infinity}},
          {least_s32, {0xcf000000}},
          {least_s32, {minus_infinity}},
          {0x7fffff80, {0x4effffff}},
          {0, {quiet}},
          {0, {signaling}},
          {0, {least}}}},
        {"cvt.f32.f16",
         {{one, {0x3c00}},
          {0xc77fe000, {0xfbff}},
          {0x33800000, {0x0001}},
          {0x387fc000, {0x03ff}},
          {0x38800000, {0x0400}},
          {minus_zero, {0x8000}},
          {infinity, {0x7c00}},
          {any_f32_nan, {0x7c01}},
          {any_f32_nan, {0xfe00}}}},
        {"cvt.rn.f16.f32",
         {{0x3c00, {one}},
          {0x7bff, {0x477fefff}},
          {0x7c00, {0x477ff000}},
          {0xfc00, {0xc77ff000}},
          {0x7c00, {infinity}},
          {0x7c00, {largest}},  // 65520
          {0x3c00, {0x3f801000}},
          {0x3c02, {0x3f803000}},
          {0x3c01, {0x3f801001}},  // halfway: to even
          {0x0001, {0x33800000}},
          {0x0000, {0x33000000}},
          {0x0001, {0x33000001}},
          {0x0002, {0x33c00000}},  // subnormal: 2^-24, 2^-25
          {0x0400, {0x387fffff}},
          {0x8000, {minus_zero}},
          {0x0000, {least}},
          {any_f16_nan, {quiet}},
          {any_f16_nan, {signaling}}}},
    };
    return all;
}

bool is_f32_nan(uint64_t bits) { return (bits & 0x7fffffff) > 0x7f800000; }
bool is_f16_nan(uint64_t bits) { return (bits & 0x7fff) > 0x7c00; }

void expect_result(uint64_t expected, uint64_t got, bool canonical) {
    if (expected == any_f32_nan) {
        EXPECT_TRUE(canonical ? got == 0x7fffffff : is_f32_nan(got)) << std::hex << got;
    } else if (expected == any_f16_nan) {
        EXPECT_TRUE(canonical ? got == 0x7fff : is_f16_nan(got)) << std::hex << got;
    } else {
        EXPECT_EQ(got, expected) << std::hex << got << ", not " << expected;
    }
}

// Registers of a warp, 256 bytes for each.
class registers {
public:
    registers() { state_.registers = bytes_; }
    uint64_t get(int r, int bits, int lane) {
        return bits == 64 ? state_.lanes_of<uint64_t>(256 * r)[lane] : state_.lanes_of<uint32_t>(256 * r)[lane];
    }
    void set(int r, int bits, int lane, uint64_t value) {
        if (bits == 64) {
            state_.lanes_of<uint64_t>(256 * r)[lane] = value;
        } else {
            state_.lanes_of<uint32_t>(256 * r)[lane] = static_cast<uint32_t>(value);
        }
    }
    ptx::warp &state() { return state_; }

private:
    alignas(64) char bytes_[4 * 256] = {};
    ptx::warp state_;
};

// A vector a lane, over and over, for all lanes, and then for every third.
void try_vectors(const std::vector<vector_of> &of, const std::vector<int> &bits, ptx::action all, ptx::action some,
                 ptx::nan_choice nan) {
    for (const bool whole : {true, false}) {
        registers r;
        r.state().nan = ptx::nan_source(nan, 7);
        ptx::instruction i;
        i.d = 0;
        i.a = 256;
        i.b = 512;
        i.c = 768;
        for (size_t first = 0; first < of.size(); first += lanes) {
            constexpr uint64_t before = 0x55aa55aa;
            for (int lane = 0; lane < lanes; ++lane) {
                const vector_of &v = of[(first + static_cast<size_t>(lane)) % of.size()];
                ASSERT_EQ(v.operands.size() + 1, bits.size());
                r.state().active[lane] = whole || lane % 3 == 0 ? ~uint32_t{0} : 0;
                r.set(0, bits[0], lane, before);
                for (size_t n = 0; n < v.operands.size(); ++n) {
                    r.set(static_cast<int>(n) + 1, bits[n + 1], lane, v.operands[n]);
                }
            }
            (whole ? all : some)(r.state(), i);
            for (int lane = 0; lane < lanes; ++lane) {
                const size_t n = (first + static_cast<size_t>(lane)) % of.size();
                SCOPED_TRACE("vector " + std::to_string(n) + (whole ? "" : ", a part of the lanes"));
                if (r.state().active[lane] != 0) {
                    expect_result(of[n].result, r.get(0, bits[0], lane), nan == ptx::nan_choice::canonical);
                } else {
                    EXPECT_EQ(r.get(0, bits[0], lane), before) << "an inactive lane";
                }
            }
        }
    }
}

TEST(PtxOperations, give_what_the_isa_says) {
    for (const auto &[name, of] : vectors()) {
        SCOPED_TRACE(name);
        const auto found = ptx::opcode_table().find(name);
        ASSERT_NE(found, ptx::opcode_table().end());
        const ptx::opcode &op = found->second;
        for (const ptx::nan_choice nan :
             {ptx::nan_choice::canonical, ptx::nan_choice::propagated, ptx::nan_choice::any, ptx::nan_choice::drawn}) {
            try_vectors(of, op.bits, op.all, op.some, nan);
        }
        if (op.all_of_64 != nullptr) {  // the low bits of a longer register
            std::vector<vector_of> longer = of;
            for (vector_of &v : longer) {
                v.operands[0] |= uint64_t{0xdeadbeef} << 32;
            }
            try_vectors(longer, {op.bits[0], 64}, op.all_of_64, op.some_of_64, ptx::nan_choice::canonical);
        }
    }
}

TEST(PtxOperations, all_have_vectors_or_a_kernel_below) {
    for (const auto &[name, op] : ptx::opcode_table()) {
        EXPECT_EQ(vectors().count(name) != 0, op.is == ptx::shape::plain) << name;
    }
}

TEST(PtxOperations, the_nan_that_is_left_open_is_drawn) {
    ptx::nan_source canonical(ptx::nan_choice::canonical, 1), propagated(ptx::nan_choice::propagated, 1),
        any(ptx::nan_choice::any, 1), drawn(ptx::nan_choice::drawn, 1), other(ptx::nan_choice::drawn, 2);
    std::set<uint32_t> of_any, of_drawn, of_other;
    for (int i = 0; i < 200; ++i) {
        EXPECT_EQ(canonical.f32(0xffc00001), 0x7fffffffu);
        EXPECT_EQ(propagated.f32(0xffc00001), 0xffc00001u);
        of_any.insert(any.f32(0xffc00001));
        of_drawn.insert(drawn.f32(0xffc00001));
        of_other.insert(other.f32(0xffc00001));
        EXPECT_TRUE(is_f16_nan(any.f16(0x7e00)));
    }
    for (const uint32_t bits : of_any) {
        EXPECT_TRUE(is_f32_nan(bits));
    }
    EXPECT_GT(of_any.size(), 190u);
    EXPECT_TRUE(of_drawn.count(0x7fffffff) && of_drawn.count(0xffc00001)) << "canonical and propagated ones, too";
    EXPECT_GT(of_drawn.size(), 50u);
    EXPECT_NE(of_drawn, of_other) << "by the seed";
    EXPECT_EQ(ptx::nan_choice_named("any"), ptx::nan_choice::any);
    EXPECT_EQ(ptx::nan_choice_named("drawn"), ptx::nan_choice::drawn);
    EXPECT_EQ(ptx::nan_choice_named("canonical"), ptx::nan_choice::canonical);
    EXPECT_EQ(ptx::nan_choice_named("propagated"), ptx::nan_choice::propagated);
    EXPECT_THROW(ptx::nan_choice_named("none"), std::invalid_argument);
}

TEST(PtxOperations, take_a_value_apart) {
    bench b(
        "ld.param.b64 %rd1, [in]; ld.param.b64 %rd2, [out]; ld.global.nc.v2.b64 {%rd3, %rd4}, [%rd1];"
        "{ .reg .b32 tmp; mov.b64 {tmp, %r1}, %rd3; } { .reg .b32 tmp; mov.b64 {%r2, tmp}, %rd4; }"
        "st.global.v2.b32 [%rd2], {%r1, %r2}; ret;",
        16, 8);
    const uint64_t in[] = {0x1122334455667788, 0x99aabbccddeeff00};
    b.write(in, sizeof in);
    b.run(1, 1);
    EXPECT_EQ(b.read<uint32_t>(), (std::vector<uint32_t>{0x11223344, 0xddeeff00}));
}

TEST(PtxOperations, take_a_value_of_32_bits_apart) {
    bench b(
        "ld.param.b64 %rd1, [in]; ld.param.b64 %rd2, [out]; ld.global.nc.b32 %r1, [%rd1];"
        "{ .reg .b16 tmp; mov.b32 {tmp, %rs1}, %r1; } { .reg .b16 tmp; mov.b32 {%rs2, tmp}, %r1; }"
        "st.global.b16 [%rd2], %rs1; st.global.b16 [%rd2+2], %rs2; ret;",
        4, 4);
    const uint32_t in = 0x11223344;
    b.write(&in, sizeof in);
    b.run(1, 1);
    EXPECT_EQ(b.read<uint16_t>(), (std::vector<uint16_t>{0x1122, 0x3344}));
}

TEST(PtxOperations, put_a_value_together) {
    bench b(
        "ld.param.b64 %rd1, [in]; ld.param.b64 %rd2, [out]; ld.global.nc.v2.b32 {%r1, %r2}, [%rd1];"
        "mov.b64 %rd3, {%r2, %r1}; mov.b64 {%r3, %r4}, %rd3; st.global.v2.b32 [%rd2], {%r3, %r4}; ret;",
        8, 8);
    const uint32_t in[] = {0x11223344, 0x99aabbcc};
    b.write(in, sizeof in);
    b.run(1, 1);
    EXPECT_EQ(b.read<uint32_t>(), (std::vector<uint32_t>{0x99aabbcc, 0x11223344}));
}

// Memory and parameters: bytes go through unchanged, at an offset, and in registers that are longer.
TEST(PtxOperations, load_and_store) {
    struct access {
        const char *load, *store, *registers;
        size_t bytes;
    };
    const access all[] = {
        {"ld.global.nc.b8", "st.global.b8", "%rs1", 1},
        {"ld.global.nc.b8", "st.global.b8", "%r1", 1},
        {"ld.global.nc.b16", "st.global.b16", "%rs1", 2},
        {"ld.global.nc.b16", "st.global.b16", "%r1", 2},
        {"ld.global.nc.b32", "st.global.b32", "%r1", 4},
        {"ld.global.nc.v2.b32", "st.global.v2.b32", "{%r1, %r2}", 8},
        {"ld.global.nc.v2.b64", "st.global.v2.b64", "{%rd3, %rd4}", 16},
    };
    std::set<std::string> tried = {"ld.global.nc.s8", "ld.global.nc.v4.b32",
                                   "ld.param.b8",     "ld.param.b32",
                                   "ld.param.b64",    "bra",
                                   "bra.uni",         "ret",
                                   "ld.shared.b32",   "st.shared.b32",
                                   "bar.sync"};  // the last three: interpreter_test.cpp
    uint8_t in[48];
    for (size_t i = 0; i < sizeof in; ++i) {
        in[i] = static_cast<uint8_t>(0x81 + 3 * i);
    }
    for (const access &a : all) {
        SCOPED_TRACE(std::string(a.load) + " " + a.registers);
        tried.insert({a.load, a.store});
        bench b(std::string("ld.param.b64 %rd1, [in]; ld.param.b64 %rd2, [out]; ") + a.load + " " + a.registers +
                    ", [%rd1+16]; " + a.store + " [%rd2+16], " + a.registers + "; ret;",
                48, 48);
        b.write(in, sizeof in);
        b.run(1, 1);
        const std::vector<uint8_t> out = b.read<uint8_t>();
        for (size_t i = 0; i < out.size(); ++i) {
            EXPECT_EQ(out[i], i >= 16 && i < 16 + a.bytes ? in[i] : 0xee) << i;
        }
    }
    bench four(
        "ld.param.b64 %rd1, [in]; ld.param.b64 %rd2, [out]; ld.global.nc.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1+16];"
        "st.global.v2.b32 [%rd2], {%r1, %r2}; st.global.v2.b32 [%rd2+8], {%r3, %r4}; ret;",
        48, 16);
    four.write(in, sizeof in);
    four.run(1, 1);
    EXPECT_EQ(std::memcmp(four.read<uint8_t>().data(), in + 16, 16), 0);
    bench with_sign(
        "ld.param.b64 %rd1, [in]; ld.param.b64 %rd2, [out]; ld.global.nc.s8 %r1, [%rd1]; ld.global.nc.s8 %r2, "
        "[%rd1+47];"
        "st.global.v2.b32 [%rd2], {%r1, %r2}; ret;",
        48, 8);
    with_sign.write(in, sizeof in);
    with_sign.run(1, 1);
    EXPECT_EQ(with_sign.read<uint32_t>(), (std::vector<uint32_t>{0xffffff81, 0x0e}));
    for (const auto &[name, op] : ptx::opcode_table()) {
        EXPECT_TRUE(tried.count(name) != 0 || op.is == ptx::shape::plain) << name;
    }
}

TEST(PtxOperations, store_a_number) {
    bench b("ld.param.b64 %rd2, [out]; st.global.b32 [%rd2+4], 258; st.global.b16 [%rd2], -2; ret;", 1, 8);
    b.run(1, 1);
    EXPECT_EQ(b.read<uint32_t>(), (std::vector<uint32_t>{0xeeeefffe, 258}));
}

TEST(PtxOperations, load_parameters_of_every_size) {
    const std::string text = std::string(header) +
                             ".visible .entry k(.param .u64 out, .param .u8 a, .param .u32 b)\n{\n"
                             ".reg .b16 %rs<2>; .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
                             "ld.param.b64 %rd1, [out]; ld.param.b8 %rs1, [a]; ld.param.b32 %r1, [b];\n"
                             "st.global.b16 [%rd1], %rs1; st.global.b32 [%rd1+4], %r1; ret;\n}\n";
    const ptx::program kernel = ptx::decode(text)[0];
    EXPECT_EQ(kernel.parameter_bytes, 16);
    ptx::memory own;
    const uint64_t out = own.allocate(8, nullptr)->begin();
    uint8_t parameters[16] = {};
    std::memcpy(parameters, &out, 8);
    parameters[8] = 0x9c;
    const uint32_t b = 0x12345678;
    std::memcpy(parameters + 12, &b, 4);
    ptx::launch l;
    l.kernel = &kernel;
    l.all_memory = &own;
    l.parameters = parameters;
    std::vector<uint8_t> executed;
    ptx::run(l, executed);
    EXPECT_EQ(*reinterpret_cast<const uint16_t *>(out), 0x9c) << "no sign";
    EXPECT_EQ(*reinterpret_cast<const uint32_t *>(out + 4), b);
}

}  // namespace
}  // namespace ptx_test
