// The orders in which a generator computes the codes of a group, for a schedule to narrow them without shuffles.
#pragma once

#include "forms.h"

#include "Halide.h"

#include <vector>

namespace qdq {

using kernels::group_size;

// Naming an element of a group by digits, place = 16 * vector + 8 * half + lane, lets a schedule choose the order in
// which codes are narrowed.
struct lane_order {
    Halide::Var lane{"lane"}, half{"half"}, vector{"vector"}, group{"group"};

    Halide::Expr index() const { return group * group_size + vector * 16 + half * 8 + lane; }

    std::vector<Halide::Var> arguments(Halide::Var r) const { return {lane, half, vector, group, r}; }

    std::vector<Halide::Expr> place(Halide::Expr c, Halide::Expr r) const {
        Halide::Expr i = c % group_size;
        return {i % 8, (i / 8) % 2, i / 16, c / group_size, r};
    }
};

// Others, place = 32 * half + 16 * vector + 4 * quad + lane, for codes that are added to on their way: in the order
// lane, vector, quad they stand as vpackssdw leaves those of two zmm registers.
struct word_order {
    Halide::Var lane{"lane"}, vector{"vector"}, quad{"quad"}, half{"half"}, group{"group"};

    Halide::Expr index() const { return group * group_size + half * 32 + vector * 16 + quad * 4 + lane; }

    std::vector<Halide::Var> arguments(Halide::Var r) const { return {lane, vector, quad, half, group, r}; }

    std::vector<Halide::Expr> place(Halide::Expr c, Halide::Expr r) const {
        Halide::Expr i = c % group_size;
        return {i % 4, (i / 16) % 2, (i / 4) % 4, i / 32, c / group_size, r};
    }
};

}  // namespace qdq
