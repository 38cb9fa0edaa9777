// The choice of a target, from a list of which this machine can run a part.
#include "targets/cpu_features.h"
#include "targets/device_backend.h"
#include "targets/kernel_table.h"
#include "targets/target.h"

#include <qdq/qdq.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace qdq::runtime {

const device_backend absent_device{.kind = QDQ_DEVICE_CUDA, .problem = [] { return "its driver is missing"; }};

extern "C" const qdq_target qdq_linked_targets[] = {{.name = "better_than_this_machine", .features = 2},
                                                    {.name = "best_here", .features = 1},
                                                    {.name = "second_best_here", .features = 4},
                                                    {.name = "for_another_machine", .features = 3},
                                                    {.name = "absent_device", .device = &absent_device}};
extern "C" const int qdq_linked_target_count = 5;

uint32_t features_of_this_machine = 1 | 4;
uint32_t detect_cpu_features() { return features_of_this_machine; }
const char *cpu_problem(uint32_t features) { return features & 2 ? "it lacks 2" : "it lacks something else"; }

}  // namespace qdq::runtime

namespace {

using qdq::runtime::current_target;

// QDQ_TARGET is read once, so each value is tried in a child process: prints the target that calls use, or why there is
// none.
[[noreturn]] void report(const char *environment) {
    environment != nullptr ? setenv("QDQ_TARGET", environment, 1) : unsetenv("QDQ_TARGET");
    const qdq::runtime::target *chosen = current_target();
    std::fprintf(stderr, "%s", chosen != nullptr ? chosen->name : qdq_last_error());
    std::exit(chosen != nullptr ? 0 : 1);
}

TEST(Targets, without_a_name_the_first_that_this_machine_can_run_is_taken) {
    EXPECT_EXIT(report(nullptr), testing::ExitedWithCode(0), "^best_here$");
}

TEST(Targets, the_environment_may_name_any_that_this_machine_can_run) {
    EXPECT_EXIT(report("best_here"), testing::ExitedWithCode(0), "^best_here$");
    EXPECT_EXIT(report("second_best_here"), testing::ExitedWithCode(0), "^second_best_here$");
}

TEST(Targets, the_environment_naming_one_that_this_machine_cannot_run_fails_every_call) {
    for (const char *name : {"better_than_this_machine", "for_another_machine"}) {
        EXPECT_EXIT(report(name), testing::ExitedWithCode(1), std::string("QDQ_TARGET.*") + name + ".*cannot run here");
    }
}

TEST(Targets, the_environment_naming_none_fails_every_call) {
    for (const char *name : {"", "best", "best_here "}) {
        EXPECT_EXIT(report(name), testing::ExitedWithCode(1), std::string("QDQ_TARGET.*\"") + name + "\"");
    }
}

TEST(Targets, a_machine_that_can_run_none_fails_every_call) {
    const auto report_without_features = [] {
        qdq::runtime::features_of_this_machine = 0;
        report(nullptr);
    };
    EXPECT_EXIT(report_without_features(), testing::ExitedWithCode(1), "^no target .* can run on this processor$");
}

TEST(Targets, a_device_that_is_not_there_is_named_with_its_reason) {
    const auto use_it = [] {
        const bool refused = !qdq::runtime::device_target("qdq_run", QDQ_DEVICE_CUDA);
        std::fprintf(stderr, "%s", qdq_last_error());
        std::exit(refused && qdq_force_target("absent_device") == QDQ_UNSUPPORTED ? 0 : 1);
    };
    EXPECT_EXIT(use_it(), testing::ExitedWithCode(0),
                "^qdq_run: target absent_device cannot run here: its driver is missing$");
    EXPECT_STREQ(qdq_target_problem(4), "its driver is missing");
}

TEST(Targets, forcing_one_that_this_machine_cannot_run_changes_nothing) {
    const auto force_both = [] {
        setenv("QDQ_TARGET", "second_best_here", 1);
        bool right = qdq_force_target("for_another_machine") == QDQ_UNSUPPORTED &&
                     std::string(qdq_last_error()).find("for_another_machine") != std::string::npos;
        right &= std::string(current_target()->name) == "second_best_here";
        right &= qdq_force_target("best_here") == QDQ_OK;
        right &= qdq_force_target("better_than_this_machine") == QDQ_UNSUPPORTED;
        std::fprintf(stderr, "%s", current_target()->name);
        std::exit(right ? 0 : 1);
    };
    EXPECT_EXIT(force_both(), testing::ExitedWithCode(0), "^best_here$");
}

TEST(Targets, a_problem_is_what_the_machine_lacks) {
    EXPECT_STREQ(qdq_target_problem(0), "it lacks 2");
    EXPECT_STREQ(qdq_target_problem(3), "it lacks 2");
}

// What calls use, and why, in a process of its own; `force` may be NULL.
[[noreturn]] void report_reason(const char *environment, const char *force) {
    environment != nullptr ? setenv("QDQ_TARGET", environment, 1) : unsetenv("QDQ_TARGET");
    qdq_force_target(force);
    const char *reason = qdq_current_target_reason();
    std::fprintf(stderr, "%s", reason != nullptr ? reason : qdq_last_error());
    std::exit(reason != nullptr ? 0 : 1);
}

TEST(Targets, say_why_they_are_in_use) {
    const auto succeeds = testing::ExitedWithCode(0);
    EXPECT_EXIT(report_reason(nullptr, nullptr), succeeds, "^it is the best that can run here$");
    EXPECT_EXIT(report_reason("best_here", nullptr), succeeds, "^the environment variable QDQ_TARGET names it$");
    EXPECT_EXIT(report_reason("best_here", "second_best_here"), succeeds, "^it was named to qdq_force_target$");
    EXPECT_EXIT(report_reason("for_another_machine", nullptr), testing::ExitedWithCode(1),
                "cannot run here: it lacks 2$");
}

TEST(Targets, usable_are_those_whose_features_this_machine_has) {
    for (int32_t i = 0; i < qdq_target_count(); i++) {
        const bool expected = i == 1 || i == 2;
        EXPECT_EQ(qdq_target_usable(i), expected) << qdq_target_name(i);
        EXPECT_EQ(qdq_target_problem(i) == nullptr, expected) << qdq_target_name(i);
    }
}

}  // namespace
