#include "executors.h"

#include <qdq/compat/terms.hpp>

#include <atomic>
#include <bit>
#include <cinttypes>
#include <cstdlib>

namespace qdq::compat {

namespace {

static_assert(sizeof(uintptr_t) == 8);

struct slot : executor {
    std::atomic<uint32_t> uses;  // odd while it is in use
};

// Chunk c has 64 * 2^c slots. Only the first is there from the beginning, and none goes: their number is that of
// executors that were there at one time.
constexpr uint32_t first_slots = 64;
constexpr int most_chunks = 24;
slot first_chunk[first_slots];
std::atomic<slot *> chunks[most_chunks] = {first_chunk};

uint32_t slots_in(int chunk) { return first_slots << chunk; }

// A chunk that may have to be made first; NULL when memory is short.
slot *chunk_at(int chunk) {
    slot *present = chunks[chunk].load(std::memory_order_acquire);
    if (present) {
        return present;
    }
    auto *made = static_cast<slot *>(std::calloc(slots_in(chunk), sizeof(slot)));
    if (made && !chunks[chunk].compare_exchange_strong(present, made, std::memory_order_acq_rel)) {
        std::free(made);  // another thread was first
        return present;
    }
    return made;
}

// The slot of a number; NULL where there is none.
slot *slot_at(uint32_t index) {
    const auto chunk = static_cast<int>(std::bit_width(index / first_slots + 1)) - 1;
    slot *slots = chunk < most_chunks ? chunks[chunk].load(std::memory_order_acquire) : nullptr;
    return slots ? slots + (index - first_slots * ((1u << chunk) - 1)) : nullptr;
}

bool take(slot &of, uint32_t &use) {
    use = of.uses.load(std::memory_order_relaxed);
    if (use % 2 != 0 || !of.uses.compare_exchange_strong(use, use + 1, std::memory_order_acquire)) {
        return false;
    }
    use++;
    return true;
}

// The lowest bit is set, as in no pointer to an object.
aclOpExecutor *number_of(uint32_t index, uint32_t use) {
    return std::bit_cast<aclOpExecutor *>(uintptr_t{use} << 32 | index << 1 | 1);
}

}  // namespace

executor *acquire_executor(aclOpExecutor *&number) {
    static thread_local uint32_t recent;  // threads come back to slots of their own
    uint32_t use;
    if (slot *again = slot_at(recent); again && take(*again, use)) {
        number = number_of(recent, use);
        return again;
    }
    uint32_t index = 0;
    for (int chunk = 0; chunk < most_chunks; chunk++) {
        slot *slots = chunk_at(chunk);
        if (!slots) {
            return nullptr;
        }
        for (uint32_t i = 0; i < slots_in(chunk); i++, index++) {
            if (take(slots[i], use)) {
                recent = index;
                number = number_of(index, use);
                return &slots[i];
            }
        }
    }
    return nullptr;
}

executor *find_executor(const aclOpExecutor *number) {
    const auto bits = std::bit_cast<uintptr_t>(number);
    const auto use = static_cast<uint32_t>(bits >> 32);
    slot *found = bits % 2 != 0 && use % 2 != 0 ? slot_at(static_cast<uint32_t>(bits) >> 1) : nullptr;
    return found && found->uses.load(std::memory_order_acquire) == use ? found : nullptr;
}

void release_executor(executor &last_use) {
    std::free(last_use.plan);
    last_use.plan = nullptr;
    std::atomic<uint32_t> &uses = static_cast<slot &>(last_use).uses;
    uses.store(uses.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

executor *make_executor(const operation &op, const operands &of, uint64_t workspace, uint64_t *workspace_size,
                        aclOpExecutor **number) {
    executor *const made = acquire_executor(*number);
    if (!made) {
        fail_with(ACLNN_ERR_INNER_CREATE_EXECUTOR, "%s: out of memory", op.name);
        return nullptr;
    }
    if (!made->has_profile) {
        qdq_profile_options("acl", QDQ_I8, &made->profile);  // the same for every type of codes
        made->has_profile = true;
    }
    made->op = &op;
    made->of = of;
    made->options = made->profile;
    made->how = {};
    made->along = 0;
    made->mode = {};
    made->planned = false;
    made->workspace_size = *workspace_size = workspace;
    return made;
}

aclnnStatus from_qdq(const operation &op, const qdq_names &names, qdq_status status) {
    if (status == QDQ_OK) {
        return ACLNN_SUCCESS;
    }
    char text[512];
    last_error_in_terms_of({op.name, names.x, names.scale, names.zero_point, names.y}, text);
    return fail_with(status == QDQ_UNSUPPORTED ? ACLNN_ERR_INNER_FIND_KERNEL_ERROR : ACLNN_ERR_PARAM_INVALID, "%s",
                     text);
}

namespace {

// CANN's answer to NULL in the functions about executors.
aclnnStatus missing(const char *function, const char *name) {
    return fail_with(ACLNN_ERR_INNER_NULLPTR, "%s: %s: NULL", function, name);
}

aclnnStatus gone(const char *function) {
    return fail_with(ACLNN_ERR_PARAM_INVALID,
                     "%s: executor: it has run or was destroyed, or is none of a first phase's", function);
}

aclnnStatus check_workspace(const operation &op, const executor &of, const void *workspace, uint64_t size) {
    if (size == of.workspace_size && (workspace || size == 0)) {
        return ACLNN_SUCCESS;
    }
    return fail_with(workspace ? ACLNN_ERR_PARAM_INVALID : ACLNN_ERR_PARAM_NULLPTR,
                     "%s: workspaceSize: %" PRIu64 "%s; %sGetWorkspaceSize gave %" PRIu64, op.name, size,
                     workspace ? "" : " and workspace NULL", op.name, of.workspace_size);
}

aclnnStatus check_addresses(const executor &of) {
    return each_given(*of.op, of.of, [&](const char *name, const aclTensor &tensor) {
        return tensor.data ? aclnnStatus{ACLNN_SUCCESS}
                           : fail_with(ACLNN_ERR_PARAM_NULLPTR, "%s: %s: no address", of.op->name, name);
    });
}

aclnnStatus set_address(const char *function, const aclOpExecutor *handle, size_t index, bool is_input,
                        aclTensor *tensor, void *addr) {
    if (!handle || !tensor) {
        return missing(function, handle ? "tensor" : "executor");
    }
    executor *const found = find_executor(handle);
    if (!found) {
        return gone(function);
    }
    const auto &of = is_input ? found->of.inputs : found->of.outputs;
    if (index >= most_operands || of[index] != tensor) {
        return fail_with(ACLNN_ERR_PARAM_INVALID, "%s: tensor: the executor was not made with it at index %zu",
                         function, index);
    }
    tensor->data = addr;
    found->planned = false;
    return ACLNN_SUCCESS;
}

}  // namespace

aclnnStatus run(const operation &op, void *workspace, uint64_t workspace_size, const aclOpExecutor *number) {
    if (!number) {
        return fail_with(ACLNN_ERR_PARAM_NULLPTR, "%s: executor: NULL", op.name);
    }
    executor *const found = find_executor(number);
    if (!found) {
        return gone(op.name);
    }
    if (found->op != &op) {
        return fail_with(ACLNN_ERR_PARAM_INVALID, "%s: executor: it is %s's", op.name, found->op->name);
    }
    if (const aclnnStatus status = check_workspace(op, *found, workspace, workspace_size)) {
        return status;
    }
    if (!found->of.inputs[0]->empty()) {
        aclnnStatus status;
        if ((status = check_addresses(*found)) || (status = op.compute(*found, workspace))) {
            return status;
        }
    }
    if (!found->plan) {
        release_executor(*found);
    }
    return ACLNN_SUCCESS;
}

}  // namespace qdq::compat

using namespace qdq::compat;

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *number) {
    if (!number) {
        return missing("aclSetAclOpExecutorRepeatable", "executor");
    }
    executor *const found = find_executor(number);
    if (!found) {
        return gone("aclSetAclOpExecutorRepeatable");
    }
    if (!found->plan) {
        found->plan = static_cast<qdq_plan *>(std::malloc(sizeof(qdq_plan)));
    }
    return found->plan ? aclnnStatus{ACLNN_SUCCESS}
                       : fail_with(ACLNN_ERR_INNER, "aclSetAclOpExecutorRepeatable: out of memory");
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *number) {
    if (!number) {
        return missing("aclDestroyAclOpExecutor", "executor");
    }
    executor *const found = find_executor(number);
    if (!found) {
        return gone("aclDestroyAclOpExecutor");
    }
    release_executor(*found);
    return ACLNN_SUCCESS;
}

aclnnStatus aclSetInputTensorAddr(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr) {
    return set_address("aclSetInputTensorAddr", executor, index, true, tensor, addr);
}

aclnnStatus aclSetOutputTensorAddr(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr) {
    return set_address("aclSetOutputTensorAddr", executor, index, false, tensor, addr);
}
