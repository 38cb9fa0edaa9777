// Decisions that draw a test's inputs: taken from a random generator, or from bytes that a fuzzer has found.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace test_support {

// Of what is drawn from a random generator: QDQ_TEST_SEED=<n>, or 1.
inline unsigned drawn_seed() {
    const char *const wanted = std::getenv("QDQ_TEST_SEED");
    return wanted != nullptr ? static_cast<unsigned>(std::strtoul(wanted, nullptr, 10)) : 1;
}

class choices {
public:
    virtual ~choices() = default;

    virtual int64_t between(int64_t least, int64_t most) = 0;

    bool chance(int64_t one_in) { return between(1, one_in) == one_in; }

    template<typename T> T one_of(const std::vector<T> &list) {
        return list[static_cast<size_t>(between(0, static_cast<int64_t>(list.size()) - 1))];
    }

    template<typename T> void shuffle(std::vector<T> &list) {
        for (size_t i = list.size(); i > 1; i--) {
            std::swap(list[i - 1], list[static_cast<size_t>(between(0, static_cast<int64_t>(i) - 1))]);
        }
    }
};

class random_choices : public choices {
public:
    explicit random_choices(unsigned seed) : random_(seed) {}
    int64_t between(int64_t least, int64_t most) override {
        return std::uniform_int_distribution<int64_t>(least, most)(random_);
    }

private:
    std::mt19937 random_;
};

// Every decision takes as many bytes as its range needs, so that a changed byte changes one decision. Where no bytes
// are left, the first possibility is taken.
class byte_choices : public choices {
public:
    explicit byte_choices(std::span<const uint8_t> bytes) : left_(bytes) {}

    int64_t between(int64_t least, int64_t most) override {
        const uint64_t range = static_cast<uint64_t>(most) - static_cast<uint64_t>(least);
        uint64_t drawn = 0;
        for (uint64_t rest = range; rest > 0 && !left_.empty(); rest >>= 8) {
            drawn = drawn << 8 | left_.front();
            left_ = left_.subspan(1);
        }
        if (range != UINT64_MAX) {
            drawn %= range + 1;
        }
        return static_cast<int64_t>(static_cast<uint64_t>(least) + drawn);
    }

    // What no decision has taken yet.
    std::span<const uint8_t> rest() const { return left_; }

private:
    std::span<const uint8_t> left_;
};

}  // namespace test_support
