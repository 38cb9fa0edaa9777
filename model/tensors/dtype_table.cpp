#include "tensors/dtype_table.h"

#include "element_types.h"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>

namespace qdq::model {

namespace {

// A type of this library's as files name it.
constexpr dtype own(std::string_view name, std::string_view npy, qdq_dtype core) {
    const qdq::kernels::element_type &type = qdq::kernels::type_of(core);
    if (!type.roles.stored) {
        return {name, npy, type.bits, core, 0, 0, 0};
    }
    const double highest = type.largest_value();
    return {name, npy, type.bits, core, type.is_float() ? -highest : double(type.lowest()), highest, type.last_step()};
}

// One that is only copied.
constexpr dtype foreign(std::string_view name, std::string_view npy, int bits) {
    return {name, npy, bits, std::nullopt, 0, 0, 0};
}

constexpr dtype file_dtypes[] = {
    own("F32", "<f4", QDQ_F32),
    own("F16", "<f2", QDQ_F16),
    own("BF16", "", QDQ_BF16),
    own("I8", "|i1", QDQ_I8),
    own("U8", "|u1", QDQ_U8),
    own("I16", "<i2", QDQ_I16),
    own("U16", "<u2", QDQ_U16),
    own("I32", "<i4", QDQ_I32),
    own("F8_E4M3", "", QDQ_F8E4M3),
    own("F8_E5M2", "", QDQ_F8E5M2),
    own("F8_E4M3FNUZ", "", QDQ_F8E4M3FNUZ),
    own("F8_E5M2FNUZ", "", QDQ_F8E5M2FNUZ),
    own("F4", "", QDQ_F4E2M1),
    own("F8_E8M0", "", QDQ_E8M0),
    foreign("BOOL", "|b1", 8),
    foreign("U32", "<u4", 32),
    foreign("I64", "<i8", 64),
    foreign("U64", "<u8", 64),
    foreign("F64", "<f8", 64),
    foreign("C64", "<c8", 64),
    foreign("F6_E2M3", "", 6),
    foreign("F6_E3M2", "", 6),
};

constexpr dtype other_dtypes[] = {
    own("F6_E2M3", "", QDQ_F6E2M3),
    own("F6_E3M2", "", QDQ_F6E3M2),
    own("I4", "", QDQ_I4),
    own("U4", "", QDQ_U4),
};

template<typename Field, typename Value>
const dtype *find(std::span<const dtype> rows, Field dtype::*field, Value value) {
    auto row = std::ranges::find(rows, value, field);
    return row == rows.end() ? nullptr : &*row;
}

}  // namespace

const dtype *find_dtype(std::string_view name) { return find(file_dtypes, &dtype::name, name); }

const dtype *find_npy_dtype(std::string_view descr) {
    return descr.empty() ? nullptr : find(file_dtypes, &dtype::npy, descr);
}

const dtype &dtype_of(qdq_dtype core) {
    for (std::span<const dtype> rows : {std::span<const dtype>(file_dtypes), std::span<const dtype>(other_dtypes)}) {
        if (const dtype *row = find(rows, &dtype::core, std::optional(core))) {
            return *row;
        }
    }
    throw std::invalid_argument("not a type of this library's: " + std::to_string(core));
}

const dtype &in_memory(const dtype &stored) {
    const dtype *other = stored.core ? nullptr : find(other_dtypes, &dtype::name, stored.name);
    return other != nullptr ? *other : stored;
}

const dtype &in_file(const dtype &code) {
    const dtype *stored = find_dtype(code.name);
    return stored != nullptr ? *stored : code;
}

bool is_dense(const dtype &code) { return in_file(code).bits == 6; }

const dtype &zero_point_dtype(const dtype &code) {
    return code.bits >= 8 ? code : dtype_of(code.lowest < 0 ? QDQ_I8 : QDQ_U8);
}

}  // namespace qdq::model
