#include "targets/target.h"

#include "support/once.h"
#include "support/status.h"
#include "targets/cpu_features.h"
#include "targets/device_backend.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace runtime = qdq::runtime;

namespace qdq::runtime {

namespace {

std::atomic<const target *> forced{nullptr};

const target *find_by_name(const char *name) {
    for (int i = 0; i < qdq_linked_target_count; i++) {
        if (std::strcmp(qdq_linked_targets[i].name, name) == 0) {
            return &qdq_linked_targets[i];
        }
    }
    return nullptr;
}

uint32_t this_cpu() { return made_once<detect_cpu_features>(); }

// Why this machine cannot run a target, or NULL.
const char *problem_of(const target &t) {
    if (t.device) {
        return t.device->problem();
    }
    return can_run(t, this_cpu()) ? nullptr : cpu_problem(t.features);
}

const target *best_usable() {
    for (int i = 0; i < qdq_linked_target_count; i++) {
        if (!qdq_linked_targets[i].device && can_run(qdq_linked_targets[i], this_cpu())) {
            return &qdq_linked_targets[i];
        }
    }
    return nullptr;
}

// What QDQ_TARGET said at the first call. The program may change its environment later.
struct default_target {
    default_target() {
        const char *name = std::getenv("QDQ_TARGET");
        named = name ? find_by_name(name) : nullptr;
        chosen = !name ? best_usable() : named && !problem_of(*named) ? named : nullptr;
        is_named = name;
        std::snprintf(environment_name, sizeof(environment_name), "%s", name ? name : "");
    }

    bool is_named;
    char environment_name[200];  // as much of it as messages need
    const target *named, *chosen;
};

const default_target &get_default() {
    return made_once<[] { return default_target(); }>();
}

void explain_no_default() {
    const default_target &chosen = get_default();
    if (!chosen.is_named) {
        fail(QDQ_UNSUPPORTED, "no target built into this library can run on this processor");
    } else if (!chosen.named) {
        fail(QDQ_UNSUPPORTED, "QDQ_TARGET: no target named \"%s\" is built in", chosen.environment_name);
    } else {
        fail(QDQ_UNSUPPORTED, "QDQ_TARGET: target \"%s\" cannot run here: %s", chosen.environment_name,
             problem_of(*chosen.named));
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

const target *device_target(const char *function, qdq_device_kind kind) {
    const target *own = nullptr;
    for (int i = 0; i < qdq_linked_target_count; i++) {
        if (qdq_linked_targets[i].device && qdq_linked_targets[i].device->kind == kind) {
            own = &qdq_linked_targets[i];
        }
    }
    const target *named = forced.load(std::memory_order_relaxed);
    named = named ? named : get_default().named;
    if (!own) {
        fail(QDQ_UNSUPPORTED, "%s: x: it is on a device, kind %d, that no target of this library is for", function,
             int(kind));
    } else if (named && named != own) {
        fail(QDQ_UNSUPPORTED, "%s: x: it is on a device for %s, but target %s has been forced", function, own->name,
             named->name);
    } else if (const char *problem = own->device->problem()) {
        fail(QDQ_UNSUPPORTED, "%s: target %s cannot run here: %s", function, own->name, problem);
    } else {
        return own;
    }
    return nullptr;
}

}  // namespace qdq::runtime

int32_t qdq_target_count() { return qdq_linked_target_count; }

const char *qdq_target_name(int32_t i) {
    return i >= 0 && i < qdq_linked_target_count ? qdq_linked_targets[i].name : nullptr;
}

int32_t qdq_target_usable(int32_t i) {
    return i >= 0 && i < qdq_linked_target_count && !runtime::problem_of(qdq_linked_targets[i]);
}

const char *qdq_target_problem(int32_t i) {
    return i >= 0 && i < qdq_linked_target_count ? runtime::problem_of(qdq_linked_targets[i])
                                                 : "there is no such target";
}

qdq_device_kind qdq_target_device(int32_t i) {
    const bool on_device = i >= 0 && i < qdq_linked_target_count && qdq_linked_targets[i].device;
    return on_device ? qdq_linked_targets[i].device->kind : QDQ_DEVICE_HOST;
}

qdq_status qdq_force_target(const char *name) {
    if (!name) {
        runtime::forced.store(nullptr, std::memory_order_relaxed);
        return QDQ_OK;
    }
    const runtime::target *named = runtime::find_by_name(name);
    if (!named) {
        return runtime::fail(QDQ_INVALID_ARGUMENT, "qdq_force_target: name: no target named \"%s\" is built in", name);
    }
    if (const char *problem = runtime::problem_of(*named)) {
        return runtime::fail(QDQ_UNSUPPORTED, "qdq_force_target: name: target \"%s\" cannot run here: %s", name,
                             problem);
    }
    runtime::forced.store(named, std::memory_order_relaxed);
    return QDQ_OK;
}

const char *qdq_current_target() {
    const runtime::target *t = runtime::current_target();
    return t ? t->name : nullptr;
}

const char *qdq_current_target_reason() {
    if (runtime::forced.load(std::memory_order_relaxed)) {
        return "it was named to qdq_force_target";
    }
    const runtime::default_target &chosen = runtime::get_default();
    if (!chosen.chosen) {
        runtime::explain_no_default();
        return nullptr;
    }
    return chosen.is_named ? "the environment variable QDQ_TARGET names it" : "it is the best that can run here";
}
