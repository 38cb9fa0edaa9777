// Digests and differences of a list of calls, whatever their outputs are. A call has a name(), results() of its outputs
// by number, empty() outputs, run(library, outputs), their digest(outputs), and difference(got, expected) in words.
#pragma once

#include "check.h"

#include <string>
#include <vector>

namespace conformance {

// What a call gives in an environment, where it is not what is wanted; else empty.
template<typename Call, typename Outputs>
std::string difference_in(const fp::environment &environment, const Call &call, const library &of,
                          const Outputs &wanted) {
    const Outputs got = call.empty();
    const qdq_status status = called_in(environment, [&] { return call.run(of, got); });
    return status == QDQ_OK ? call.difference(got, wanted) : failure_of(status);
}

// The digest of all. The difference is one between environments, or a failed call. `turn`: of environments, the first
// call's.
template<typename Call>
finding run_calls(const std::vector<Call> &calls, const library &of, hostile_environments taken, size_t turn) {
    const std::vector<fp::environment> all = fp::hostile_environments();
    finding found;
    std::vector<uint64_t> digests;
    for (const Call &call : calls) {
        const auto got = call.empty();
        found.results += call.results(got);
        if (const qdq_status status = call.run(of, got); status != QDQ_OK) {
            found.difference = call.name() + ": " + failure_of(status);
            return found;
        }
        for (const fp::environment &each : taken_of(all, taken, turn + digests.size())) {
            found.results += call.results(got);
            if (const std::string text = difference_in(each, call, of, got); !text.empty()) {
                found.difference = call.name() + ", called under " + each.name + ", " + text;
                return found;
            }
        }
        digests.push_back(call.digest(got));
    }
    found.digest = combined(digests);
    return found;
}

// The same, and where the digest is not the published one, the first result that is not the reference's.
template<typename Call>
finding check_calls(const std::vector<Call> &calls, uint64_t published, const library &of, hostile_environments taken,
                    size_t turn) {
    finding found = run_calls(calls, of, taken, turn);
    if (!found.difference.empty() || found.digest == published) {
        return found;
    }
    found.difference = only_the_digest;
    for (const Call &call : calls) {
        const auto got = call.empty(), expected = call.empty();
        call.run(of, got);
        call.run(reference_library(), expected);
        if (const std::string text = call.difference(got, expected); !text.empty()) {
            found.difference = call.name() + ", " + text;
            break;
        }
    }
    return found;
}

}  // namespace conformance
