// The conformance vectors of calls that are not one kernel's, docs/conformance.md: stochastic rounding, pairs of
// dynamic outputs, rows in groups, and ggml's blocks.
#pragma once

#include "check.h"

#include <functional>
#include <string>
#include <vector>

namespace conformance {

struct call_output {
    std::string name;
    storage values;
};

struct call_scenario {
    std::string name;
    std::vector<call_output> outputs;  // before the call, in the order of their digests
    std::function<qdq_status(const library &, const std::vector<call_output> &)> run;
};

struct other_call {
    std::string name;  // "quantize_f32_i8_stochastic"
    std::function<std::vector<call_scenario>()> scenarios;
    bool is_on_devices = false;  // takes tensors there, too
};

// Of every row that is compiled, and of every format of blocks.
std::vector<other_call> other_calls();

inline const std::string &name_of(const other_call &c) { return c.name; }

// The digest of the outputs of all scenarios. The difference is one between environments, or a failed call.
finding run(const other_call &c, const library &of, hostile_environments taken);

// `run`, and where the digest is not the published one, why.
finding check(const other_call &c, uint64_t published, const library &of, hostile_environments taken);

}  // namespace conformance
