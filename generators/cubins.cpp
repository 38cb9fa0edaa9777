#include "cubins.h"

#include "compressed_text.h"

#include <spawn.h>
#include <sys/wait.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <stdexcept>
#include <vector>

extern char **environ;

namespace qdq {

namespace {

using kernels::aligned_cubin, kernels::cubin_header;

struct temporary_folder {
    std::filesystem::path path;

    temporary_folder() {
        std::string name = std::filesystem::temp_directory_path() / "qdq-cubin-XXXXXX";
        if (!mkdtemp(name.data())) {
            throw std::runtime_error("there is no folder for temporary files");
        }
        path = name;
    }
    ~temporary_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    temporary_folder(const temporary_folder &) = delete;
};

bool succeeds(std::string program, std::initializer_list<std::string> arguments) {
    std::vector<std::string> words(arguments);
    std::vector<char *> pointers{program.data()};
    for (std::string &word : words) {
        pointers.push_back(word.data());
    }
    pointers.push_back(nullptr);
    pid_t process;
    int status;
    return posix_spawn(&process, program.c_str(), nullptr, nullptr, pointers.data(), environ) == 0 &&
           waitpid(process, &status, 0) == process && status == 0;
}

std::string cubin(const std::string &ptx, const std::string &ptxas, const std::string &architecture) {
    const temporary_folder folder;
    const std::filesystem::path source = folder.path / "kernel.ptx", made = folder.path / "kernel.cubin";
    std::ofstream(source) << ptx.c_str();
    if (!succeeds(ptxas, {"-arch=sm_" + architecture, "-o", made, source})) {
        throw std::runtime_error(ptxas + " fails for sm_" + architecture);
    }
    std::ostringstream all;
    all << std::ifstream(made, std::ios::binary).rdbuf();
    return all.str();
}

void append_header(std::string &to, cubin_header header) {
    to.append(reinterpret_cast<const char *>(&header), sizeof(header));
}

}  // namespace

std::string with_cubins(const std::string &ptx, const std::string &ptxas, const std::string &architectures) {
    std::string all = ptx, architecture;
    for (std::istringstream names(architectures); std::getline(names, architecture, ',');) {
        const std::string code = cubin(ptx, ptxas, architecture);
        all.resize(aligned_cubin(all.size()));
        append_header(all, {static_cast<uint32_t>(std::stoul(architecture)), static_cast<uint32_t>(code.size())});
        all += code;
    }
    if (all.size() > ptx.size()) {
        all.resize(aligned_cubin(all.size()));
        append_header(all, {});
    }
    return all;
}

}  // namespace qdq
