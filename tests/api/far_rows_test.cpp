// Rows so far apart that 32 bits cannot count the elements between them: matrices whose rows alone have memory, so that
// a wrong address is a crash.
#include "call.h"

#include "support/targets.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace api_test {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr int64_t largest = int64_t{1} << 32;  // what fits between TSan's own mappings
#else
constexpr int64_t largest = int64_t{1} << 33;
#endif

// From 64 rows within a kernel's reach to rows that are out of it on their own. An emulator's table has an entry for
// every page between the rows.
std::vector<int64_t> pitches() {
    std::vector<int64_t> all{1 << 24, (1 << 24) + 1};
    if (std::string(QDQ_TEST_EMULATOR).empty()) {
        all.insert(all.end(), {1 << 25, 1 << 26, int64_t{1} << 32, largest, -largest});
    }
    return all;
}

// How a matrix lies in memory: its rows so many elements apart, or its columns, where it is transposed; 0 for end to
// end.
struct placement {
    int64_t pitch;
    bool transposed;
};

// Where matrices lie, again and again: an emulator keeps the entries of every page that there has been.
constexpr uintptr_t place_of_x = uintptr_t{2} << 44, place_of_y = uintptr_t{3} << 44;

// side x side elements. Only the pages of its contiguous lines have memory.
class far_matrix {
public:
    far_matrix(qdq_dtype type, int64_t side, const placement &how, uintptr_t place)
        : type_(type),
          lines_(side),
          line_bytes_(side * reference::bits_of(type) / 8),
          shape_{side, side},
          strides_{how.pitch != 0 ? how.pitch : side, 1} {
        pitch_bytes_ = strides_[0] * reference::bits_of(type) / 8;
        if (how.transposed) {
            std::swap(strides_[0], strides_[1]);
        }
        const int64_t reach = (lines_ - 1) * pitch_bytes_;
        mapped_ = static_cast<size_t>(std::abs(reach) + line_bytes_ + 2 * page_);
        void *memory = mmap(reinterpret_cast<void *>(place), mapped_, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        EXPECT_NE(memory, MAP_FAILED);
        mapping_ = static_cast<uint8_t *>(memory);
        first_ = mapping_ + page_ / 2 + std::max<int64_t>(-reach, 0);
        for (int64_t i = 0; i < lines_; i++) {
            EXPECT_EQ(mprotect(pages_of(i), bytes_of_pages(i), PROT_READ | PROT_WRITE), 0);
            std::memset(pages_of(i), poison, bytes_of_pages(i));
        }
    }
    ~far_matrix() { munmap(mapping_, mapped_); }
    far_matrix(const far_matrix &) = delete;

    qdq_tensor view() const { return {first_, type_, 2, shape_.data(), strides_.data()}; }

    // Whether every byte that has memory and is no element's is as it was. Lines may share pages.
    bool surroundings_intact() const {
        if (std::abs(pitch_bytes_) < 2 * page_) {
            return true;
        }
        const auto untouched = [](uint8_t byte) { return byte == poison; };
        for (int64_t i = 0; i < lines_; i++) {
            const uint8_t *line = line_at(i), *pages = pages_of(i);
            if (!std::all_of(pages, line, untouched) ||
                !std::all_of(line + line_bytes_, pages + bytes_of_pages(i), untouched)) {
                return false;
            }
        }
        return true;
    }

private:
    static constexpr uint8_t poison = 0xa5;

    uint8_t *line_at(int64_t i) const { return first_ + i * pitch_bytes_; }
    uint8_t *pages_of(int64_t i) const { return line_at(i) - reinterpret_cast<intptr_t>(line_at(i)) % page_; }
    size_t bytes_of_pages(int64_t i) const {
        return static_cast<size_t>((line_at(i) + line_bytes_ - pages_of(i) + page_ - 1) / page_ * page_);
    }

    const int64_t page_ = sysconf(_SC_PAGESIZE);
    qdq_dtype type_;
    int64_t lines_, line_bytes_, pitch_bytes_;
    std::array<int64_t, 2> shape_, strides_;
    size_t mapped_;
    uint8_t *mapping_, *first_;
};

struct pair {
    qdq_dtype real, stored;
};

// Elements of 4, 2 and 1 bytes on either side.
constexpr pair pairs[] = {{QDQ_F32, QDQ_I8}, {QDQ_BF16, QDQ_I16}, {QDQ_F32, QDQ_I32}, {QDQ_F16, QDQ_F8E4M3}};

std::string described(const placement &how) {
    return (how.transposed ? "transposed, by " : "by ") + std::to_string(how.pitch);
}

class FarRows : public Api {
protected:
    static void expect_result(direction way, const pair &types, int64_t side, const placement &of_x,
                              const placement &of_y, const tensor_memory &scale) {
        const bool quantizes = way == direction::quantize;
        const qdq_dtype x_type = quantizes ? types.real : types.stored, y_type = quantizes ? types.stored : types.real;
        SCOPED_TRACE(std::string(reference::name_of(x_type)) + " to " + reference::name_of(y_type) + ", side " +
                     std::to_string(side) + ", x " + described(of_x) + ", y " + described(of_y) + ", scale " +
                     testing::PrintToString(scale.codes().size()));
        const dimensions shape{side, side};
        const tensor_memory dense = quantizes ? floats(x_type, shape) : stored(x_type, shape), expected(y_type, shape);
        const far_matrix x(x_type, side, of_x, place_of_x), y(y_type, side, of_y, place_of_y);
        const qdq_tensor c_dense = dense.view(), c_expected = expected.view(), c_scale = scale.view();
        const qdq_tensor c_x = x.view(), c_y = y.view();
        reference::for_each_index(
            c_x, [&](const int64_t *at) { reference::store_code(c_x, at, reference::load_code(c_dense, at)); });
        call_reference({way, &c_dense, &c_scale, nullptr, &c_expected, nullptr});
        ASSERT_EQ(call({way, &c_x, &c_scale, nullptr, &c_y, nullptr}), QDQ_OK) << qdq_last_error();
        int64_t wrong = 0;
        reference::for_each_index(c_y, [&](const int64_t *at) {
            wrong += reference::load_code(c_y, at) != reference::load_code(c_expected, at);
        });
        EXPECT_EQ(wrong, 0) << "elements differ";
        EXPECT_TRUE(x.surroundings_intact() && y.surroundings_intact());
    }

