// Runs a function in a child of fork and says how it ended.
#pragma once

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iterator>

namespace concurrency_test {

// What `body` returns in a child; 128 and the signal's number where one ended it. A child that hangs is ended after
// 20 seconds.
template<typename Body> int in_child(Body &&body) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(body());
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Of this process; with an emulator's own, where one runs it.
inline int64_t thread_count() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

}  // namespace concurrency_test
