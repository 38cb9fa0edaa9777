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

// Which of a kernel's operands an element takes, where numbers hold `places` elements of its columns each. In the block
// form a vector of `lanes` numbers may meet several blocks: each lane then chooses the operand of its own.
struct operand_selection {
    form its_form;
    int block, longest_block;  // of the stored type; a loop for each, where they differ
    int places, lanes;
    Halide::Expr columns, operands;  // how many a call has

    // Whether a call has the longest blocks; undefined where a type has no others.
    Halide::Expr has_longest_blocks() const {
        return its_form == form::block && block < longest_block ? columns >= operands * longest_block : Halide::Expr();
    }

    // The operand of a place of number c of row r.
    template<typename Operand>
    Halide::Expr of(Operand &operand, const Halide::Expr &c, const Halide::Expr &place, const Halide::Expr &r) const {
        if (its_form != form::block) {
            return operand(its_form == form::row ? r : places * c + place);
        }
        Halide::Expr shared = of_block(operand, c, block);
        return block < longest_block ? select(has_longest_blocks(), of_block(operand, c, longest_block), shared)
                                     : shared;
    }

private:
    template<typename Operand> Halide::Expr of_block(Operand &operand, const Halide::Expr &c, int length) const {
        // The operands of longer blocks are fewer, and bounds are of those that there are.
        const auto number = [&](const Halide::Expr &i) {
            return operand(Halide::unsafe_promise_clamped(i, 0, operands - 1));
        };
        const int met = lanes * places / length;
        if (met <= 1) {
            return number(places * c / length);
        }
        Halide::Expr first = c / lanes * met, all = number(first + met - 1);
        for (int i = met - 1; i-- > 0;) {
            all = select(c % lanes < (i + 1) * (lanes / met), number(first + i), all);
        }
        return all;
    }
};

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

// Each condition twice, with another one and without it; as they are, where that one is undefined.
inline std::vector<Halide::Expr> with_and_without(const Halide::Expr &other,
                                                  const std::vector<Halide::Expr> &conditions) {
    if (!other.defined()) {
        return conditions;
    }
    std::vector<Halide::Expr> all;
    for (const Halide::Expr &condition : conditions) {
        all.push_back(condition && other);
        all.push_back(condition && !other);
    }
    return all;
}

}  // namespace qdq
