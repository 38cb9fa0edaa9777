#include "island_tensor.h"

#include "reference/formats.h"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace api_test {

namespace {

constexpr std::byte poison{0xa5};

const int64_t page = sysconf(_SC_PAGESIZE);

int64_t bytes_of(const qdq_tensor &t) { return reference::bits_of(t.dtype) / 8; }

// By strides that may be any numbers where an index is 0.
int64_t place_of(const qdq_tensor &t, const int64_t *index) {
    int64_t place = 0;
    for (int32_t d = 0; d < t.rank; d++) {
        place += index[d] == 0 ? 0 : index[d] * t.strides[d] * bytes_of(t);
    }
    return place;
}

// Scales, zero points and numbers at both sides of what a variant of the kernels takes, the least and the largest
// numbers, and what is none.
uint32_t end_of_a_range(qdq_dtype type, test_support::choices &from) {
    static const std::map<qdq_dtype, std::vector<uint32_t>> ends{
        {QDQ_F32, {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x217fffff, 0x21800000,
                   0xa1800000, 0x337fffff, 0x33800000, 0x3f000000, 0xbf000000, 0x49800000, 0x49800008, 0x4b000001,
                   0x4effffff, 0x4f000000, 0xcf000000, 0x5d800000, 0x5d800001, 0x71800000, 0x71800001, 0x7f7fffff,
                   0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xff800001}},
        {QDQ_F16, {0, 0x8000, 1, 0x8001, 0x03ff, 0x0400, 0x3800, 0xb800, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00}},
        {QDQ_BF16, {0, 0x8000, 1, 0x007f, 0x0080, 0x217f, 0x2180, 0x4f00, 0x5d80, 0x5d81, 0x7f7f, 0x7f80, 0x7fc0}},
        {QDQ_I32,
         {0, 1, 0xffffffff, 0x0000ffff, 0x00010000, 0x00100000, 0x00100001, 0xfff00000, 0xffefffff, 0x003fffff,
          0x00400000, 0x00400001, 0xffc00000, 0xffbfffff, 0x01000001, 0x7fffff80, 0x7fffffff, 0x80000000}},
        {QDQ_E8M0, {0, 66, 67, 127, 187, 188, 227, 228, 254, 255}}};
    const auto of_type = ends.find(type);
    const uint32_t any = static_cast<uint32_t>(from.between(0, UINT32_MAX)) >> (32 - reference::bits_of(type));
    return of_type == ends.end() ? any : from.one_of(of_type->second);
}

}  // namespace

