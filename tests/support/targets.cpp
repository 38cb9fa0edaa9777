#include "targets.h"

#include "reference/formats.h"

#include <ostream>

namespace test_support {

std::vector<kernel_case> every_kernel(const std::vector<qdq_dtype> &stored_types,
                                      const std::vector<std::string> &targets) {
    std::vector<kernel_case> cases;
    for (const std::string &target : targets) {
        for (qdq_dtype stored : stored_types) {
            cases.push_back({target, stored});
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
