#include "check.h"

#include "conformance/formulas.h"
#include "conformance/fp_environment.h"
#include "reference/describe.h"

#include <cstring>
#include <map>
#include <span>

namespace conformance {

namespace {

const std::map<std::string, uint64_t> published_digests{
#include "conformance_digests.inc"
};

bool same(const storage &a, const storage &b) {
    return std::memcmp(a.bytes(), b.bytes(), static_cast<size_t>(a.size())) == 0;
}

// The first element of y that is not the reference's, with its operands; empty where there is none.
std::string first_difference(const prepared_call &call, const storage &y) {
    const storage expected = call.output();
    call.run(reference_library(), expected);
    if (same(y, expected)) {
        return "";
    }
    for (int64_t i = 0; i < y.elements(); ++i) {
        if (expected.code(i) == y.code(i)) {
            continue;
        }
        return call.describe_inputs(i) + ": expected " + reference::describe_code(call.y_type, expected.code(i)) +
               ", got " + reference::describe_code(call.y_type, y.code(i));
    }
    return "";
}

// A kernel's scenarios, one after another, until one differs.
class kernel_run {
public:
    kernel_run(const kernel &k, const library &of, hostile_environments taken)
        : kernel_(k), of_(of), taken_(taken), environments_(fp::hostile_environments()) {}

    finding run() {
        std::vector<uint64_t> digests;
        for (const scenario &s : scenarios_of(kernel_)) {
            digests.push_back(run_scenario(s, digests.size()));
            if (!found_.difference.empty()) {
                return found_;
            }
        }
        found_.digest = combined(digests);
        return found_;
    }

private:
    uint64_t run_scenario(const scenario &s, size_t ordinal) {
        const prepared_call call = prepare(kernel_, s);
        const storage y = call.output();
        found_.results += y.elements();
        if (const qdq_status status = call.run(of_, y); status != QDQ_OK) {
            found_.difference = std::string(s.name) + ": " + failure_of(status);
            return 0;
        }
        for (const fp::environment &environment : environments_of(ordinal)) {
            const std::string difference = difference_in(environment, call, y);
            found_.results += y.elements();
            if (difference.empty()) {
                continue;
            }
            found_.difference = std::string(s.name) + ", called under " + environment.name + ", " + difference;
            break;
        }
        return digest_of(y.bytes(), y.size());
    }

    // One of them is another one for each type and form, as float types have few scenarios.
    std::span<const fp::environment> environments_of(size_t ordinal) const {
        const size_t turn = ordinal + static_cast<size_t>(kernel_.stored) * 3 + static_cast<size_t>(kernel_.form);
        return taken_of(environments_, taken_, turn);
    }

    std::string difference_in(const fp::environment &environment, const prepared_call &call,
                              const storage &wanted) const {
        const storage y = call.output();
        const qdq_status status = called_in(environment, [&] { return call.run(of_, y); });
        if (status != QDQ_OK) {
            return failure_of(status);
        }
        if (same(y, wanted)) {
            return "";
        }
        const std::string difference = first_difference(call, y);
        return difference.empty() ? "as the reference, but not in the default environment" : difference;
    }

    const kernel &kernel_;
    const library &of_;
    const hostile_environments taken_;
    const std::vector<fp::environment> environments_;
    finding found_;
};

}  // namespace

std::string failure_of(qdq_status status) { return std::string(qdq_status_string(status)) + ": " + qdq_last_error(); }

std::span<const fp::environment> taken_of(const std::vector<fp::environment> &all, hostile_environments taken,
                                          size_t turn) {
    switch (taken) {
    case hostile_environments::none: return {};
    case hostile_environments::all: return all;
    default: return std::span(all).subspan(turn % all.size(), 1);
    }
}

uint64_t published_digest(const std::string &name) {
    const auto found = published_digests.find(name);
    return found == published_digests.end() ? 0 : found->second;
}

finding run(const kernel &k, const library &of, hostile_environments taken) { return kernel_run(k, of, taken).run(); }

finding run(const sweep &s, int64_t call, const library &of) {
    const prepared_call prepared = prepare(s, call);
    const storage y = prepared.output();
    if (const qdq_status status = prepared.run(of, y); status != QDQ_OK) {
        return {0, 0, failure_of(status)};
    }
    return {y.elements(), digest_of(y.bytes(), y.size()), ""};
}

uint64_t combined(const std::vector<uint64_t> &digests) { return digest_of(digests.data(), std::ssize(digests) * 8); }

std::string first_difference(const kernel &k, const library &of) {
    for (const scenario &s : scenarios_of(k)) {
        const prepared_call call = prepare(k, s);
        const storage y = call.output();
        call.run(of, y);
        const std::string difference = first_difference(call, y);
        if (!difference.empty()) {
            return std::string(s.name) + ", " + difference;
        }
    }
    return "";
}

std::string first_difference(const sweep &s, int64_t call, const library &of) {
    const prepared_call prepared = prepare(s, call);
    const storage y = prepared.output();
    prepared.run(of, y);
    return first_difference(prepared, y);
}

finding check(const kernel &k, uint64_t published, const library &of, hostile_environments taken) {
    finding found = run(k, of, taken);
    if (!found.difference.empty() || found.digest == published) {
        return found;
    }
    const std::string difference = first_difference(k, of);
    found.difference = difference.empty() ? only_the_digest : difference;
    return found;
}

}  // namespace conformance
