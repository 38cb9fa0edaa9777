// How a kernel's two dimensions, c (contiguous) and r, meet the scale. The dispatcher reshapes every call to these.
#pragma once

#include "Halide.h"

#include <map>
#include <string>

namespace qdq {

enum class form {
    row,     // one operand for each r: per tensor, channels before the last axis, long blocks
    column,  // one operand for each c: channels along the last axis, and anything else the dispatcher spreads out
    block,   // one operand for each `block` consecutive c (kernels.cmake): blocks along the last axis
};

inline const std::map<std::string, form> &form_names() {
    static const std::map<std::string, form> names = {
        {"row", form::row}, {"column", form::column}, {"block", form::block}};
    return names;
}

inline Halide::Expr operand_index(form f, int block, Halide::Expr c, Halide::Expr r) {
    switch (f) {
    case form::row:
        return r;
    case form::column:
        return c;
    default:
        return c / block;
    }
}

// The dispatcher's views start at 0. Those of a row form's operands may have stride 0: one operand for all rows.
template<typename Operand>
void declare_operand_view(form f, Operand &operand) {
    operand.dim(0).set_min(0);
    if (f == form::row) {
        operand.dim(0).set_stride(Halide::Expr());
    }
}

// Kernels work on groups of 64 elements of c; the dispatcher hands them nothing else. Naming an element of a group by
// digits, place = 16 * vector + 8 * half + lane, lets a schedule choose the order in which codes are narrowed.
constexpr int group_size = 64;

struct lane_order {
    Halide::Var lane{"lane"}, half{"half"}, vector{"vector"}, group{"group"};

    Halide::Expr index() const { return group * group_size + vector * 16 + half * 8 + lane; }

    std::vector<Halide::Var> arguments(Halide::Var r) const { return {lane, half, vector, group, r}; }

    std::vector<Halide::Expr> place(Halide::Expr c, Halide::Expr r) const {
        Halide::Expr i = c % group_size;
        return {i % 8, (i / 8) % 2, i / 16, c / group_size, r};
    }
};

}  // namespace qdq
