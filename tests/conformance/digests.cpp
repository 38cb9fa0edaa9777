// Prints docs/conformance_digests.txt, from the reference alone: the lines whose names contain the first argument, or
// all, of which those of the sweeps, of 2^32 results each, take 25 minutes of a processor.
#include "conformance/check.h"
#include "conformance/dynamic.h"
#include "conformance/other_calls.h"
#include "support/parallel.h"

#include <cinttypes>
#include <cstdio>

namespace {

using namespace conformance;

uint64_t digest_of(const sweep &s) {
    std::vector<uint64_t> digests(calls_of_a_sweep);
    test_support::parallel_for(calls_of_a_sweep, [&](int64_t call, int) {
        digests[static_cast<size_t>(call)] = run(s, call, reference_library()).digest;
    });
    return combined(digests);
}

void print(const std::string &name, uint64_t digest) {
    std::printf("%s 0x%016" PRIx64 "\n", name.c_str(), digest);
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char **argv) {
    const std::string part = argc > 1 ? argv[1] : "";
    const auto wanted = [&](const std::string &name) { return name.find(part) != std::string::npos; };
    std::printf("# Written by conformance.digests, from the reference; docs/conformance.md says of what.\n");
    for (const kernel &k : kernels()) {
        if (wanted(name_of(k))) {
            print(name_of(k), run(k, reference_library(), hostile_environments::none).digest);
        }
    }
    for (const dynamic_rule &r : dynamic_rules()) {
        if (wanted(name_of(r))) {
            print(name_of(r), run(r, reference_library(), hostile_environments::none).digest);
        }
    }
    for (const other_call &c : other_calls()) {
        if (wanted(name_of(c))) {
            print(name_of(c), run(c, reference_library(), hostile_environments::none).digest);
        }
    }
    for (const sweep &s : sweeps()) {
        if (wanted(name_of(s))) {
            print(name_of(s), digest_of(s));
        }
    }
}
