#include "targets.h"

#include "conformance/supported.h"
#include "reference/formats.h"

#include <algorithm>
#include <ostream>

namespace test_support {

std::vector<kernel_case> every_kernel(const std::vector<qdq_dtype> &stored_types,
                                      const std::vector<std::string> &targets) {
    std::vector<kernel_case> cases;
    const std::vector<std::string> devices = device_targets();
    for (const std::string &target : targets) {
        const bool is_device = std::ranges::count(devices, target) > 0;
        for (qdq_dtype stored : stored_types) {
            if (!is_device || supported::on_devices(stored)) {
                cases.push_back({target, stored});
            }
        }
    }
    return cases;
}

std::string name_of_case(const testing::TestParamInfo<kernel_case> &info) {
    return info.param.target + "_" + reference::name_of(info.param.stored);
}

void PrintTo(const kernel_case &kernel, std::ostream *out) {
    *out << kernel.target << " " << reference::name_of(kernel.stored);
}

}  // namespace test_support
