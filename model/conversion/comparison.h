#pragma once

#include "conversion/transformation.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace qdq::model {

// How far one tensor is from the original, or all of them together.
struct comparison {
    std::string name;
    std::vector<int64_t> shape;
    uint64_t bytes_before = 0, bytes_after = 0;
    bool unchanged = true;
    double signal = 0, noise = 0;  // sums of squares
    double max_error = 0;
    std::optional<double> max_steps;  // nothing: the other tensor is not quantized to integers
    std::optional<uint64_t> clipped;  // nothing: it is not quantized
    std::string dtype;                // of the codes, or of the tensor that is not quantized

    // How many errors are in [2^(first_exponent + i), 2 ^ (first_exponent + i + 1)) times the root mean square of the
    // tensor's values; the first and the last also those beyond. Errors of 0 are not counted.
    static constexpr int first_exponent = -24;
    std::array<uint64_t, 28> errors = {};

    double sqnr_db() const;  // without noise infinite, even of zeros or of nothing at all
};

// Compares files or folders that hold the same tensors, either of which may be quantized. Throws failure where they do
// not.
class comparer {
public:
    comparer(const std::string &original, const std::string &other);
    ~comparer();

    uint64_t bytes() const;                       // of the original
    std::vector<std::string> odd_scales() const;  // of both
    std::vector<comparison> run(const progress_function &advance);

private:
    struct sides;
    std::unique_ptr<sides> sides_;
};

// Of all tensors, and of one with its name and shape.
json to_json(const comparison &each);
json named_json(const comparison &each);

comparison total_of(const std::vector<comparison> &all);

}  // namespace qdq::model
