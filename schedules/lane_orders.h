// The orders in which codes of a group can be narrowed, for a schedule to choose one that takes no shuffles.
#pragma once

#include "forms.h"

#include "Halide.h"

#include <vector>

namespace qdq {

using kernels::group_size;

// Naming an element of a group by digits, the lowest first, lets a schedule choose the order in which codes are
// narrowed.
struct lane_order {
    struct digit {
        Halide::Var name;
        int extent;
    };

    Halide::Var lane{"lane"}, quad{"quad"}, half{"half"}, vector{"vector"}, pair{"pair"}, group{"group"};
    std::vector<digit> digits = {{lane, 8}, {half, 2}, {vector, 4}};

    // Others where neighbours stay together by four: for codes that are added to on their way, and for what registers
    // of 256 bits narrow to 8, as each of their two instructions exchanges another digit with that of quads.
    static lane_order of_words() {
        lane_order l;
        l.digits = {{l.lane, 4}, {l.quad, 4}, {l.vector, 2}, {l.half, 2}};
        return l;
    }
    static lane_order of_quads() {
        lane_order l;
        l.digits = {{l.lane, 4}, {l.quad, 2}, {l.half, 2}, {l.vector, 2}, {l.pair, 2}};
        return l;
    }

    Halide::Expr index() const {
        Halide::Expr sum = group * group_size;
        int step = group_size;
        for (size_t i = digits.size(); i-- > 0;) {
            step /= digits[i].extent;
            sum = sum + digits[i].name * step;
        }
        return sum;
    }

    std::vector<Halide::Var> arguments(const Halide::Var &r) const {
        std::vector<Halide::Var> all = in_order();
        all.insert(all.end(), {group, r});
        return all;
    }

    std::vector<Halide::Expr> place(const Halide::Expr &c, const Halide::Expr &r) const {
        std::vector<Halide::Expr> all;
        int step = 1;
        for (const digit &d : digits) {
            all.push_back(c % group_size / step % d.extent);
            step *= d.extent;
        }
        all.insert(all.end(), {c / group_size, r});
        return all;
    }

    std::vector<Halide::Var> in_order() const {
        std::vector<Halide::Var> names;
        for (const digit &d : digits) {
            names.push_back(d.name);
        }
        return names;
    }
};

}  // namespace qdq
