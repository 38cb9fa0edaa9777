#include "target.h"

#include "cpu_features.h"
#include "status.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace qdq {

namespace {

std::atomic<const target *> forced{nullptr};

const target *find_by_name(const char *name) {
    for (int i = 0; i < target_count; i++) {
        if (std::strcmp(targets[i].name, name) == 0) {
            return &targets[i];
        }
    }
    return nullptr;
}

uint32_t this_cpu() {
    static const uint32_t features = detect_cpu_features();
    return features;
}

const target *best_usable() {
    for (int i = 0; i < target_count; i++) {
        if (can_run(targets[i], this_cpu())) {
            return &targets[i];
        }
    }
    return nullptr;
}

struct default_target {
    const char *environment_name = std::getenv("QDQ_TARGET");
    const target *named = environment_name ? find_by_name(environment_name) : nullptr;
    const target *chosen = !environment_name                           ? best_usable()
                           : named && can_run(*named, this_cpu()) ? named
                                                                  : nullptr;
};

const default_target &get_default() {
    static const default_target chosen;
    return chosen;
}

void explain_no_default() {
    const default_target &chosen = get_default();
    if (!chosen.environment_name) {
        fail(QDQ_UNSUPPORTED, "no target built into this library can run on this processor");
    } else if (!chosen.named) {
        fail(QDQ_UNSUPPORTED, "QDQ_TARGET: no target named \"%s\" is built in", chosen.environment_name);
    } else {
        fail(QDQ_UNSUPPORTED, "QDQ_TARGET: target \"%s\" cannot run on this processor", chosen.environment_name);
    }
}

}  // namespace

bool can_run(const target &t, uint32_t cpu_features) { return (t.features & ~cpu_features) == 0; }

const target *current_target() {
    if (const target *named = forced.load(std::memory_order_relaxed)) {
        return named;
    }
    const target *chosen = get_default().chosen;
    if (!chosen) {
        explain_no_default();
    }
    return chosen;
}

}  // namespace qdq

int32_t qdq_target_count() { return qdq::target_count; }

const char *qdq_target_name(int32_t i) { return i >= 0 && i < qdq::target_count ? qdq::targets[i].name : nullptr; }

int32_t qdq_target_usable(int32_t i) {
    return i >= 0 && i < qdq::target_count && qdq::can_run(qdq::targets[i], qdq::this_cpu());
}

qdq_status qdq_force_target(const char *name) {
    if (!name) {
        qdq::forced.store(nullptr, std::memory_order_relaxed);
        return QDQ_OK;
    }
    const qdq::target *named = qdq::find_by_name(name);
    if (!named) {
        return qdq::fail(QDQ_INVALID_ARGUMENT, "qdq_force_target: name: no target named \"%s\" is built in", name);
    }
    if (!qdq::can_run(*named, qdq::this_cpu())) {
        return qdq::fail(QDQ_UNSUPPORTED, "qdq_force_target: name: target \"%s\" cannot run on this processor", name);
    }
    qdq::forced.store(named, std::memory_order_relaxed);
    return QDQ_OK;
}

const char *qdq_current_target() {
    const qdq::target *t = qdq::current_target();
    return t ? t->name : nullptr;
}
