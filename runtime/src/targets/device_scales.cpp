#include "targets/device_scales.h"

#include <cstring>

namespace qdq::runtime {

const device_scales &find_device_scales(const target &t) {
    const device_scales *found = linked_device_scales;
    while (std::strcmp(found->target, t.name) != 0) {
        found++;
    }
    return *found;
}

}  // namespace qdq::runtime
