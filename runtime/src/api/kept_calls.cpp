#include "api/kept_calls.h"

#include "cpu/direct_call.h"
#include "support/types.h"
#include "targets/target.h"

#include <atomic>
#include <cstddef>
#include <cstring>
#include <iterator>

namespace qdq::runtime {

namespace {

constexpr int most_rank = 4;
// Those that every caller's options have, and that count for a call that is kept: it is not stochastic.
constexpr int words_of_options = offsetof(qdq_options, random_seed) / sizeof(uint64_t);
constexpr int most_words = 2 + words_of_options + 4 * (2 + 2 * most_rank);

bool is_on_host(const qdq_device &device) {
    return stored_value(device.kind) == QDQ_DEVICE_HOST && device.id == 0 && device.offset == 0;
}

bool fits(const qdq_tensor *tensor) {
    return tensor && tensor->rank >= 0 && tensor->rank <= most_rank && (tensor->rank == 0 || tensor->shape) &&
           is_on_host(tensor->device);
}

bool fits(const arguments &given) {
    return !(given.has_scale_storage && tells_storage(given.options)) && fits(given.x) && fits(given.scale) &&
           fits(given.y) && (!given.zero_point || fits(given.zero_point)) &&
           !(given.options && given.options->block_shape);
}

// These call visit(word) for each word, until it returns false.
template<typename Visit> bool visit_tensor(const qdq_tensor &tensor, Visit visit) {
    const auto dtype = static_cast<uint32_t>(stored_value(tensor.dtype));
    const bool has_strides = tensor.strides != nullptr;
    bool all = visit(reinterpret_cast<uintptr_t>(tensor.data)) &&
               visit(uint64_t{dtype} << 32 | uint64_t(tensor.rank) << 1 | has_strides);
    for (int i = 0; all && i < tensor.rank; i++) {
        all = visit(static_cast<uint64_t>(tensor.shape[i])) &&
              (!has_strides || visit(static_cast<uint64_t>(tensor.strides[i])));
    }
    return all;
}

template<typename Visit> bool visit_options(const qdq_options &options, Visit visit) {
    uint64_t words[words_of_options];
    static_assert(sizeof(words) == offsetof(qdq_options, random_seed));
    std::memcpy(words, &options, sizeof(words));
    bool all = true;
    for (int i = 0; all && i < words_of_options; i++) {
        all = visit(words[i]);
    }
    return all;
}

// All that decides what a call does, but for the contents of its tensors.
template<typename Visit> bool visit_call(const arguments &given, Visit visit) {
    return visit(uint64_t(given.op) << 2 | uint64_t{given.zero_point != nullptr} << 1 | (given.options != nullptr)) &&
           visit_tensor(*given.x, visit) && visit_tensor(*given.y, visit) && visit_tensor(*given.scale, visit) &&
           (!given.zero_point || visit_tensor(*given.zero_point, visit)) &&
           (!given.options || visit_options(*given.options, visit)) &&
           visit(reinterpret_cast<uintptr_t>(current_target()));
}

struct kept_call {
    std::atomic<uint32_t> version;  // how often it has been written; 0: never
    uint64_t words[most_words];
    call op;
    direct_call direct;

    bool is(const arguments &given) const {
        const uint64_t *next = words;
        return version != 0 && visit_call(given, [&](uint64_t word) { return *next++ == word; });
    }
};

// A signal's handler may call the library in the middle of what is done here, on the same thread. While a call is
// written it finds none and keeps none; a call that it has written while another is read is not used.
struct kept_calls {
    std::atomic<bool> writing;
    int next;
    kept_call calls[3];
};

thread_local constinit kept_calls kept{};

void fence() { std::atomic_signal_fence(std::memory_order_seq_cst); }

}  // namespace

bool run_kept(const arguments &given) {
    if (kept.writing || !fits(given)) {
        return false;
    }
    for (const kept_call &each : kept.calls) {
        const uint32_t version = each.version;
        fence();
        if (each.is(given)) {
            const call op = each.op;
            const direct_call direct = each.direct;
            fence();
            return each.version == version && call_directly(op, direct, given.x->data, given.y->data);
        }
    }
    return false;
}

void keep(const arguments &given, const plan &p) {
    if (!p.direct.possible || kept.writing || !fits(given)) {
        return;
    }
    const bool contents_decide = given.zero_point && p.op.codes().is_float();
    const bool threads_decide = p.elements > p.op.tuned->part_elements;
    if (contents_decide || threads_decide) {
        return;
    }
    kept.writing = true;
    fence();
    kept_call &here = kept.calls[kept.next];
    kept.next = (kept.next + 1) % int(std::size(kept.calls));
    here.version = here.version + 1;
    uint64_t *next = here.words;
    visit_call(given, [&](uint64_t word) {
        *next++ = word;
        return true;
    });
    here.op = p.op;
    here.direct = p.direct;
    fence();
    kept.writing = false;
}

}  // namespace qdq::runtime
