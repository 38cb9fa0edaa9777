// Listing, forcing and naming targets, in the process and by QDQ_TARGET.
#include "call.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <thread>

namespace api_test {
namespace {

class Target : public Api {};

// The processor's.
std::vector<std::string> targets(bool usable) {
    std::vector<std::string> names;
    for (int32_t i = 0; i < qdq_target_count(); i++) {
        if ((qdq_target_usable(i) != 0) == usable && qdq_target_device(i) == QDQ_DEVICE_HOST) {
            names.emplace_back(qdq_target_name(i));
        }
    }
    return names;
}

std::string current() { return qdq_current_target() != nullptr ? qdq_current_target() : "(none)"; }

qdq_status quantize_something() {
    const tensor_memory x = floats(QDQ_F32, {100}), scale = scales({}), y(QDQ_I8, {100});
    const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_y = y.view();
    return qdq_quantize(&c_x, &c_scale, nullptr, &c_y, nullptr);
}

TEST_F(Target, names_are_distinct_words) {
    ASSERT_GT(qdq_target_count(), 0);
    std::set<std::string> names;
    for (int32_t i = 0; i < qdq_target_count(); i++) {
        ASSERT_NE(qdq_target_name(i), nullptr);
        const std::string name = qdq_target_name(i);
        EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string::npos) << name;
        EXPECT_TRUE(names.insert(name).second) << name;
    }
}

TEST_F(Target, what_is_not_usable_has_a_problem) {
    for (int32_t i = 0; i < qdq_target_count(); i++) {
        EXPECT_EQ(qdq_target_usable(i) != 0, qdq_target_problem(i) == nullptr) << qdq_target_name(i);
    }
}

TEST_F(Target, out_of_range_has_no_name_and_is_not_usable) {
    for (int32_t i : {-1, qdq_target_count(), 1000}) {
        EXPECT_EQ(qdq_target_name(i), nullptr);
        EXPECT_EQ(qdq_target_usable(i), 0);
        EXPECT_NE(qdq_target_problem(i), nullptr);
        EXPECT_EQ(qdq_target_device(i), QDQ_DEVICE_HOST);
    }
}

TEST_F(Target, unforced_is_the_first_usable_one) {
    if (std::getenv("QDQ_TARGET") != nullptr) {
        GTEST_SKIP() << "QDQ_TARGET is set";
    }
    ASSERT_FALSE(targets(true).empty());
    EXPECT_EQ(current(), targets(true).front());
}

TEST_F(Target, forced_is_the_current_one_and_works) {
    for (const std::string &name : targets(true)) {
        ASSERT_EQ(qdq_force_target(name.c_str()), QDQ_OK) << qdq_last_error();
        EXPECT_EQ(current(), name);
        expect_both_ways({7, 50}, {}, {}, scales({7, 1}));
    }
}

TEST_F(Target, forced_holds_in_every_thread) {
    const std::string last = targets(true).back();
    ASSERT_EQ(qdq_force_target(last.c_str()), QDQ_OK) << qdq_last_error();
    std::thread([&] { EXPECT_EQ(current(), last); }).join();
}

TEST_F(Target, null_returns_to_the_unforced_one) {
    const std::string before = current();
    for (const std::string &name : targets(true)) {
        ASSERT_EQ(qdq_force_target(name.c_str()), QDQ_OK);
        ASSERT_EQ(qdq_force_target(nullptr), QDQ_OK);
        EXPECT_EQ(current(), before);
    }
}

TEST_F(Target, an_unknown_name_fails_and_changes_nothing) {
    ASSERT_EQ(qdq_force_target(targets(true).back().c_str()), QDQ_OK);
    const std::string before = current();
    for (const char *name : {"x86_avx1024", "", "X86_AVX2", "x86", "x86_portable ", "%s%n"}) {
        EXPECT_EQ(qdq_force_target(name), QDQ_INVALID_ARGUMENT) << name;
        EXPECT_NE(std::string(qdq_last_error()).find(name), std::string::npos) << qdq_last_error();
        EXPECT_EQ(current(), before);
    }
    EXPECT_EQ(quantize_something(), QDQ_OK) << qdq_last_error();
}

TEST_F(Target, an_overlong_name_fails_cleanly) {
    const std::string name(100000, 'x');
    EXPECT_EQ(qdq_force_target(name.c_str()), QDQ_INVALID_ARGUMENT);
    EXPECT_NE(std::string(qdq_last_error()).find("xxx"), std::string::npos);
}

TEST_F(Target, an_unusable_name_fails_and_changes_nothing) {
    const std::string before = current();
    if (targets(false).empty()) {
        GTEST_SKIP() << "this machine can run every target of this build";
    }
    for (const std::string &name : targets(false)) {
        EXPECT_NE(qdq_force_target(name.c_str()), QDQ_OK);
        EXPECT_NE(std::string(qdq_last_error()).find(name), std::string::npos) << qdq_last_error();
        EXPECT_EQ(current(), before);
    }
}

// QDQ_TARGET is read once, so each value needs a process of its own: this program again, running one test.
struct child_report {
    std::string current;
    int status = -1;
    std::string error;
};

constexpr const char *report_mark = "child:";

TEST(Child, DISABLED_reports) {
    const qdq_status status = quantize_something();
    std::printf("%s%s|%d|%s\n", report_mark, current().c_str(), static_cast<int>(status), qdq_last_error());
}

TEST(Child, DISABLED_reports_after_forcing_the_last_usable_target) {
    qdq_force_target(targets(true).back().c_str());
    const qdq_status status = quantize_something();
    std::printf("%s%s|%d|%s\n", report_mark, current().c_str(), static_cast<int>(status), qdq_last_error());
}

TEST(Child, DISABLED_reports_after_its_environment_changed) {
    quantize_something();
    setenv("QDQ_TARGET", "no_such_target", 1);
    const qdq_status status = quantize_something();
    std::printf("%s%s|%d|%s\n", report_mark, current().c_str(), static_cast<int>(status), qdq_last_error());
}

TEST(Child, DISABLED_reports_after_the_memory_of_its_environment_changed) {
    static char variable[] = "QDQ_TARGET=no_such_target";
    putenv(variable);
    quantize_something();
    std::strcpy(variable, "QDQ_TARGET=xxxxxxxxxxxxxx");
    const qdq_status status = quantize_something();
    std::printf("%s%s|%d|%s\n", report_mark, current().c_str(), static_cast<int>(status), qdq_last_error());
}

child_report run_child(const std::string &qdq_target, const std::string &test = "DISABLED_reports") {
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    const std::string command = "QDQ_TARGET='" + qdq_target + "' " QDQ_TEST_EMULATOR " '" + program +
                                "' --gtest_also_run_disabled_tests --gtest_filter=Child." + test;
    std::string output;
    FILE *pipe = popen(command.c_str(), "r");
    std::array<char, 256> buffer;
    while (pipe != nullptr && std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) {
        output += buffer.data();
    }
    EXPECT_TRUE(pipe != nullptr && pclose(pipe) == 0) << output;
    const size_t begin = output.find(report_mark);
    if (begin == std::string::npos) {
        ADD_FAILURE() << "no report in: " << output;
        return {};
    }
    const std::string line = output.substr(begin + 6, output.find('\n', begin) - begin - 6);
    const size_t first = line.find('|'), second = line.find('|', first + 1);
    return {line.substr(0, first), std::atoi(line.c_str() + first + 1), line.substr(second + 1)};
}

TEST_F(Target, the_environment_names_the_current_one) {
    for (const std::string &name : targets(true)) {
        const child_report child = run_child(name);
        EXPECT_EQ(child.current, name);
        EXPECT_EQ(child.status, QDQ_OK) << child.error;
    }
}

TEST_F(Target, an_unknown_name_in_the_environment_fails_every_call) {
    const child_report child = run_child("no_such_target");
    EXPECT_NE(child.status, QDQ_OK);
    EXPECT_NE(child.error.find("no_such_target"), std::string::npos) << child.error;
    EXPECT_NE(child.error.find("QDQ_TARGET"), std::string::npos) << child.error;
    EXPECT_EQ(child.current, "(none)");
}

TEST_F(Target, an_unusable_name_in_the_environment_fails_every_call) {
    if (targets(false).empty()) {
        GTEST_SKIP() << "this machine can run every target of this build";
    }
    const child_report child = run_child(targets(false).front());
    EXPECT_NE(child.status, QDQ_OK);
    EXPECT_NE(child.error.find(targets(false).front()), std::string::npos) << child.error;
}

TEST_F(Target, forcing_outranks_the_environment) {
    const char *test = "DISABLED_reports_after_forcing_the_last_usable_target";
    for (const std::string &environment : {targets(true).front(), std::string("no_such_target")}) {
        const child_report child = run_child(environment, test);
        EXPECT_EQ(child.current, targets(true).back());
        EXPECT_EQ(child.status, QDQ_OK) << child.error;
    }
}

TEST_F(Target, the_environment_is_read_once) {
    const std::string name = targets(true).front();
    const child_report child = run_child(name, "DISABLED_reports_after_its_environment_changed");
    EXPECT_EQ(child.current, name);
    EXPECT_EQ(child.status, QDQ_OK) << child.error;
}

TEST_F(Target, the_environment_is_not_looked_at_again_for_a_message) {
    const child_report child = run_child("", "DISABLED_reports_after_the_memory_of_its_environment_changed");
    EXPECT_NE(child.status, QDQ_OK);
    EXPECT_NE(child.error.find("no_such_target"), std::string::npos) << child.error;
}

TEST_F(Target, an_overlong_name_in_the_environment_fails_cleanly) {
    const child_report child = run_child(std::string(10000, 'x'));
    EXPECT_NE(child.status, QDQ_OK);
    EXPECT_NE(child.error.find("QDQ_TARGET: no target named \"xxx"), std::string::npos) << child.error;
}

}  // namespace
}  // namespace api_test
