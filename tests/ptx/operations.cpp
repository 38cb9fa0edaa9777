#include "operations.h"

#include "float_rules.h"
#include "warp.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

namespace ptx {

namespace {

using s8 = int8_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;

template<typename T> using lane_of = std::conditional_t<sizeof(T) == 8, u64, u32>;
template<typename T>
constexpr int bits_of = std::is_same_v<T, bool> ? 1 : std::max(16, static_cast<int>(8 * sizeof(T)));

template<typename T> T taken(lane_of<T> lane) {
    if constexpr (std::is_same_v<T, float>) {
        return std::bit_cast<float>(lane);
    } else {
        return static_cast<T>(lane);
    }
}
template<typename T> lane_of<T> given(T value) {
    if constexpr (std::is_same_v<T, float>) {
        return std::bit_cast<u32>(value);
    } else if constexpr (std::is_same_v<T, bool>) {
        return value;
    } else {
        return static_cast<std::make_unsigned_t<T>>(value);
    }
}

// ---- what instructions compute for a lane. Integers wrap, so they are computed without signs.

template<typename T> T add(T a, T b) { return static_cast<T>(a + b); }
template<typename T> T sub(T a, T b) { return static_cast<T>(a - b); }
template<typename T> T mul(T a, T b) { return static_cast<T>(a * b); }
template<typename T> T mad(T a, T b, T c) { return static_cast<T>(a * b + c); }
template<typename Wide, typename T> Wide mul_wide(T a, T b) { return static_cast<Wide>(Wide{a} * Wide{b}); }
template<typename T> T min_of(T a, T b) { return a < b ? a : b; }
template<typename T> T max_of(T a, T b) { return a > b ? a : b; }
template<typename T> T both(T a, T b) { return static_cast<T>(a & b); }
template<typename T> T either(T a, T b) { return static_cast<T>(a | b); }
template<typename T> T different(T a, T b) { return static_cast<T>(a ^ b); }
template<typename T> T inverse(T a) { return static_cast<T>(~a); }
template<> bool inverse(bool a) { return !a; }
template<typename T> T same(T a) { return a; }
template<typename T> T select(T a, T b, bool first) { return first ? a : b; }

// Shifts by more than the bits there are shift all of them out.
template<typename T> T shl(T a, u32 n) { return n < 8 * sizeof(T) ? static_cast<T>(u64{a} << n) : T{0}; }
template<typename T> T shr(T a, u32 n) {
    constexpr u32 most = 8 * sizeof(T) - 1;
    return std::is_signed_v<T> ? static_cast<T>(a >> std::min(n, most)) : n <= most ? static_cast<T>(a >> n) : T{0};
}

// `length` bits from `from` on, extended by the last of them that there is, or by zeros.
template<typename T> T bfe(T a, u32 from, u32 length) {
    constexpr u32 bits = 8 * sizeof(T);
    from &= 255;
    length &= 255;
    const T shifted = shr(a, from);
    const u32 above = bits - std::min(length, bits);
    const T placed = static_cast<T>(static_cast<std::make_unsigned_t<T>>(shifted) << (above % bits));
    return length == 0 ? T{0} : from + length >= bits ? shifted : static_cast<T>(placed >> (above % bits));
}

u32 sign_of_first(u32 a, u32 b) { return (a & 0x80000000) | (b & 0x7fffffff); }
u32 mul_hi(u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }
u32 negative(u32 a) { return 0 - a; }

// Of the bytes of a, and of b behind them, the four that the digits of a selector number; with bit 3 their sign alone.
u32 prmt(u32 a, u32 b, u32 selector) {
    const u64 bytes = u64{b} << 32 | a;
    u32 made = 0;
    for (int i = 0; i < 4; ++i) {
        const u32 digit = selector >> (4 * i);
        const u32 byte = static_cast<u32>(bytes >> (8 * (digit & 7))) & 255;
        made |= (digit & 8 ? byte >> 7 ? u32{255} : u32{0} : byte) << (8 * i);
    }
    return made;
}

float fma_of(float a, float b, float c) { return std::fma(a, b, c); }
float quotient(float a, float b) { return a / b; }
float negated(float a) { return std::bit_cast<float>(std::bit_cast<u32>(a) ^ 0x80000000); }
float magnitude(float a) { return std::bit_cast<float>(std::bit_cast<u32>(a) & 0x7fffffff); }

template<typename T> bool eq(T a, T b) { return a == b; }
template<typename T> bool ne(T a, T b) { return a != b; }
template<typename T> bool lt(T a, T b) { return a < b; }
template<typename T> bool le(T a, T b) { return a <= b; }
template<typename T> bool gt(T a, T b) { return a > b; }
template<typename T> bool ge(T a, T b) { return a >= b; }
bool leu(float a, float b) { return !(a > b); }
bool geu(float a, float b) { return !(a < b); }

template<typename To, typename From> To convert(From a) { return static_cast<To>(a); }
template<typename To, typename From> To convert_low(u64 a) { return static_cast<To>(static_cast<From>(a)); }

// ---- and for a warp

template<bool All, typename T> void put(const warp &w, lane_of<T> *to, int lane, lane_of<T> value) {
    to[lane] = All || w.active[lane] != 0 ? value : to[lane];
}

template<auto F, bool All, typename R, typename... A, size_t... N>
void run_lanes(warp &w, const instruction &i, R (*)(A...), std::index_sequence<N...>) {
    const int32_t at[] = {i.a, i.b, i.c};
    lane_of<R> *const to = w.lanes_of<lane_of<R>>(i.d);
    const std::tuple<const lane_of<A> *...> from{w.lanes_of<lane_of<A>>(at[N])...};
#pragma GCC ivdep
    for (int lane = 0; lane < lanes; ++lane) {
        put<All, R>(w, to, lane, given<R>(F(taken<A>(std::get<N>(from)[lane])...)));
    }
}

template<typename R, typename... A> std::index_sequence_for<A...> indices(R (*)(A...)) { return {}; }

template<auto F, bool All> void plain(warp &w, const instruction &i) { run_lanes<F, All>(w, i, F, indices(F)); }

// A NaN that this gives may be another one.
template<auto F, bool All, typename... A, size_t... N>
void run_arithmetic(warp &w, const instruction &i, float (*)(A...), std::index_sequence<N...>) {
    const int32_t at[] = {i.a, i.b, i.c};
    u32 *const to = w.lanes_of<u32>(i.d);
    const std::tuple<const lane_of<A> *...> from{w.lanes_of<lane_of<A>>(at[N])...};
    alignas(64) u32 results[lanes];
    u32 any = 0;
    for (int lane = 0; lane < lanes; ++lane) {
        results[lane] = std::bit_cast<u32>(F(taken<A>(std::get<N>(from)[lane])...));
        any |= static_cast<u32>((results[lane] & 0x7fffffff) > 0x7f800000);
    }
    for (int lane = 0; any != 0 && lane < lanes; ++lane) {
        if ((results[lane] & 0x7fffffff) > 0x7f800000) {
            results[lane] = w.nan.f32(results[lane]);
        }
    }
#pragma GCC ivdep
    for (int lane = 0; lane < lanes; ++lane) {
        put<All, u32>(w, to, lane, results[lane]);
    }
}

template<auto F, bool All> void arithmetic(warp &w, const instruction &i) {
    run_arithmetic<F, All>(w, i, F, indices(F));
}

template<bool All> void to_f16(warp &w, const instruction &i) {
    u32 *const to = w.lanes_of<u32>(i.d);
    const u32 *const from = w.lanes_of<u32>(i.a);
    for (int lane = 0; lane < lanes; ++lane) {
        const u16 half = f32_to_f16(taken<float>(from[lane]));
        put<All, u32>(w, to, lane, is_nan_f16(half) ? w.nan.f16(half) : half);
    }
}

template<typename Whole, typename Half, bool All> void unpack(warp &w, const instruction &i) {
    const Whole *const from = w.lanes_of<Whole>(i.a);
    for (int lane = 0; lane < lanes; ++lane) {
        put<All, Half>(w, w.lanes_of<u32>(i.list[0]), lane, static_cast<Half>(from[lane]));
        put<All, Half>(w, w.lanes_of<u32>(i.list[1]), lane, static_cast<Half>(from[lane] >> 8 * sizeof(Half)));
    }
}

template<bool All> void pack(warp &w, const instruction &i) {
    const u32 *const low = w.lanes_of<u32>(i.list[0]), *const high = w.lanes_of<u32>(i.list[1]);
    for (int lane = 0; lane < lanes; ++lane) {
        put<All, u64>(w, w.lanes_of<u64>(i.d), lane, u64{high[lane]} << 32 | low[lane]);
    }
}

template<typename T, bool All> void load_parameter(warp &w, const instruction &i) {
    T value;
    std::memcpy(&value, w.parameters + i.offset, sizeof value);
    lane_of<T> *const to = w.lanes_of<lane_of<T>>(i.d);
    for (int lane = 0; lane < lanes; ++lane) {
        put<All, T>(w, to, lane, given<T>(value));
    }
}

enum class space { global, shared };

// Where a lane's bytes are, checked; and the sectors that the warp's accesses touch, counted: those of more than a
// byte, as kernels read operands byte by byte, of which lanes share many. A sector that the lane before has touched is
// not another. Shared memory has none.
template<typename T, int Elements, space Of> class access {
public:
    static constexpr u64 bytes = sizeof(T) * Elements;

    access(warp &w, const instruction &i) : w_(w), i_(i) {}

    // What a lane reads, and where it may write.
    const T *read_at(int lane, u64 address) {
        allocation &in = allocation_at(lane, address);
        expect_none(lane, address, in.read(placed(address), bytes, stamp(lane)));
        return reinterpret_cast<const T *>(placed(address));
    }
    T *write_at(int lane, u64 address) {
        allocation &in = allocation_at(lane, address);
        expect_none(lane, address, in.write(placed(address), bytes, stamp(lane)));
        return reinterpret_cast<T *>(placed(address));
    }

private:
    thread_stamp stamp(int lane) const { return w_.stamp(Of == space::shared ? w_.phase : w_.launch, lane); }

    u64 placed(u64 address) const { return Of == space::shared ? w_.shared->begin() + address : address; }

    allocation &allocation_at(int lane, u64 address) {
        if (address % bytes != 0) {
            w_.stop(fault::kind::misaligned, i_, lane, "misaligned address " + hex(address));
        }
        if constexpr (Of == space::shared) {
            const u64 size = w_.shared == nullptr ? 0 : w_.shared->end() - w_.shared->begin();
            if (bytes > size || address > size - bytes) {
                w_.stop(fault::kind::no_memory, i_, lane, "no shared memory at " + hex(address));
            }
            return *w_.shared;
        }
        allocation *const in = w_.allocation_of(address, bytes);
        if (in == nullptr || in->owner() != w_.context) {
            w_.stop(fault::kind::no_memory, i_, lane,
                    in == nullptr ? "no memory at " + hex(address) : "another context's memory at " + hex(address));
        }
        count_sector(address);
        return *in;
    }

    void count_sector(u64 address) {
        constexpr u64 sector = 32;
        if (bytes > 1) {
            w_.done.sectors += address / sector != latest_sector_;
            latest_sector_ = address / sector;
            w_.done.bytes += bytes;
        }
    }

    void expect_none(int lane, u64 address, const char *why) {
        if (*why != 0) {
            w_.stop(fault::kind::other, i_, lane, std::string(why) + ": " + hex(address));
        }
    }

    static std::string hex(u64 address) {
        char text[32];
        std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
        return text;
    }

    warp &w_;
    const instruction &i_;
    u64 latest_sector_ = ~u64{0};
};

template<typename T, int Elements, space Of> void load(warp &w, const instruction &i) {
    access<T, Elements, Of> checked(w, i);
    const u64 *const addresses = w.lanes_of<u64>(i.a);
    for (int lane = 0; lane < lanes; ++lane) {
        if (w.active[lane] == 0) {
            continue;
        }
        const T *const from = checked.read_at(lane, addresses[lane] + i.offset);
        for (int n = 0; n < Elements; ++n) {
            T value;
            std::memcpy(&value, from + n, sizeof value);
            w.lanes_of<lane_of<T>>(i.list[n])[lane] = value;
        }
    }
}

template<typename T, int Elements, space Of> void store(warp &w, const instruction &i) {
    access<T, Elements, Of> checked(w, i);
    const u64 *const addresses = w.lanes_of<u64>(i.a);
    for (int lane = 0; lane < lanes; ++lane) {
        if (w.active[lane] == 0) {
            continue;
        }
        T *const to = checked.write_at(lane, addresses[lane] + i.offset);
        for (int n = 0; n < Elements; ++n) {
            const T value = static_cast<T>(w.lanes_of<lane_of<T>>(i.list[n])[lane]);
            std::memcpy(to + n, &value, sizeof value);
        }
    }
}

// ---- the table

template<typename R, typename... A> std::vector<int> bits_taken(R (*)(A...)) { return {bits_of<R>, bits_of<A>...}; }

template<auto F> opcode row() { return {shape::plain, plain<F, true>, plain<F, false>, bits_taken(F)}; }
template<auto F> opcode arithmetic_row() {
    return {shape::plain, arithmetic<F, true>, arithmetic<F, false>, bits_taken(F)};
}
template<typename To, typename From> opcode conversion_row() {
    constexpr auto from_64 = convert_low<To, From>;
    opcode o = row<convert<To, From>>();
    o.wider_source = true;
    o.all_of_64 = plain<from_64, true>;
    o.some_of_64 = plain<from_64, false>;
    return o;
}
template<typename T> opcode parameter_row() {
    return {shape::load_parameter, load_parameter<T, true>, load_parameter<T, false>, {bits_of<T>}, true};
}
template<typename T, int Elements, space Of = space::global> opcode load_row() {
    opcode o{shape::load, load<T, Elements, Of>, load<T, Elements, Of>, {bits_of<T>}, true};
    o.elements = Elements;
    return o;
}
template<typename T, int Elements, space Of = space::global> opcode store_row() {
    opcode o{shape::store, store<T, Elements, Of>, store<T, Elements, Of>, {bits_of<T>}, true};
    o.elements = Elements;
    return o;
}

std::map<std::string, opcode, std::less<>> make_table() {
    return {
        {"abs.f32", arithmetic_row<magnitude>()},
        {"add.rn.f32", arithmetic_row<add<float>>()},
        {"add.s32", row<add<u32>>()},
        {"add.s64", row<add<u64>>()},
        {"and.b16", row<both<u16>>()},
        {"and.b32", row<both<u32>>()},
        {"and.b64", row<both<u64>>()},
        {"and.pred", row<both<bool>>()},
        {"bar.sync", {shape::barrier}},
        {"bfe.s32", row<bfe<s32>>()},
        {"bfe.s64", row<bfe<s64>>()},
        {"bfe.u32", row<bfe<u32>>()},
        {"bfe.u64", row<bfe<u64>>()},
        {"bra", {shape::branch}},
        {"bra.uni", {shape::branch}},
        {"copysign.f32", row<sign_of_first>()},
        {"cvt.f32.f16", arithmetic_row<f16_to_f32>()},
        {"cvt.rmi.f32.f32", arithmetic_row<to_integral<rounding::down>>()},
        {"cvt.rn.f16.f32", {shape::plain, to_f16<true>, to_f16<false>, {16, 32}}},
        {"cvt.rn.f32.s16", conversion_row<float, s16>()},
        {"cvt.rn.f32.s32", conversion_row<float, s32>()},
        {"cvt.rn.f32.u16", conversion_row<float, u16>()},
        {"cvt.rn.f32.u32", conversion_row<float, u32>()},
        {"cvt.rni.f32.f32", arithmetic_row<to_integral<rounding::nearest_even>>()},
        {"cvt.rpi.f32.f32", arithmetic_row<to_integral<rounding::up>>()},
        {"cvt.rzi.f32.f32", arithmetic_row<to_integral<rounding::toward_zero>>()},
        {"cvt.rzi.s32.f32", row<f32_to_s32>()},
        {"cvt.s16.s8", conversion_row<s16, s8>()},
        {"cvt.s32.s16", conversion_row<s32, s16>()},
        {"cvt.s32.s8", conversion_row<s32, s8>()},
        {"cvt.s64.s32", conversion_row<s64, s32>()},
        {"cvt.u16.u32", conversion_row<u16, u32>()},
        {"cvt.u16.u64", row<convert<u16, u64>>()},
        {"cvt.u32.u16", conversion_row<u32, u16>()},
        {"cvt.u32.u64", row<convert<u32, u64>>()},
        {"cvt.u64.u32", conversion_row<u64, u32>()},
        {"cvta.to.global.u64", row<same<u64>>()},
        {"div.rn.f32", arithmetic_row<quotient>()},
        {"fma.rn.f32", arithmetic_row<fma_of>()},
        {"ld.global.nc.b16", load_row<u16, 1>()},
        {"ld.global.nc.b32", load_row<u32, 1>()},
        {"ld.global.nc.b8", load_row<uint8_t, 1>()},
        {"ld.global.nc.s8", load_row<s8, 1>()},
        {"ld.global.nc.v2.b32", load_row<u32, 2>()},
        {"ld.global.nc.v2.b64", load_row<u64, 2>()},
        {"ld.global.nc.v4.b32", load_row<u32, 4>()},
        {"ld.param.b32", parameter_row<u32>()},
        {"ld.param.b64", parameter_row<u64>()},
        {"ld.param.b8", parameter_row<uint8_t>()},
        {"ld.shared.b32", load_row<u32, 1, space::shared>()},
        {"mad.lo.s32", row<mad<u32>>()},
        {"mad.lo.s64", row<mad<u64>>()},
        {"max.f32", arithmetic_row<greater>()},
        {"max.s32", row<max_of<s32>>()},
        {"max.u32", row<max_of<u32>>()},
        {"min.f32", arithmetic_row<lesser>()},
        {"min.s32", row<min_of<s32>>()},
        {"min.u32", row<min_of<u32>>()},
        {"mov.b32", row<same<u32>>()},
        {"mov.b64", row<same<u64>>()},
        {"mov.u32", row<same<u32>>()},
        {"mul.hi.u32", row<mul_hi>()},
        {"mul.lo.s32", row<mul<u32>>()},
        {"mul.lo.s64", row<mul<u64>>()},
        {"mul.rn.f32", arithmetic_row<mul<float>>()},
        {"mul.wide.s32", row<mul_wide<s64, s32>>()},
        {"mul.wide.u16", row<mul_wide<u32, u16>>()},
        {"mul.wide.u32", row<mul_wide<u64, u32>>()},
        {"neg.f32", arithmetic_row<negated>()},
        {"neg.s32", row<negative>()},
        {"not.b32", row<inverse<u32>>()},
        {"not.pred", row<inverse<bool>>()},
        {"or.b16", row<either<u16>>()},
        {"or.b32", row<either<u32>>()},
        {"or.b64", row<either<u64>>()},
        {"or.pred", row<either<bool>>()},
        {"prmt.b32", row<prmt>()},
        {"ret", {shape::finish}},
        {"selp.b16", row<select<u16>>()},
        {"selp.b32", row<select<u32>>()},
        {"selp.b64", row<select<u64>>()},
        {"selp.f32", row<select<u32>>()},
        {"setp.eq.b16", row<eq<u16>>()},
        {"setp.eq.b32", row<eq<u32>>()},
        {"setp.eq.b64", row<eq<u64>>()},
        {"setp.ge.s32", row<ge<s32>>()},
        {"setp.ge.u32", row<ge<u32>>()},
        {"setp.geu.f32", row<geu>()},
        {"setp.gt.f32", row<gt<float>>()},
        {"setp.gt.s32", row<gt<s32>>()},
        {"setp.gt.u16", row<gt<u16>>()},
        {"setp.gt.u32", row<gt<u32>>()},
        {"setp.le.s32", row<le<s32>>()},
        {"setp.leu.f32", row<leu>()},
        {"setp.lt.f32", row<lt<float>>()},
        {"setp.lt.s32", row<lt<s32>>()},
        {"setp.lt.u16", row<lt<u16>>()},
        {"setp.lt.u32", row<lt<u32>>()},
        {"setp.ne.b16", row<ne<u16>>()},
        {"setp.ne.b32", row<ne<u32>>()},
        {"shl.b16", row<shl<u16>>()},
        {"shl.b32", row<shl<u32>>()},
        {"shl.b64", row<shl<u64>>()},
        {"shr.s32", row<shr<s32>>()},
        {"shr.s64", row<shr<s64>>()},
        {"shr.u16", row<shr<u16>>()},
        {"shr.u32", row<shr<u32>>()},
        {"shr.u64", row<shr<u64>>()},
        {"st.global.b16", store_row<u16, 1>()},
        {"st.global.b32", store_row<u32, 1>()},
        {"st.global.b8", store_row<uint8_t, 1>()},
        {"st.global.v2.b32", store_row<u32, 2>()},
        {"st.global.v2.b64", store_row<u64, 2>()},
        {"st.shared.b32", store_row<u32, 1, space::shared>()},
        {"sub.s32", row<sub<u32>>()},
        {"sub.s64", row<sub<u64>>()},
        {"xor.b32", row<different<u32>>()},
    };
}

}  // namespace

const std::map<std::string, opcode, std::less<>> &opcode_table() {
    static const std::map<std::string, opcode, std::less<>> table = make_table();
    return table;
}

opcode pack_64() { return {shape::plain, pack<true>, pack<false>, {64, 32}}; }

opcode unpack_64() { return {shape::plain, unpack<u64, u32, true>, unpack<u64, u32, false>, {32, 64}}; }

opcode unpack_32() { return {shape::plain, unpack<u32, u16, true>, unpack<u32, u16, false>, {16, 32}}; }

}  // namespace ptx
