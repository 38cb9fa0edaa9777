#include "call.h"

#include "dynamic.h"
#include "scale_layouts.h"

#include <algorithm>
#include <string>
#include <tuple>

namespace qdq::python {

namespace {

template<typename Value> struct named_value {
    const char *name;
    Value value;
};

// The value that a keyword names. `table` begins with its default.
template<typename Value, std::size_t count>
Value named(const char *function, const char *keyword, nb::handle given, const named_value<Value> (&table)[count]) {
    const std::string_view name = text(function, keyword, given);
    std::string names;
    for (const auto &row : table) {
        if (name == row.name) {
            return row.value;
        }
        names += (names.empty() ? "" : ", ") + std::string(row.name);
    }
    refuse_value(function, keyword, '"' + std::string(name) + "\" is none of " + names);
}

constexpr named_value<qdq_scale_mode> scale_modes[] = {
    {"divide", QDQ_DIVIDE}, {"multiply", QDQ_MULTIPLY}, {"reciprocal", QDQ_RECIPROCAL}};
constexpr named_value<qdq_quantize_zp> quantize_zps[] = {{"after_rounding", QDQ_ZP_AFTER_ROUNDING},
                                                         {"before_rounding", QDQ_ZP_BEFORE_ROUNDING}};
constexpr named_value<qdq_dequantize_zp> dequantize_zps[] = {{"subtract", QDQ_ZP_SUBTRACT}, {"add", QDQ_ZP_ADD}};
constexpr named_value<qdq_rounding> roundings[] = {{"nearest_even", QDQ_NEAREST_EVEN},
                                                   {"nearest_away", QDQ_NEAREST_AWAY},
                                                   {"toward_zero", QDQ_TOWARD_ZERO},
                                                   {"down", QDQ_DOWN},
                                                   {"up", QDQ_UP},
                                                   {"stochastic", QDQ_STOCHASTIC}};

constexpr named_value<qdq_nan> nan_codes[] = {{"lowest", QDQ_NAN_LOWEST}, {"zero", QDQ_NAN_ZERO}};

// A keyword's value where it is not its default, which leaves a profile's as it is.
template<typename Value> void replace(Value &option, Value given) {
    if (given != Value{}) {
        option = given;
    }
}

}  // namespace

qdq_rounding rounding_of(const char *function, nb::handle given) {
    return named(function, "rounding", given, roundings);
}

void check(qdq_status status) {
    switch (status) {
    case QDQ_OK: return;
    case QDQ_OUT_OF_MEMORY: PyErr_NoMemory(); throw nb::python_error();
    case QDQ_DEVICE_ERROR: raise(PyExc_RuntimeError, qdq_last_error());
    default: raise(PyExc_ValueError, qdq_last_error());
    }
}

void operands::read(const direction &way, nb::handle scale, nb::handle zero_point, const keywords &given,
                    const array &x) {
    const bool is_arranged = given.scale_layout.is_valid() && !given.scale_layout.is_none();
    if (is_arranged) {
        options_.scale_is_arranged = 1;
        options_.scale_layout = layout_of(way.function, "scale_layout", given.scale_layout);
        scale_.read_arranged(way.function, way.names.scale, scale,
                             given.scale_dtype.is_none()
                                 ? std::nullopt
                                 : std::optional(named_type(way.function, "scale_dtype", given.scale_dtype).dtype));
    } else {
        scale_.read_operand(way.function, way.names.scale, scale, false, x);
    }
    if (!zero_point.is_none()) {
        zero_point_.read_operand(way.function, way.names.zero_point, zero_point, true, x);
    }
}

void operands::check_in_place(const direction &way) const {
    scale_.check_in_place(way.function, way.names.scale);
    zero_point_.check_in_place(way.function, way.names.zero_point);
}

void operands::check_apart_from(const direction &way, const array &y) const {
    y.check_apart_from(way.function, "out", scale_, way.names.scale);
    y.check_apart_from(way.function, "out", zero_point_, way.names.zero_point);
}

void operands::read_options(const direction &way, const keywords &given, const array &x, qdq_dtype stored) {
    if (!given.profile.is_none()) {
        const std::string_view name = text(way.function, way.names.profile, given.profile);
        const qdq_options read = options_;
        check(qdq_profile_options(name.data(), stored, &options_));
        options_.scale_is_arranged = read.scale_is_arranged;
        options_.scale_layout = read.scale_layout;
    }
    if (way.quantizes) {
        replace(options_.scale_mode, named(way.function, "scale_mode", given.scale_mode, scale_modes));
        replace(options_.quantize_zp,
                named(way.function, way.names.zero_point_mode, given.zero_point_mode, quantize_zps));
        replace(options_.rounding, rounding_of(way.function, given.rounding));
        replace(options_.nan, named(way.function, "nan", given.nan, nan_codes));
        replace(options_.no_saturate, boolean(way.function, "saturate", given.saturate) ? 0 : 1);
        if (given.seed.is_valid()) {
            options_.random_seed = unsigned_integer(way.function, "seed", given.seed);
            options_.random_offset = unsigned_integer(way.function, "offset", given.offset);
        }
    } else {
        replace(options_.dequantize_zp,
                named(way.function, way.names.zero_point_mode, given.zero_point_mode, dequantize_zps));
    }
    if (!given.axis.is_none()) {
        options_.axis = static_cast<std::int32_t>(
            std::clamp<std::int64_t>(integer(way.function, way.names.axis, given.axis), INT32_MIN, INT32_MAX));
    }
    if (PyTuple_Check(given.block_size.ptr()) || PyList_Check(given.block_size.ptr())) {
        block_shape_ = integers(way.function, way.names.block_size, given.block_size, 8);
        if (block_shape_.size() != x.shape().size()) {
            refuse_value(
                way.function, way.names.block_size,
                std::to_string(block_shape_.size()) + " sizes for " + std::to_string(x.shape().size()) + " dimensions");
        }
        options_.block_shape = block_shape_.data();
    } else if (!given.block_size.is_none()) {
        options_.block_size = integer(way.function, way.names.block_size, given.block_size);
    }
    options_.stream = x.stream();
    options_.packing = given.packing.is_valid() && !given.packing.is_none() ? QDQ_DENSE : QDQ_LOW_FIRST;
    if (options_.scale_is_arranged != 0) {
        const std::vector<std::int64_t> shape = blocked_shape(way, x);
        scale_.set_arranged_shape(way.function, way.names.scale, shape,
                                  arranged_bytes(way.function, options_.scale_layout, shape));
    }
    read_global_scale(way, given);
    check_axis_and_blocks_are_clear(way, given, x);
    // Asking tensors again where they are takes 60 ns each.
    const auto runs_code = [](nb::handle number) { return !number.is_none() && !PyLong_CheckExact(number.ptr()); };
    const bool number_has_run_code = options_.global_scale && !PyFloat_CheckExact(given.global_scale.ptr());
    options_have_run_code_ = number_has_run_code || runs_code(given.axis) || runs_code(given.block_size) ||
                             (given.seed.is_valid() && (runs_code(given.seed) || runs_code(given.offset)));
}

void operands::read_global_scale(const direction &way, const keywords &given) {
    if (!given.global_sense.is_valid() || (given.global_sense.is_none() && given.global_scale.is_none())) {
        return;
    }
    if (given.global_sense.is_none() || given.global_scale.is_none()) {
        const char *const missing = given.global_sense.is_none() ? "global_sense" : "global_scale";
        refuse_value(way.function, missing, "None: global_scale has a global_sense, which is scale or inverse");
    }
    options_.global_sense = sense_of(way.function, given.global_sense);
    global_scale_ = number(way.function, "global_scale", given.global_scale);
    options_.global_scale = &global_scale_;
}

// Of scales whose blocks are asked for.
std::vector<std::int64_t> operands::blocked_shape(const direction &way, const array &x) const {
    std::vector<std::int64_t> shape(x.shape().begin(), x.shape().end());
    const auto rank = static_cast<std::int64_t>(shape.size());
    const std::int64_t axis = options_.axis < 0 ? options_.axis + rank : options_.axis;
    for (std::int64_t d = 0; d < rank; ++d) {
        const std::int64_t asked = options_.block_shape ? options_.block_shape[d] : d == axis ? options_.block_size : 1;
        if (asked < 1) {
            refuse_value(way.function, way.names.block_size,
                         "scale_layout needs block sizes of 1 or more: the scale's shape follows from them");
        }
        std::int64_t &blocks = shape[static_cast<std::size_t>(d)];
        blocks = blocks / asked + (blocks % asked != 0);
    }
    return shape;
}

// What qdq would take for granted of shapes that say less than a program means. In a square matrix one scale for each
// column looks like one for each row, and 33 blocks of 4096 columns, meant to be of 128, are blocks of 125.
void operands::check_axis_and_blocks_are_clear(const direction &way, const keywords &given,
                                               const array &elements) const {
    if (!given.block_size.is_none() || way.has_groups) {
        return;
    }
    const argument_names &names = way.names;
    const auto scale = scale_.shape(), x = elements.shape();
    if (scale.size() == 1 && x.size() > 1 && scale[0] > 1 && given.axis.is_none() &&
        std::ranges::count(x, scale[0]) > 1) {
        refuse_value(way.function, names.axis,
                     std::string("several dimensions of ") + names.x + " have " + names.scale + "'s length, " +
                         std::to_string(scale[0]) + ": it says which one " + names.scale + " varies along");
    }
    for (std::size_t d = 0; scale.size() == x.size() && d < x.size(); ++d) {
        if (scale[d] > 0 && scale[d] < x[d] && x[d] % scale[d] != 0) {
            refuse_value(way.function, names.scale,
                         "shape[" + std::to_string(d) + "], " + std::to_string(scale[d]) + ", does not divide " +
                             names.x + "'s, " + std::to_string(x[d]) + ": " + names.block_size +
                             " says how long its blocks are");
        }
    }
}

call::call(const direction &way, nb::handle x, nb::handle scale, nb::handle zero_point, const keywords &given)
    : way_(way),
      dtype_(named_type(way.function, "dtype", given.dtype).dtype),
      packed_(boolean(way.function, "packed", given.packed)),
      dense_(is_dense_packing(way.function, given.packing, packed_ || !given.stored.is_none())) {
    if (!given.stored.is_none()) {
        stored_ = named_type(way.function, "stored", given.stored).dtype;
    }
    if (!given.shape.is_none()) {
        stored_shape_ = integers(way.function, "shape", given.shape, 8);
    }
    read_x(x_, x);
    operands_.read(way, scale, zero_point, given, x_);
    read_y(y_, given.out, x_);
    operands_.read_options(way, given, x_, way.quantizes ? dtype_ : x_.view().dtype);
    if (x_.has_run_code() || y_.has_run_code() || operands_.have_run_code()) {
        check_in_place(x_, y_);
        operands_.check_in_place(way);
    }
    check_apart(x_, y_);
}

void call::check_apart(const array &x, const array &y) const {
    y.check_apart_from(way_.function, "out", x, way_.names.x);
    operands_.check_apart_from(way_, y);
}

void call::check_in_place(const array &x, const array &y) const {
    x.check_in_place(way_.function, way_.names.x);
    y.check_in_place(way_.function, "out");
}

void call::read_x(array &x, nb::handle given) const {
    if (stored_) {
        x.read_bytes(way_.function, way_.names.x, given, {way_.function, "stored", *stored_, dense_}, stored_shape_);
    } else {
        x.read(way_.function, way_.names.x, given);
    }
}

void call::read_y(array &y, nb::handle out, const array &x) const {
    if (out.is_none()) {
        packed_ ? y.make_bytes(way_.function, x, {way_.function, "packed", dtype_, dense_}, x.shape())
                : y.make(way_.function, x, dtype_, x.shape());
        return;
    }
    y.check_writable(way_.function, out);
    if (packed_) {
        y.read_bytes(way_.function, "out", out, {way_.function, "packed", dtype_, dense_}, x.shape());
        return;
    }
    y.read(way_.function, "out", out);
    y.check_elements_are_apart(way_.function, "out");
    if (y.view().dtype != dtype_) {
        refuse_type(way_.function, "out",
                    std::string("dtype ") + type_of(y.view().dtype).name + " is not " + type_of(dtype_).name);
    }
}

template<typename Compute> nb::object call::computed(Compute &&compute) {
    qdq_status status = QDQ_OUT_OF_MEMORY;
    {
        const nb::gil_scoped_release others_run;
        // Where shapes differ qdq refuses the call, and looks at no element: a copy of x could take any room. Types
        // below 8 bits are no scale's and no zero point's.
        if (!std::ranges::equal(x_.shape(), y_.shape()) || (x_.pack() && y_.make_room())) {
            status = compute();
        }
        if (status == QDQ_OK) {
            y_.unpack();
        }
    }
    check(status);
    return y_.result(x_);
}

nb::object call::run() {
    return computed([this] {
        return way_.run(&x_.view(), operands_.scale(), operands_.zero_point(), &y_.view(), operands_.options());
    });
}

transcoding::transcoding(nb::handle q, nb::handle scale, nb::handle zero_point, const keywords &given,
                         nb::handle new_scale, nb::handle new_zero_point, const keywords &made)
    : call(from_codes, q, scale, zero_point, given) {
    new_operands_.read(to_codes, new_scale, new_zero_point, made, x_);
    new_operands_.read_options(to_codes, made, x_, y_.view().dtype);
    if (new_operands_.have_run_code()) {
        check_in_place(x_, y_);
        operands_.check_in_place(from_codes);
        new_operands_.check_in_place(to_codes);
    }
    new_operands_.check_apart_from(to_codes, y_);
}

nb::object transcoding::run() {
    return computed([this] {
        return qdq_transcode(&x_.view(), operands_.scale(), operands_.zero_point(), operands_.options(), &y_.view(),
                             new_operands_.scale(), new_operands_.zero_point(), new_operands_.options());
    });
}

grouped_call::grouped_call(const direction &way, nb::handle x, nb::handle offsets, nb::handle scale,
                           nb::handle zero_point, const keywords &given)
    : call(way, x, scale, zero_point, given), offsets_(group_offsets(way.function, offsets)) {
    check_in_place(x_, y_);
    operands_.check_in_place(way);
}

nb::object grouped_call::run() {
    return computed([this] {
        const auto groups = static_cast<std::int64_t>(offsets_.size()) - 1;
        const auto run = way_.quantizes ? qdq_quantize_grouped : qdq_dequantize_grouped;
        return run(&x_.view(), offsets_.data(), groups, operands_.scale(), operands_.zero_point(), &y_.view(),
                   operands_.options());
    });
}

plan::plan(const direction &way, nb::handle x, nb::handle scale, nb::handle zero_point, const keywords &given)
    : call(way, x, scale, zero_point, given) {
    check(way.plan(&plan_, &x_.view(), operands_.scale(), operands_.zero_point(), &y_.view(), operands_.options()));
    x_.forget_object();
    y_.forget_object();
}

nb::object plan::run(nb::handle given, nb::handle out) const {
    array x, y;
    read_x(x, given);
    read_y(y, out, x);
    for (const auto &[name, array, planned] : {std::tuple(way_.names.x, &x, &x_), {"out", &y, &y_}}) {
        if (!array->same_layout(*planned)) {
            refuse_value(way_.function, name, "its dtype, shape, strides or device are not those of the plan");
        }
    }
    void *const stream = x.stream();
    operands_.check_in_place(way_);
    if (x.has_run_code() || y.has_run_code()) {
        check_in_place(x, y);
    }
    check_apart(x, y);
    qdq_status status = QDQ_OUT_OF_MEMORY;
    {
        const nb::gil_scoped_release others_run;
        if (x.pack() && y.make_room()) {
            status = qdq_run(&plan_, x.data(), y.data(), stream);
        }
        if (status == QDQ_OK) {
            y.unpack();
        }
    }
    check(status);
    return y.result(x);
}

}  // namespace qdq::python
