#include "targets/stochastic_table.h"

#include <cstring>

namespace qdq::runtime {

const stochastic_kernels &find_stochastic(const target &t) {
    const stochastic_kernels *found = linked_stochastic_kernels;
    while (std::strcmp(found->target, t.name) != 0) {
        found++;
    }
    return *found;
}

}  // namespace qdq::runtime
