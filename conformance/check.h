// Whether a library gives the published results of the conformance vectors, and where it does not.
#pragma once

#include "vectors.h"

#include "conformance/fp_environment.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace conformance {

// The published digest of a kernel's results, or of a sweep's: docs/conformance_digests.txt. 0 for a name without one.
uint64_t published_digest(const std::string &name);

// The reference, as a library.
library reference_library();

struct finding {
    int64_t results = 0;     // that were compared
    uint64_t digest = 0;     // of all of them
    std::string difference;  // the first one, in words; empty where there is none
};

// Each call runs in the default floating-point environment and, besides, in so many of those that flush subnormals,
// round elsewhere or trap, where it must give the same.
enum class hostile_environments { none, one, all };

// Those of all that are taken; of one, another one for each turn.
std::span<const fp::environment> taken_of(const std::vector<fp::environment> &all, hostile_environments taken,
                                          size_t turn);

// A call in an environment.
template<typename Call> qdq_status called_in(const fp::environment &environment, Call &&call) {
    const uint64_t before = fp::control();
    fp::set_control(environment.control);
    const qdq_status status = call();
    fp::set_control(before);
    return status;
}

// What there is to say of a call that has failed.
std::string failure_of(qdq_status status);

// The digest of a kernel's scenarios. The difference is one between environments, or a failed call.
finding run(const kernel &k, const library &of, hostile_environments taken);

// That of one call of a sweep; `combined` makes the sweep's of all calls'.
finding run(const sweep &s, int64_t call, const library &of);
uint64_t combined(const std::vector<uint64_t> &digests);

// Where results differ from the reference's; empty where they do not.
std::string first_difference(const kernel &k, const library &of);
std::string first_difference(const sweep &s, int64_t call, const library &of);

// What there is to say where they do not, and their digest is not the published one.
inline constexpr char only_the_digest[] = "every result is the reference's, but their digest is not the published one";

// `run`, and where the digest is not the published one, why.
finding check(const kernel &k, uint64_t published, const library &of, hostile_environments taken);

}  // namespace conformance
