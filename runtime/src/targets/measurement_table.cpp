#include "targets/measurement_table.h"

#include <cstring>

namespace qdq::runtime {

const measurements &find_measurements(const target &t) {
    const measurements *found = linked_measurements;
    while (std::strcmp(found->target, t.name) != 0) {
        found++;
    }
    return *found;
}

}  // namespace qdq::runtime
