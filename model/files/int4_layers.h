#pragma once

#include "support/json.h"
#include "tensors/tensor_file.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace qdq::model {

// How GPTQ and AWQ keep a linear layer of int4, of `in` inputs and `out` outputs, whose weights are
// (code - zero point) * scale:
//   x.scales   [groups, out], a float type; a group is of consecutive inputs, as many in each
//   x.qzeros   I32 [groups, out / 8]: the zero points of eight outputs in a word
//   x.qweight  GPTQ: I32 [in / 8, out], the codes of eight inputs; AWQ: I32 [in, out / 8], those of eight outputs
//   x.g_idx    GPTQ: I32 [in], the group of each input, which then need not be consecutive
// A word has its eight in order, the first in the lowest bits; AWQ's are 0, 2, 4, 6, 1, 3, 5, 7.
enum class int4_method { gptq, awq };

struct int4_layout {
    int4_method method;
    bool zero_points_less_one = false;  // of GPTQ's first format, in four bits: 0 is 15
};

// What config.json says in its quantization_config, or a file of `other_configs` beside it; null: there is no such
// file. Nothing where that is neither method. Throws failure where it is one of them, and not of such layers.
std::optional<int4_layout> find_int4_layout(const json &config, const std::vector<json> &other_configs);

// The files that say so in older models.
inline constexpr const char *int4_config_names[] = {"quantize_config.json", "quant_config.json"};

// A tensor as it is read, in place of others.
struct presented_tensor {
    tensor_info info;
    size_t from;  // a tensor that it is made of, to whose shard it belongs
    std::function<void(const tensor_source &files, uint64_t offset, std::span<std::byte> bytes)> read =
        nullptr;                   // null: it is that one
    std::string stored_type = "";  // empty: info's
    uint64_t stored_bytes = 0;
};

// Such layers in the conventions of other files: x.weight_packed, x.weight_scale, x.weight_shape and, where a zero
// point is not 8, x.weight_zero_point. One whose groups are not consecutive has no such form: it is x.weight, its
// values, in F32. All other tensors stay. Reads zero points and groups; throws failure where parts are missing or do
// not fit.
std::vector<presented_tensor> present_int4_layers(const tensor_source &files, const int4_layout &layout);

}  // namespace qdq::model