    static void expect_results(const placement &of_x, const placement &of_y) {
        for (int64_t side : {63, 64, 65}) {
            for (direction way : {direction::quantize, direction::dequantize}) {
                expect_result(way, pairs[0], side, of_x, of_y, scales({}));
                expect_result(way, pairs[0], side, of_x, of_y, scales({side, 1}));
                expect_result(way, pairs[0], side, of_x, of_y, scales({1, side}));
            }
        }
        for (const pair &types : pairs) {
            expect_result(direction::quantize, types, 64, of_x, of_y, scales({}));
            expect_result(direction::dequantize, types, 64, of_x, of_y, scales({}));
        }
    }
};

TEST_F(FarRows, of_x_or_of_y_or_of_both) {
    test_support::for_each_target([](const std::string &) {
        for (int64_t pitch : pitches()) {
            for (bool transposed : {false, true}) {
                expect_results({pitch, transposed}, {0, transposed});
                expect_results({0, transposed}, {pitch, transposed});
                expect_results({pitch, transposed}, {pitch, transposed});
            }
        }
    });
}

TEST_F(FarRows, transposed_between_x_and_y) {
    test_support::for_each_target([](const std::string &) {
        for (int64_t pitch : pitches()) {
            for (bool transposed : {false, true}) {
                expect_results({pitch, transposed}, {0, !transposed});
                expect_results({0, transposed}, {pitch, !transposed});
                expect_results({pitch, transposed}, {pitch, !transposed});
            }
        }
    });
}

}  // namespace
}  // namespace api_test
