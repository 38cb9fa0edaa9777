// pack and unpack: 4-bit codes, one in a byte, to and from two in a byte.

#include "packing.h"
#include "schedule.h"

namespace {

using namespace Halide;
using namespace qdq;

class Pack : public Generator<Pack> {
public:
    GeneratorParam<packing> order{"order", packing::low_first, packing_names()};

    Input<Buffer<uint8_t, 1>> x{"x"};   // codes
    Output<Buffer<uint8_t, 1>> y{"y"};  // half as many bytes

    void generate() {
        Expr first = x(2 * i), second = x(2 * i + 1);
        if (order == packing::split_halves) {
            first = x(i / 16 * 32 + i % 16);
            second = x(i / 16 * 32 + i % 16 + 16);
        } else if (order == packing::high_first) {
            std::swap(first, second);
        }
        y(i) = (first & 0xf) | (second << 4);
    }

    void schedule() { apply_schedule(get_target(), pack_stages{y, order == packing::split_halves}); }

private:
    Var i{"i"};
};

class Unpack : public Generator<Unpack> {
public:
    GeneratorParam<packing> order{"order", packing::low_first, packing_names()};
    GeneratorParam<bool> is_signed{"is_signed", false};

    Input<Buffer<uint8_t, 1>> x{"x"};   // bytes
    Output<Buffer<uint8_t, 1>> y{"y"};  // twice as many codes

    void generate() {
        const bool split = order == packing::split_halves;
        Expr byte = split ? x(i / 32 * 16 + i % 16) : x(i / 2);
        Expr is_second = split ? i / 16 % 2 == 1 : i % 2 == 1;
        Expr is_high = order == packing::high_first ? !is_second : is_second;
        Expr code = select(is_high, byte >> 4, byte & 0xf);
        y(i) = is_signed ? select((code & 8) != 0, code | 0xf0, code) : code;
    }

    void schedule() { apply_schedule(get_target(), unpack_stages{y, order == packing::split_halves}); }

private:
    Var i{"i"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Pack, pack)
HALIDE_REGISTER_GENERATOR(Unpack, unpack)
