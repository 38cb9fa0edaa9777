#include "ray_run.h"

#include "console.h"
#include "progress.h"
#include "support/error.h"
#include "support/interrupt.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>

namespace qdq::cli {

namespace {

constexpr int exit_not_installed = 3;
constexpr const char *python_program = R"(import importlib.util, sys
if not all(map(importlib.util.find_spec, ("qdq", "ray"))):
    sys.exit(3)
from qdq.checkpoint import main
main()
)";

class descriptor {
public:
    explicit descriptor(int number) : number_(number) {
        if (number < 0) {
            throw system_failure("--ray", "cannot start python3");
        }
    }
    ~descriptor() { close(number_); }
    descriptor(const descriptor &) = delete;
    descriptor &operator=(const descriptor &) = delete;
    int number() const { return number_; }

private:
    int number_;
};

// A file without a name, which may be opened by /dev/stdin where it is that.
int file_of(const std::string &text) {
    int file = memfd_create("recipe", MFD_CLOEXEC);
    if (file >= 0 && write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        close(file);
        return -1;
    }
    return file;
}

// A program that runs as long as this object: on an exception it is ended.
class child {
public:
    child(std::vector<std::string> arguments, int input, int output) {
        std::vector<char *> pointers(arguments.size() + 1);  // the last is null
        std::ranges::transform(arguments, pointers.begin(), [](std::string &argument) { return argument.data(); });
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
        errno = posix_spawnp(&process_, pointers[0], &actions, nullptr, pointers.data(), environ);
        posix_spawn_file_actions_destroy(&actions);
        if (errno != 0) {
            throw system_failure("--ray", "cannot start " + arguments[0]);
        }
    }
    ~child() {
        if (process_ != 0) {
            kill(process_, SIGTERM);
            wait();
        }
    }
    child(const child &) = delete;
    child &operator=(const child &) = delete;

    // The exit code, as a shell gives it.
    int wait() {
        int status = 0;
        while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
        }
        process_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

private:
    pid_t process_ = 0;
};

std::vector<std::string> command_line(const quantize_options &options) {
    std::vector<std::string> arguments = {"python3",  "-c",         python_program,    "--ray=" + *options.ray,
                                          "--recipe", "/dev/stdin", "--print-progress"};
    if (!options.profile.empty()) {
        arguments.push_back("--profile=" + options.profile);
    }
    if (options.output.replace) {
        arguments.emplace_back("--replace");
    }
    arguments.insert(arguments.end(), {"--", options.input, options.output.path});
    return arguments;
}

// Waits until there is something to read. A signal that has come just before a read() would not end that.
void wait_for_input(int pipe) {
    constexpr int milliseconds = 100;
    pollfd waited = {pipe, POLLIN, 0};
    do {
        throw_if_interrupted();
    } while (poll(&waited, 1, milliseconds) <= 0);
}

// Of lines with the number of bytes of a shard each, until the writer is gone.
void show_progress(int pipe, progress &bar, size_t &finished) {
    std::string line;
    std::array<char, 4096> buffer{};
    while (true) {
        wait_for_input(pipe);
        const ssize_t count = read(pipe, buffer.data(), buffer.size());
        if (count == 0) {
            return;
        }
        for (const char c : std::string_view(buffer.data(), count > 0 ? static_cast<size_t>(count) : 0)) {
            if (c != '\n') {
                line += c;
                continue;
            }
            uint64_t bytes = 0;
            std::from_chars(line.data(), line.data() + line.size(), bytes);
            bar.advance(bytes);
            ++finished;
            line.clear();
        }
    }
}

}  // namespace

void run_on_ray(const quantization &plan, const recipe &rules, const quantize_options &options) {
    if (kind_of(options.input).holds != holding::model) {
        throw usage_error("--ray: " + options.input + ": it is no folder of a model");
    }
    const descriptor recipe_file(file_of(recipe_json(rules).dump()));
    std::array<int, 2> ends{-1, -1};
    const int piped = pipe2(ends.data(), O_CLOEXEC);
    const descriptor read_end(piped == 0 ? ends[0] : -1);
    auto write_end = std::make_unique<descriptor>(ends[1]);
    int code = 0;
    size_t finished = 0;
    try {
        child python(command_line(options), recipe_file.number(), write_end->number());
        write_end.reset();
        progress bar(input_bytes(plan.input()), progress::unit::bytes, options.console.quiet);
        show_progress(read_end.number(), bar, finished);
        code = python.wait();
    } catch (const interrupted &) {  // and the program has ended, and its bar
        tell_kept(options.output.path, finished, plan.input().shard_count());
        throw;
    }
    if (code == exit_not_installed) {
        throw failure(
            "--ray: python3 finds no package qdq, or no ray. Install both, qdq's wheel by `make wheel`, on every "
            "machine "
            "of the cluster, where the first python3 on PATH finds them");
    }
    if (code != 0) {
        throw failure("--ray: the Python package has failed, with exit code " + std::to_string(code));
    }
}

}  // namespace qdq::cli
