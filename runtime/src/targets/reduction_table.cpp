#include "targets/reduction_table.h"

#include <cstring>

namespace qdq::runtime {

const reductions_of_size &find_reductions(const target &t, int bits) {
    const reductions *found = linked_reductions;
    while (std::strcmp(found->target, t.name) != 0) {
        found++;
    }
    return found->of[bits == 32];
}

}  // namespace qdq::runtime
