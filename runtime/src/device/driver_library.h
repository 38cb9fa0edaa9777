// A device driver's library, looked for when it is first needed: programs start, and use the processor, without it.
#pragma once

#include <dlfcn.h>

#include <cstdio>

namespace qdq::runtime {

class driver_library {
public:
    explicit driver_library(const char *name) : handle(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
        if (!handle) {
            const char *why = dlerror();
            std::snprintf(problem, sizeof(problem), "%s", why ? why : name);
        }
    }

    bool loaded() const { return handle != nullptr; }
    const char *why_not() const { return problem; }

    // NULL where the library is missing or lacks it.
    void *symbol(const char *name) const { return handle ? dlsym(handle, name) : nullptr; }

    template<typename Function> Function *find(const char *name) const {
        return reinterpret_cast<Function *>(symbol(name));
    }

private:
    void *const handle;
    char problem[160] = "";
};

}  // namespace qdq::runtime
