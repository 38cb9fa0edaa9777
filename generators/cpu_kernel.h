// What both operations' kernels for processors share: their forms, operands and variants.
#pragma once

#include "element_type.h"
#include "forms.h"

#include "Halide.h"

#include <map>
#include <string>
#include <vector>

namespace qdq {

using namespace kernels;

inline const std::map<std::string, form> &form_names() {
    static const std::map<std::string, form> names = {
        {"row", form::row}, {"column", form::column}, {"block", form::block}};
    return names;
}

inline Halide::Expr operand_index(form f, const element_type &stored, Halide::Expr c, Halide::Expr r) {
    switch (f) {
    case form::row: return r;
    case form::column: return c;
    default: return c / stored.block;
    }
}

// The dispatcher's views start at 0. Those of a row form's operands may have stride 0: one operand for all rows.
template<typename Operand> void declare_operand_view(form f, Operand &operand) {
    operand.dim(0).set_min(0);
    if (f == form::row) {
        operand.dim(0).set_stride(Halide::Expr());
    }
}

// One of a kernel's variants, where only that one is asked for: by their number, or -1 for all.
template<typename Kind> std::vector<Kind> only(int wanted, const std::vector<Kind> &all) {
    return wanted < 0 ? all : std::vector<Kind>{static_cast<Kind>(wanted)};
}

// What a call is like, for autoschedulers: 16 rows of 4096 elements.
constexpr int estimated_rows = 16, estimated_columns = 4096;

template<typename View> void estimate_view(View &view, const element_type &t) {
    view.set_estimates({{0, estimated_columns / t.codes_per_byte()}, {0, estimated_rows}});
}

template<typename Operand> void estimate_operand(form f, const element_type &stored, Operand &operand) {
    const int extent = f == form::row      ? estimated_rows
                       : f == form::column ? estimated_columns
                                           : estimated_columns / stored.block;
    operand.set_estimates({{0, extent}});
}

// The value of the variant that a call asks for, of those that a kernel has.
template<typename Kind, typename Value>
Halide::Expr select_variant(const Halide::Expr &variant, const std::vector<Kind> &variants, Value &&value) {
    Halide::Expr all = value(variants.back());
    for (size_t i = variants.size() - 1; i-- > 0;) {
        all = Halide::select(variant == static_cast<int>(variants[i]), value(variants[i]), all);
    }
    return all;
}

// The condition of each variant: a schedule makes one copy of the loops for each.
template<typename Kind>
std::vector<Halide::Expr> conditions_of(const Halide::Expr &variant, const std::vector<Kind> &variants) {
    std::vector<Halide::Expr> all;
    for (Kind k : variants) {
        all.push_back(variant == static_cast<int>(k));
    }
    return all;
}

}  // namespace qdq
