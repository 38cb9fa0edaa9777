// Running a test on every target the library was built with.
#pragma once

#include <qdq/qdq.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace test_support {

inline std::vector<std::string> targets_of(bool devices) {
    std::vector<std::string> names;
    for (int32_t i = 0; i < qdq_target_count(); ++i) {
        if ((qdq_target_device(i) != QDQ_DEVICE_HOST) == devices) {
            names.emplace_back(qdq_target_name(i));
        }
    }
    return names;
}

// Those of the processor, and those of devices.
inline std::vector<std::string> host_targets() { return targets_of(false); }
inline std::vector<std::string> device_targets() { return targets_of(true); }

inline std::vector<std::string> built_targets() {
    std::vector<std::string> names = host_targets();
    for (const std::string &name : device_targets()) {
        names.push_back(name);
    }
    return names;
}

inline bool usable(const std::string &target) {
    for (int32_t i = 0; i < qdq_target_count(); ++i) {
        if (target == qdq_target_name(i)) {
            return qdq_target_usable(i) != 0;
        }
    }
    return false;
}

// Everything a test may change for the whole process goes back to its default.
inline void restore_defaults() {
    qdq_force_target(nullptr);
    qdq_set_num_threads(0);
    qdq_set_parallel_for(nullptr, nullptr);
}

// Forces each usable target in turn and calls body(name); says which ones were not run. The number run.
template<typename Body> int for_each_of(const std::vector<std::string> &targets, Body &&body) {
    int executed = 0;
    for (const std::string &target : targets) {
        if (!usable(target)) {
            std::printf("[   NOTE   ] %s: compiled, not executed\n", target.c_str());
            continue;
        }
        const qdq_status forced = qdq_force_target(target.c_str());
        EXPECT_EQ(forced, QDQ_OK) << qdq_last_error();
        if (forced != QDQ_OK) {
            continue;
        }
        SCOPED_TRACE(target);
        body(target);
        ++executed;
    }
    restore_defaults();
    return executed;
}

template<typename Body> void for_each_target(Body &&body) {
    EXPECT_GT(for_each_of(host_targets(), body), 0) << "no usable target";
}

template<typename Body> void for_each_device_target(Body &&body) { for_each_of(device_targets(), body); }

// A stored type on a target: the parameter of most kernel tests.
struct kernel_case {
    std::string target;
    qdq_dtype stored;
};

std::vector<kernel_case> every_kernel(const std::vector<qdq_dtype> &stored_types,
                                      const std::vector<std::string> &targets = host_targets());
std::string name_of_case(const testing::TestParamInfo<kernel_case> &info);
void PrintTo(const kernel_case &kernel, std::ostream *out);

// Forces the parameter's target, or skips.
class KernelTest : public testing::TestWithParam<kernel_case> {
protected:
    void SetUp() override {
        if (!usable(GetParam().target)) {
            GTEST_SKIP() << GetParam().target << ": compiled, not executed";
        }
        ASSERT_EQ(qdq_force_target(GetParam().target.c_str()), QDQ_OK) << qdq_last_error();
        qdq_set_num_threads(1);
    }
    void TearDown() override { restore_defaults(); }

    qdq_dtype stored() const { return GetParam().stored; }
};

}  // namespace test_support
