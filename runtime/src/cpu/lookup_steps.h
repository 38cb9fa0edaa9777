// The loops of a lookup, for files that are compiled for one instruction set each: nothing of it is shared between
// them.
#pragma once

#include "targets/lookup.h"

namespace qdq::runtime {
namespace {

// Results(rows) holds the first row's results in registers; look_up<nontemporal>(x, y) takes those of one step's
// columns. The last step of a row begins earlier where its columns are no multiple of a step's.
template<typename Results, bool nontemporal> void look_up_by(lookup_rows all) {
    constexpr int64_t step = result_lookup::step(Results::code_bits);
    constexpr auto x_bytes = [](int64_t columns) { return columns * Results::code_bits / 8; };
    if (all.columns == step) {  // blocks: the loop for others takes as long again
#pragma GCC unroll 4
        for (int64_t r = 0; r < all.rows; r++) {
            Results(all).template look_up<nontemporal>(all.x, all.y);
            all.advance();
        }
        return;
    }
    for (; all.rows > 0; all.rows--) {
        const Results results(all);
        const int64_t last = all.columns - step;
        for (int64_t c = 0; c <= last; c += step) {
            results.template look_up<nontemporal>(all.x + x_bytes(c), all.y + c * Results::bytes);
        }
        if (all.columns % step != 0) {
            results.template look_up<false>(all.x + x_bytes(last), all.y + last * Results::bytes);
        }
        all.advance();
    }
}

template<typename Results> void look_up(const lookup_rows &all) {
    all.nontemporal ? look_up_by<Results, true>(all) : look_up_by<Results, false>(all);
}

// Where rows of half a step are looked up two at a time, each by results of its own.
template<typename Results, typename ResultsOfTwo> void look_up_products(const lookup_rows &all) {
    if (all.columns >= result_lookup::step(Results::code_bits)) {
        look_up<Results>(all);
        return;
    }
    lookup_rows two = all;
    two.columns *= 2;
    two.rows /= 2;
    two.x_bytes *= 2;
    two.y_bytes *= 2;
    two.scale_step *= 2;
    look_up<ResultsOfTwo>(two);
}

}  // namespace
}  // namespace qdq::runtime
