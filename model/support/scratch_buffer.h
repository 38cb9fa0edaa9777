#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace qdq::model {

// Memory that is used again for one tensor after another, and grows to the largest. Its pages are touched here, so that
// the time of a kernel does not include the page faults of its output.
class scratch_buffer {
public:
    std::span<std::byte> take(size_t size) {
        if (size > bytes_.size()) {
            bytes_ = {};  // the old contents are not needed: both at once would be
            bytes_.resize(size);
        }
        return std::span(bytes_).first(size);
    }

private:
    std::vector<std::byte> bytes_;
};

}  // namespace qdq::model
