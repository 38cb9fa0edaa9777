#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

// Visits so many bytes in order, with a buffer for at most `most` of them at a time.
template<typename Visit> void for_each_piece(uint64_t size, uint64_t most, Visit visit) {
    std::vector<std::byte> buffer(std::min(size, most));
    for (uint64_t done = 0; done < size; done += most) {
        visit(done, std::span(buffer).first(std::min(most, size - done)));
    }
}

}  // namespace qdq::model