island_memory::island_memory(int64_t lowest, int64_t end, test_support::choices &from) {
    constexpr int64_t most_off = 3;
    const int64_t bytes = end - lowest, whole = (bytes + most_off + page - 1) / page * page;
    const int64_t off = from.chance(4) ? from.between(1, most_off) : 0;
    bytes_ = whole + 2 * page;
    void *const memory =
        mmap(nullptr, static_cast<size_t>(bytes_), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    mapping_ = static_cast<std::byte *>(memory);
    first_ = mapping_ + page + (from.chance(2) ? off : whole - bytes - off) - lowest;
}

island_memory::~island_memory() { munmap(mapping_, static_cast<size_t>(bytes_)); }

void island_memory::open(int64_t place, int64_t bytes) {
    const int64_t begin = first_ + place - mapping_;
    for (int64_t each = begin / page * page; each < begin + bytes; each += page) {
        if (pages_.insert(each).second) {
            EXPECT_EQ(mprotect(mapping_ + each, static_cast<size_t>(page), PROT_READ | PROT_WRITE), 0);
            std::fill_n(mapping_ + each, page, poison);
        }
    }
}

void island_memory::forbid_writing() {
    for (const int64_t each : pages_) {
        EXPECT_EQ(mprotect(mapping_ + each, static_cast<size_t>(page), PROT_READ), 0);
    }
}

std::vector<std::byte> island_memory::contents() const {
    std::vector<std::byte> all;
    for (const int64_t each : pages_) {
        all.insert(all.end(), mapping_ + each, mapping_ + each + page);
    }
    return all;
}

void island_memory::restore(const std::vector<std::byte> &contents) {
    auto from = contents.begin();
    for (const int64_t each : pages_) {
        std::copy_n(from, page, mapping_ + each);
        from += page;
    }
}

island_tensor::island_tensor(const tensor_memory &of, part role, test_support::choices &from) : view_(of.view()) {
    const std::span<const std::byte> bytes = of.occupied();
    const bool is_dense = reference::is_packed(view_.dtype) || of.is_in_another_order();
    if (is_dense) {
        memory_.emplace(0, std::ssize(bytes), from);
        memory_->open(0, std::ssize(bytes));
        std::ranges::copy(bytes, memory_->first());
        view_.data = memory_->first();
        return;
    }
    draw_strides(role, from);
    open_elements(from);
    memory_->restore(contents_with(of));
    if (role == part::input) {
        draw_ends(from);
    }
}

std::vector<std::byte> island_tensor::contents_with(const tensor_memory &elements) {
    const std::vector<std::byte> before = contents();
    if (view_.strides == nullptr) {
        std::ranges::copy(elements.occupied(), memory_->first());
    } else {
        const std::vector<uint32_t> codes = elements.codes();
        size_t i = 0;
        reference::for_each_index(view_,
                                  [&](const int64_t *index) { reference::store_code(view_, index, codes[i++]); });
    }
    std::vector<std::byte> after = contents();
    memory_->restore(before);
    return after;
}

void island_tensor::draw_strides(part role, test_support::choices &from) {
    const int64_t elements_of_page = page / bytes_of(view_);
    std::vector<size_t> order(static_cast<size_t>(view_.rank));
    std::iota(order.rbegin(), order.rend(), size_t{0});
    if (from.chance(2)) {
        from.shuffle(order);
    }
    strides_.resize(order.size());
    constexpr int64_t most_islands = 64;
    int64_t pitch = from.chance(8) ? from.between(2, 3) : 1, left = reference::element_count(view_);
    for (const size_t d : order) {
        if (view_.shape[d] == 1) {
            strides_[d] = from.one_of<int64_t>({0, 1, -1, 7, int64_t{1} << 40, INT64_MAX, INT64_MIN});
        } else if (role == part::input && from.chance(12)) {
            strides_[d] = 0;
        } else {
            strides_[d] = from.chance(8) ? -pitch : pitch;
            pitch *= view_.shape[d];
            left /= view_.shape[d];
            if (left <= most_islands && from.chance(2)) {  // no memory of a page at least
                pitch = (pitch / elements_of_page + 2) * elements_of_page;
            } else if (from.chance(3)) {
                pitch += from.between(1, 5);
            }
        }
    }
    view_.strides = strides_.data();
}

void island_tensor::open_elements(test_support::choices &from) {
    int64_t lowest = 0, highest = 0;
    reference::for_each_index(view_, [&](const int64_t *index) {
        lowest = std::min(lowest, place_of(view_, index));
        highest = std::max(highest, place_of(view_, index));
    });
    memory_.emplace(lowest, highest + bytes_of(view_), from);
    reference::for_each_index(view_,
                              [&](const int64_t *index) { memory_->open(place_of(view_, index), bytes_of(view_)); });
    view_.data = memory_->first();
}

// All of them, one, or none.
void island_tensor::draw_ends(test_support::choices &from) {
    const bool are_all = from.chance(6);
    const int64_t only = from.chance(3) ? from.between(0, reference::element_count(view_) - 1) : -1;
    int64_t i = 0;
    reference::for_each_index(view_, [&](const int64_t *index) {
        if (i++ == only || are_all) {
            reference::store_code(view_, index, end_of_a_range(view_.dtype, from));
        }
    });
}

}  // namespace api_test
