// Options of callers compiled with an earlier header, which had only their first fields.
#pragma once

#include <cstddef>
#include <cstring>

namespace qdq::runtime {

// The first `bytes` of what was given, and defaults; NULL stays NULL.
template<typename Options, std::size_t bytes> class first_fields {
public:
    explicit first_fields(const Options *given) : there(given != nullptr) {
        if (there) {
            std::memcpy(&options, given, bytes);
        }
    }
    const Options *get() const { return there ? &options : nullptr; }

private:
    const bool there;
    Options options{};
};

}  // namespace qdq::runtime
