#include "dynamic.h"

#include "array.h"
#include "builtins.h"
#include "call.h"
#include "grouped.h"

#include <nanobind/stl/unique_ptr.h>
#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace qdq::python {

using namespace nb::literals;

namespace {

// The keywords, as Python gives them.
struct dynamic_keywords {
    nb::handle dtype, rule, axis, block_size, scale_dtype, zero_point_dtype, clip_ratio, least_scale, quant_range,
        global_sense, global_scale, global_largest, profile, diagnostics, out, packed, packing;
    nb::handle rounding{}, seed{}, offset{};  // null where there are no codes
};

constexpr std::pair<const char *, qdq_scale_rule> rules[] = {
    {"absmax", QDQ_SCALE_ABSMAX},           {"minmax", QDQ_SCALE_MINMAX},
    {"power_floor", QDQ_SCALE_POWER_FLOOR}, {"power_ceil", QDQ_SCALE_POWER_CEIL},
    {"power_even", QDQ_SCALE_POWER_EVEN},   {"power_round_up", QDQ_SCALE_POWER_ROUND_UP}};

constexpr std::pair<const char *, qdq_global_sense> senses[] = {{"scale", QDQ_GLOBAL_SCALE},
                                                                {"inverse", QDQ_GLOBAL_INVERSE}};

template<typename Named> auto named(const char *function, const char *keyword, nb::handle given, const Named &all) {
    const std::string_view name = text(function, keyword, given);
    std::string names;
    for (const auto &[known, value] : all) {
        if (name == known) {
            return value;
        }
        names += (names.empty() ? "" : ", ") + std::string(known);
    }
    refuse_value(function, keyword, '"' + std::string(name) + "\" is none of " + names);
}

}  // namespace

qdq_global_sense sense_of(const char *function, nb::handle given) {
    return named(function, "global_sense", given, senses);
}

float number(const char *function, const char *name, nb::handle given) {
    const double value = PyFloat_AsDouble(given.ptr());
    if (value == -1.0 && PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        refuse_type(function, name, "no number: " + shown(given));
    }
    return static_cast<float>(value);
}

namespace {

// What a call reads, and what it makes.
struct dynamic_arrays {
    array x, scale, zero_point, y;
};

class dynamic_call {
public:
    // `groups`: how many there are, each with scales of its own; below 0: none.
    dynamic_call(const char *function, nb::handle x, const dynamic_keywords &given, bool makes_codes,
                 std::int64_t groups = -1)
        : function_(function),
          makes_codes_(makes_codes),
          packed_(boolean(function, "packed", given.packed)),
          dense_(is_dense_packing(function, given.packing, packed_)),
          codes_(named_type(function, "dtype", given.dtype).dtype) {
        read_rule(given);
        read_clip_ratio(given.clip_ratio);
        read_global(given);
        how_.diagnostics = boolean(function, "diagnostics", given.diagnostics) ? &met_ : nullptr;
        read_range(given.quant_range);
        read_rounding(given);
        all_.x.read(function, "x", x);
        set_granularity(given);
        if (groups >= 0) {
            scale_shape_.insert(scale_shape_.begin(), groups);
        }
        options_.packing = dense_ ? QDQ_DENSE : QDQ_LOW_FIRST;
        scale_type_ = type_or(given.scale_dtype, "scale_dtype", default_scale());
        if (how_.rule == QDQ_SCALE_MINMAX) {
            zero_point_type_ = type_or(given.zero_point_dtype, "zero_point_dtype", default_zero_point());
        }
        make_outputs(all_, given.out);
    }

    nb::object run() {
        options_.stream = all_.x.stream();
        return computed(all_, [&] {
            return makes_codes_ ? qdq_quantize_dynamic(&all_.x.view(), &all_.scale.view(),
                                                       all_.zero_point.view_or_null(), &all_.y.view(), &how_, &options_)
                                : qdq_compute_scales(&all_.x.view(), codes_, &all_.scale.view(),
                                                     all_.zero_point.view_or_null(), &how_, &options_);
        });
    }

protected:
    const char *const function_;
    dynamic_arrays all_;
    qdq_scale_options how_{};
    qdq_options options_{};

    void make_outputs(dynamic_arrays &all, nb::handle out) const {
        all.scale.make(function_, all.x, scale_type_, scale_shape_);
        if (how_.rule == QDQ_SCALE_MINMAX) {
            all.zero_point.make(function_, all.x, zero_point_type_, scale_shape_);
        }
        if (makes_codes_) {
            make_codes(all, out);
            all.y.check_apart_from(function_, "out", all.x, "x");
        }
        check_in_place(all);
    }

    // Of a plan, which keeps no object of Python's.
    void forget_objects() {
        for (array *planned : {&all_.x, &all_.scale, &all_.zero_point, &all_.y}) {
            planned->forget_object();
        }
    }

    // Those of a run, which have the planned ones' layouts.
    void read_planned(dynamic_arrays &own, nb::handle x, nb::handle out) const {
        own.x.read(function_, "x", x);
        refuse_another_layout("x", own.x, all_.x);
        make_outputs(own, out);
        refuse_another_layout("out", own.y, all_.y);
    }

    void refuse_another_layout(const char *name, const array &given, const array &planned) const {
        if (!given.same_layout(planned)) {
            refuse_value(function_, name, "its dtype, shape, strides or device are not those of the plan");
        }
    }

    void check_in_place(const dynamic_arrays &all) const {
        all.x.check_in_place(function_, "x");
        if (makes_codes_) {
            all.y.check_in_place(function_, "out");
        }
    }

    // Results of a call that is made while others run; one at a time where it writes numbers, which are this object's.
    template<typename Call> nb::object computed(dynamic_arrays &all, Call call) {
        qdq_status status = QDQ_OUT_OF_MEMORY;
        numbers met;
        {
            const nb::gil_scoped_release others_run;
            std::unique_lock<std::mutex> alone(alone_, std::defer_lock);
            if (how_.diagnostics != nullptr || how_.computes_global != 0) {
                alone.lock();
            }
            if (make_room(all)) {
                status = call();
            }
            if (status == QDQ_OK) {
                unpack(all);
            }
            met = {met_, global_};
        }
        check(status);
        return results(all, met);
    }

    bool make_room(dynamic_arrays &all) const {
        return all.x.pack() && all.scale.make_room() && (!makes_codes_ || all.y.make_room());
    }

    void unpack(dynamic_arrays &all) const {
        if (makes_codes_) {
            all.y.unpack();
        }
    }

    // What a call writes beside arrays.
    struct numbers {
        qdq_diagnostics diagnostics;
        float global;
    };

    nb::object results(dynamic_arrays &all, const numbers &met) const {
        nb::list results;
        if (makes_codes_) {
            results.append(all.y.result(all.x));
        }
        results.append(all.scale.result(all.x));
        if (all.zero_point.is_given()) {
            results.append(all.zero_point.result(all.x));
        }
        if (how_.computes_global != 0) {
            results.append(static_cast<double>(met.global));
        }
        if (how_.diagnostics != nullptr) {
            results.append(as_dict(met.diagnostics));
        }
        return nb::len(results) == 1 ? nb::object(results[0]) : nb::object(nb::tuple(results));
    }

private:
    friend class dynamic_pair;
    friend class dynamic_pair_plan;

    const bool makes_codes_, packed_, dense_;
    const qdq_dtype codes_;
    qdq_dtype scale_type_{}, zero_point_type_{};
    std::mutex alone_;  // of what writes the next two
    float global_ = 0;
    qdq_diagnostics met_{};
    std::vector<std::int64_t> scale_shape_, block_shape_;

    static nb::dict as_dict(const qdq_diagnostics &met) {
        nb::dict named;
        named["nan"] = met.nan;
        named["infinite"] = met.infinite;
        named["clipped"] = met.clipped;
        named["flushed"] = met.flushed;
        named["squared_error"] = met.squared_error;
        named["amax"] = static_cast<double>(met.amax);
        return named;
    }

    // What is not at its default replaces a profile's.
    void read_rule(const dynamic_keywords &given) {
        const qdq_scale_rule rule = named(function_, "rule", given.rule, rules);
        const float least = number(function_, "least_scale", given.least_scale);
        if (!given.profile.is_none()) {
            check(qdq_dynamic_profile(text(function_, "profile", given.profile).data(), codes_, &how_, &options_));
        }
        how_.rule = rule == QDQ_SCALE_ABSMAX ? how_.rule : rule;
        how_.least_scale = least == 0 ? how_.least_scale : least;
    }

    qdq_dtype type_or(nb::handle given, const char *name, qdq_dtype otherwise) const {
        return given.is_none() ? otherwise : named_type(function_, name, given).dtype;
    }

    qdq_dtype default_scale() const {
        return how_.rule >= QDQ_SCALE_POWER_FLOOR     ? QDQ_E8M0
               : how_.global_sense != QDQ_GLOBAL_NONE ? QDQ_F8E4M3
                                                      : QDQ_F32;
    }

    // That of the codes, or the type of a byte that has them.
    qdq_dtype default_zero_point() const {
        switch (codes_) {
        case QDQ_I4:
        case QDQ_I2: return QDQ_I8;
        case QDQ_U4:
        case QDQ_U2: return QDQ_U8;
        default: return codes_;
        }
    }

    // One number, or the first, the last, and how many.
    void read_clip_ratio(nb::handle given) {
        if (!PyTuple_Check(given.ptr()) && !PyList_Check(given.ptr())) {
            how_.clip_ratio = number(function_, "clip_ratio", given);
            return;
        }
        if (nb::len(given) != 3) {
            refuse_value(function_, "clip_ratio",
                         std::to_string(nb::len(given)) + " numbers, not the first, the last, and how many");
        }
        how_.clip_ratio = number(function_, "clip_ratio", given[0]);
        how_.last_clip_ratio = number(function_, "clip_ratio", given[1]);
        how_.clip_ratio_count = static_cast<std::int32_t>(
            std::clamp<std::int64_t>(integer(function_, "clip_ratio", given[2]), INT32_MIN, INT32_MAX));
    }

    void read_global(const dynamic_keywords &given) {
        if (given.global_sense.is_none()) {
            if (!given.global_scale.is_none()) {
                refuse_value(function_, "global_sense", "None, and global_scale has one: scale or inverse");
            }
            return;
        }
        how_.global_sense = sense_of(function_, given.global_sense);
        how_.computes_global = given.global_scale.is_none() ? 1 : 0;
        global_ = given.global_scale.is_none() ? 0 : number(function_, "global_scale", given.global_scale);
        how_.global_scale = &global_;
        how_.global_largest = number(function_, "global_largest", given.global_largest);
    }

    void read_range(nb::handle given) {
        if (given.is_none()) {
            return;
        }
        const std::vector<std::int64_t> ends = integers(function_, "quant_range", given, 2);
        if (ends.size() != 2) {
            refuse_value(function_, "quant_range",
                         std::to_string(ends.size()) + " numbers, not the lowest and highest code");
        }
        options_.quant_min = static_cast<std::int32_t>(std::clamp<std::int64_t>(ends[0], INT32_MIN, INT32_MAX));
        options_.quant_max = static_cast<std::int32_t>(std::clamp<std::int64_t>(ends[1], INT32_MIN, INT32_MAX));
    }

    void read_rounding(const dynamic_keywords &given) {
        if (given.rounding.is_valid()) {
            options_.rounding = rounding_of(function_, given.rounding);
            options_.random_seed = unsigned_integer(function_, "seed", given.seed);
            options_.random_offset = unsigned_integer(function_, "offset", given.offset);
        }
    }

    std::int64_t blocks(std::int64_t extent, std::int64_t block) const {
        if (block < 1) {
            refuse_value(function_, "block_size", std::to_string(block) + " is below 1");
        }
        return extent / block + (extent % block != 0);
    }

    // One scale; one for each index of an axis; or x's rank, of blocks along one axis or all.
    void set_granularity(const dynamic_keywords &given) {
        const auto x = all_.x.shape();
        if (PyTuple_Check(given.block_size.ptr()) || PyList_Check(given.block_size.ptr())) {
            block_shape_ = integers(function_, "block_size", given.block_size, 8);
            if (block_shape_.size() != x.size()) {
                refuse_value(
                    function_, "block_size",
                    std::to_string(block_shape_.size()) + " sizes for " + std::to_string(x.size()) + " dimensions");
            }
            for (std::size_t d = 0; d < x.size(); ++d) {
                scale_shape_.push_back(blocks(x[d], block_shape_[d]));
            }
            options_.block_shape = block_shape_.data();
            return;
        }
        if (given.axis.is_none()) {
            if (!given.block_size.is_none()) {
                refuse_value(function_, "axis", "None, and block_size is of one: it says which");
            }
            return;
        }
        const std::int64_t rank = static_cast<std::int64_t>(x.size()), asked = integer(function_, "axis", given.axis);
        const std::int64_t axis = asked < 0 ? asked + rank : asked;
        if (axis < 0 || axis >= rank) {
            refuse_value(function_, "axis",
                         std::to_string(asked) + " is not a dimension of x, which has " + std::to_string(rank));
        }
        options_.axis = static_cast<std::int32_t>(axis);
        if (given.block_size.is_none()) {
            scale_shape_ = {x[static_cast<std::size_t>(axis)]};
            return;
        }
        options_.block_size = integer(function_, "block_size", given.block_size);
        scale_shape_.assign(x.begin(), x.end());
        auto &along = scale_shape_[static_cast<std::size_t>(axis)];
        along = blocks(along, options_.block_size);
    }

    void make_codes(dynamic_arrays &all, nb::handle out) const {
        const array &x = all.x;
        array &y = all.y;
        if (out.is_none()) {
            packed_ ? y.make_bytes(function_, x, {function_, "packed", codes_, dense_}, x.shape())
                    : y.make(function_, x, codes_, x.shape());
            return;
        }
        y.check_writable(function_, out);
        if (packed_) {
            y.read_bytes(function_, "out", out, {function_, "packed", codes_, dense_}, x.shape());
            return;
        }
        y.read(function_, "out", out);
        y.check_elements_are_apart(function_, "out");
        if (y.view().dtype != codes_) {
            refuse_type(function_, "out",
                        std::string("dtype ") + type_of(y.view().dtype).name + " is not " + type_of(codes_).name);
        }
        if (!std::ranges::equal(x.shape(), y.shape())) {
            refuse_value(function_, "out", "its shape is not x's");
        }
    }
};

// A dict of its own, as code of an argument's may change the one that is given.
nb::object copied_keywords(const char *function, nb::handle given) {
    if (!PyDict_Check(given.ptr())) {
        refuse_type(function, "keywords", "no dict: " + shown(given));
    }
    return nb::steal(PyDict_Copy(given.ptr()));
}

// What one output of a pair is given by name: keywords of quantize_dynamic.
dynamic_keywords output_keywords(const char *function, nb::handle given) {
    static const nb::handle one = nb::float_(1.0).release(), zero = nb::float_(0.0).release(),
                            largest = nb::float_(448.0).release(), absmax = nb::str("absmax").release(),
                            nearest = nb::str("nearest_even").release(), number_0 = nb::int_(0).release();
    const nb::handle none = Py_None, no = Py_False;
    dynamic_keywords all{none, absmax,  none, none, none, none, one,  zero,    none,     none,
                         none, largest, none, no,   none, no,   none, nearest, number_0, number_0};
    const std::pair<const char *, nb::handle *> places[] = {{"dtype", &all.dtype},
                                                            {"rule", &all.rule},
                                                            {"axis", &all.axis},
                                                            {"block_size", &all.block_size},
                                                            {"scale_dtype", &all.scale_dtype},
                                                            {"zero_point_dtype", &all.zero_point_dtype},
                                                            {"clip_ratio", &all.clip_ratio},
                                                            {"least_scale", &all.least_scale},
                                                            {"quant_range", &all.quant_range},
                                                            {"global_sense", &all.global_sense},
                                                            {"global_scale", &all.global_scale},
                                                            {"global_largest", &all.global_largest},
                                                            {"profile", &all.profile},
                                                            {"diagnostics", &all.diagnostics},
                                                            {"out", &all.out},
                                                            {"packed", &all.packed},
                                                            {"packing", &all.packing},
                                                            {"rounding", &all.rounding},
                                                            {"seed", &all.seed},
                                                            {"offset", &all.offset}};
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t next = 0; PyDict_Next(given.ptr(), &next, &key, &value) != 0;) {
        const std::string_view name = text(function, "keywords", key);
        const auto *const found = std::ranges::find_if(places, [=](const auto &p) { return name == p.first; });
        if (found == std::end(places)) {
            refuse_type(function, "keywords", '"' + std::string(name) + "\" is none of quantize_dynamic");
        }
        *found->second = value;
    }
    return all;
}

// Two calls of one x at once.
class dynamic_pair {
public:
    dynamic_pair(nb::handle x, nb::handle first, nb::handle second)
        : first_keywords_(copied_keywords(name_of_first, first)),
          second_keywords_(copied_keywords(name_of_second, second)),
          first_(name_of_first, x, output_keywords(name_of_first, first_keywords_), true),
          second_(name_of_second, x, output_keywords(name_of_second, second_keywords_), true) {
        first_.check_in_place(first_.all_);
        check_apart(first_.all_, second_.all_);
    }

    nb::object run() {
        first_.options_.stream = first_.all_.x.stream();
        return computed(first_.all_, second_.all_, [&] {
            const qdq_dynamic_output a = output_of(first_), b = output_of(second_);
            return qdq_quantize_dynamic_pair(&first_.all_.x.view(), &a, &b);
        });
    }

protected:
    static constexpr const char *name_of_first = "qdq.quantize_dynamic_pair: first",
                                *name_of_second = "qdq.quantize_dynamic_pair: second";

    const nb::object first_keywords_, second_keywords_;
    dynamic_call first_, second_;

    static void check_apart(const dynamic_arrays &to_first, const dynamic_arrays &to_second) {
        to_first.y.check_apart_from(name_of_first, "out", to_second.y, "that of the second");
    }

    static qdq_dynamic_output output_of(const dynamic_call &c) {
        return {&c.all_.scale.view(), c.all_.zero_point.view_or_null(), &c.all_.y.view(), &c.how_, &c.options_};
    }

    // As those of one call.
    template<typename Call> nb::object computed(dynamic_arrays &to_first, dynamic_arrays &to_second, Call call) {
        qdq_status status = QDQ_OUT_OF_MEMORY;
        dynamic_call::numbers met_of_first, met_of_second;
        {
            const nb::gil_scoped_release others_run;
            const std::lock_guard<std::mutex> alone(first_.alone_);
            if (first_.make_room(to_first) && second_.make_room(to_second)) {
                status = call();
            }
            if (status == QDQ_OK) {
                first_.unpack(to_first);
                second_.unpack(to_second);
            }
            met_of_first = {first_.met_, first_.global_};
            met_of_second = {second_.met_, second_.global_};
        }
        check(status);
        return nb::make_tuple(first_.results(to_first, met_of_first), second_.results(to_second, met_of_second));
    }
};

// A call with its kernels chosen, for other x and y of the same layout.
class dynamic_plan : dynamic_call {
public:
    dynamic_plan(nb::handle x, const dynamic_keywords &given) : dynamic_call("qdq.quantize_dynamic", x, given, true) {
        check(qdq_plan_quantize_dynamic(&plan_, &all_.x.view(), &all_.scale.view(), all_.zero_point.view_or_null(),
                                        &all_.y.view(), &how_, &options_));
        forget_objects();
    }

    nb::object run(nb::handle x, nb::handle out) {
        dynamic_arrays own;
        read_planned(own, x, out);
        void *const stream = own.x.stream();
        return computed(own, [&] {
            void *const zero_point = own.zero_point.is_given() ? own.zero_point.data() : nullptr;
            return qdq_run_dynamic(&plan_, own.x.data(), own.scale.data(), zero_point, own.y.data(), stream);
        });
    }

private:
    qdq_plan plan_;
};

// The same of two calls of one x.
class dynamic_pair_plan : dynamic_pair {
public:
    dynamic_pair_plan(nb::handle x, nb::handle first, nb::handle second) : dynamic_pair(x, first, second) {
        const qdq_dynamic_output a = output_of(first_), b = output_of(second_);
        check(qdq_plan_quantize_dynamic_pair(&first_plan_, &second_plan_, &first_.all_.x.view(), &a, &b));
        first_.forget_objects();
        second_.forget_objects();
    }

    nb::object run(nb::handle x, nb::handle first_out, nb::handle second_out) {
        dynamic_arrays to_first, to_second;
        first_.read_planned(to_first, x, first_out);
        second_.read_planned(to_second, x, second_out);
        check_apart(to_first, to_second);
        void *const stream = to_first.x.stream();
        return computed(to_first, to_second, [&] {
            return qdq_run_dynamic_pair(&first_plan_, &second_plan_, to_first.x.data(), to_first.scale.data(),
                                        data_or_null(to_first.zero_point), to_first.y.data(), to_second.scale.data(),
                                        data_or_null(to_second.zero_point), to_second.y.data(), stream);
        });
    }

private:
    qdq_plan first_plan_, second_plan_;

    static void *data_or_null(const array &zero_point) { return zero_point.is_given() ? zero_point.data() : nullptr; }
};

// Rows in groups.
class grouped_dynamic_call : dynamic_call {
public:
    grouped_dynamic_call(nb::handle x, std::vector<std::int64_t> offsets, const dynamic_keywords &given)
        : dynamic_call("qdq.quantize_dynamic_grouped", x, given, true, count(offsets)), offsets_(std::move(offsets)) {}

    nb::object run() {
        return computed(all_, [&] {
            return qdq_quantize_dynamic_grouped(&all_.x.view(), offsets_.data(), count(offsets_), &all_.scale.view(),
                                                all_.zero_point.view_or_null(), &all_.y.view(), &how_, &options_);
        });
    }

private:
    const std::vector<std::int64_t> offsets_;

    static std::int64_t count(const std::vector<std::int64_t> &offsets) {
        if (offsets.empty()) {
            refuse_value("qdq.quantize_dynamic_grouped", "offsets", "it is empty: the last one is where groups end");
        }
        return static_cast<std::int64_t>(offsets.size()) - 1;
    }
};

nb::object run_quantize(nb::handle x, const dynamic_keywords &given) {
    return dynamic_call("qdq.quantize_dynamic", x, given, true).run();
}

std::unique_ptr<dynamic_plan> make_plan(nb::handle x, const dynamic_keywords &given) {
    return std::make_unique<dynamic_plan>(x, given);
}

std::unique_ptr<dynamic_pair_plan> make_pair_plan(nb::handle x, nb::handle first, nb::handle second) {
    return std::make_unique<dynamic_pair_plan>(x, first, second);
}

constexpr char quantize_doc[] =
    R"(Scales of x by a rule, and x quantized by them: (codes, scale), or (codes, scale, zero_point). A global scale that is
computed follows as a float.

Args:
    x: array of float32, float16 or bfloat16, any strides. NumPy's, or any with DLPack. On a CUDA device the other
        results are there, too, and clip_ratio is a number; there is no global_sense and there are no diagnostics.
    dtype: what the codes hold, as of quantize.
    rule: "absmax" is the largest magnitude of x over the largest value of dtype. "minmax" has a zero point, as ONNX's
        DynamicQuantizeLinear. The others are powers of two: "power_floor" (OCP's), "power_ceil", "power_even" and
        "power_round_up". docs/dynamic.md has the formulas.
    axis: one scale for each index of this dimension; with `block_size` the dimension that is cut. None: one scale.
    block_size: elements in a block along `axis`, or a tuple of x's rank. The last block may have fewer.
    scale_dtype: float32, float16, bfloat16 or float8_e4m3fn; of powers of two float8_e8m0fnu, float32 or bfloat16. None
        is the first of these; with `global_sense` it is float8_e4m3fn.
    zero_point_dtype: an integer type that has all codes. None is dtype, of less than a byte int8 or uint8.
    clip_ratio: what that magnitude, or both ends, are multiplied by, above 0 and at most 1. (first, last, how many):
        evenly spaced ones, of which each scale takes that of the least squared error. (1, 1.5, 2) is four over six.
    least_scale: a smaller scale becomes this one.
    quant_range: the lowest and the highest code, of an integer dtype: (-127, 127). None: dtype's own.
    global_sense: x has a scale of its own, as NVFP4 has. "scale": block scales are multiplied by it (torchao's
        per_tensor_scale). "inverse": they are divided by it (compressed-tensors' and vLLM's global_scale).
    global_scale: a number; None: it is computed.
    global_largest: computed, the largest scale of a block, above 0 and at most 448.
    profile: "onnx", "torchao", "mx", "compressed-tensors", "vllm", "vllm-group" or "acl": the rule and the options
        under which that system computes dtype. A keyword that is not at its default replaces the profile's.
    diagnostics: a dict follows the other results: how many elements are nan, infinite, clipped, or flushed to 0, their
        amax, and the sum of squared_error.
    out: an array of x's shape and `dtype` for the codes (with `packed`, for their bytes).
    packed, packing: codes as bytes, and their order, as of quantize.
    rounding, seed, offset: as of quantize. Without diagnostics where it is "stochastic".

Returns:
    Arrays from the library that x is from. The scale has no dimension, one, or x's rank, as dequantize takes it.

Raises:
    As quantize.)";

constexpr char scales_doc[] = R"(The scale that quantize_dynamic computes, alone; or what follows it there, too.

Args:
    As of quantize_dynamic.

Returns:
    Arrays from the library that x is from.

Raises:
    As quantize.)";

constexpr char pair_doc[] =
    R"(x quantized in two ways at once: what quantize_dynamic returns for `first`, and for `second`. Where blocks of both
fit in the caches x is read once, as of blocks along rows and along columns, which training needs.

Args:
    x: as of quantize_dynamic.
    first: a dict of keywords of quantize_dynamic, "dtype" among them.
    second: another.

Returns:
    Two tuples, bit for bit those of two calls.

Raises:
    As quantize.)";

constexpr char grouped_doc[] =
    R"(quantize_dynamic of rows in groups, each of which has a scale of its own, as the experts of a mixture.

Args:
    x: as of quantize_grouped.
    offsets: as of quantize_grouped.
    axis: one scale for each index of this dimension in each group. None: one for each group.
    dtype, rule, scale_dtype, zero_point_dtype, clip_ratio, least_scale, quant_range: as of quantize_dynamic.
    profile, out, packed, rounding, seed, offset: as of quantize_dynamic.

Returns:
    (codes, scale), or (codes, scale, zero_point). The scale's first dimension is groups, as quantize_grouped takes it.

Raises:
    As quantize.)";

// qdq.quantize_dynamic, or what plans it.
template<auto function> void define_quantize(nb::module_ &m, const char *name, const char *doc) {
    define_builtin(
        m, name,
        "(x, *, dtype, rule='absmax', axis=None, block_size=None, scale_dtype=None, zero_point_dtype=None, "
        "clip_ratio=1.0, least_scale=0.0, quant_range=None, global_sense=None, global_scale=None, "
        "global_largest=448.0, profile=None, diagnostics=False, out=None, packed=False, packing=None, "
        "rounding='nearest_even', seed=0, offset=0)",
        doc,
        nb::cpp_function(
            [](nb::handle x, nb::handle dtype, nb::handle rule, nb::handle axis, nb::handle block_size,
               nb::handle scale_dtype, nb::handle zero_point_dtype, nb::handle clip_ratio, nb::handle least_scale,
               nb::handle quant_range, nb::handle global_sense, nb::handle global_scale, nb::handle global_largest,
               nb::handle profile, nb::handle diagnostics, nb::handle out, nb::handle packed, nb::handle packing,
               nb::handle rounding, nb::handle seed, nb::handle offset) {
                return function(x, {dtype,      rule,        axis,        block_size,   scale_dtype,  zero_point_dtype,
                                    clip_ratio, least_scale, quant_range, global_sense, global_scale, global_largest,
                                    profile,    diagnostics, out,         packed,       packing,      rounding,
                                    seed,       offset});
            },
            nb::name(name), "x"_a.none(), nb::kw_only(), "dtype"_a.none(), "rule"_a.none() = "absmax",
            "axis"_a = nb::none(), "block_size"_a = nb::none(), "scale_dtype"_a = nb::none(),
            "zero_point_dtype"_a = nb::none(), "clip_ratio"_a.none() = 1.0, "least_scale"_a.none() = 0.0,
            "quant_range"_a = nb::none(), "global_sense"_a = nb::none(), "global_scale"_a = nb::none(),
            "global_largest"_a.none() = 448.0, "profile"_a = nb::none(), "diagnostics"_a.none() = false,
            "out"_a = nb::none(), "packed"_a.none() = false, "packing"_a = nb::none(),
            "rounding"_a.none() = "nearest_even", "seed"_a.none() = 0, "offset"_a.none() = 0));
}

}  // namespace

void define_dynamic(nb::module_ &m) {
    define_quantize<run_quantize>(m, "quantize_dynamic", quantize_doc);
    nb::class_<dynamic_plan>(m, "DynamicPlan", "What qdq.plan(qdq.quantize_dynamic, ...) returns.")
        .def("__call__", &dynamic_plan::run, "x"_a.none(), "out"_a = nb::none(),
             "What quantize_dynamic returns for `x`, an array with the dtype, shape and strides of the one that was\n"
             "planned with. The codes are `out`, which has those of the y that was planned, or a new array.");
    define_builtin(
        m, "quantize_dynamic_pair", "(x, first, second)", pair_doc,
        nb::cpp_function(
            [](nb::handle x, nb::handle first, nb::handle second) { return dynamic_pair(x, first, second).run(); },
            nb::name("quantize_dynamic_pair"), "x"_a.none(), "first"_a.none(), "second"_a.none()));
    define_quantize<make_plan>(m, "plan_quantize_dynamic", "qdq.plan(qdq.quantize_dynamic, ...).");
    nb::class_<dynamic_pair_plan>(m, "DynamicPairPlan", "What qdq.plan(qdq.quantize_dynamic_pair, ...) returns.")
        .def("__call__", &dynamic_pair_plan::run, "x"_a.none(), "first_out"_a = nb::none(), "second_out"_a = nb::none(),
             "What quantize_dynamic_pair returns for `x`, an array with the dtype, shape and strides of the one that "
             "was\n"
             "planned with. The codes are `first_out` and `second_out`, as those that were planned, or new arrays.");
    define_builtin(m, "plan_quantize_dynamic_pair", "(x, first, second)", "qdq.plan(qdq.quantize_dynamic_pair, ...).",
                   nb::cpp_function(make_pair_plan, nb::name("plan_quantize_dynamic_pair"), "x"_a.none(),
                                    "first"_a.none(), "second"_a.none()));
    define_builtin(
        m, "compute_scales",
        "(x, *, dtype, rule='absmax', axis=None, block_size=None, scale_dtype=None, zero_point_dtype=None, "
        "clip_ratio=1.0, least_scale=0.0, quant_range=None, global_sense=None, global_scale=None, "
        "global_largest=448.0, profile=None, diagnostics=False)",
        scales_doc,
        nb::cpp_function(
            [](nb::handle x, nb::handle dtype, nb::handle rule, nb::handle axis, nb::handle block_size,
               nb::handle scale_dtype, nb::handle zero_point_dtype, nb::handle clip_ratio, nb::handle least_scale,
               nb::handle quant_range, nb::handle global_sense, nb::handle global_scale, nb::handle global_largest,
               nb::handle profile, nb::handle diagnostics) {
                const dynamic_keywords given{dtype,
                                             rule,
                                             axis,
                                             block_size,
                                             scale_dtype,
                                             zero_point_dtype,
                                             clip_ratio,
                                             least_scale,
                                             quant_range,
                                             global_sense,
                                             global_scale,
                                             global_largest,
                                             profile,
                                             diagnostics,
                                             nb::handle(Py_None),
                                             nb::handle(Py_False),
                                             nb::handle(Py_None)};
                return dynamic_call("qdq.compute_scales", x, given, false).run();
            },
            nb::name("compute_scales"), "x"_a.none(), nb::kw_only(), "dtype"_a.none(), "rule"_a.none() = "absmax",
            "axis"_a = nb::none(), "block_size"_a = nb::none(), "scale_dtype"_a = nb::none(),
            "zero_point_dtype"_a = nb::none(), "clip_ratio"_a.none() = 1.0, "least_scale"_a.none() = 0.0,
            "quant_range"_a = nb::none(), "global_sense"_a = nb::none(), "global_scale"_a = nb::none(),
            "global_largest"_a.none() = 448.0, "profile"_a = nb::none(), "diagnostics"_a.none() = false));
}

void define_dynamic_grouped(nb::module_ &m) {
    define_builtin(
        m, "quantize_dynamic_grouped",
        "(x, offsets, *, dtype, rule='absmax', axis=None, scale_dtype=None, zero_point_dtype=None, clip_ratio=1.0, "
        "least_scale=0.0, quant_range=None, profile=None, out=None, packed=False, rounding='nearest_even', seed=0, "
        "offset=0)",
        grouped_doc,
        nb::cpp_function(
            [](nb::handle x, nb::handle offsets, nb::handle dtype, nb::handle rule, nb::handle axis,
               nb::handle scale_dtype, nb::handle zero_point_dtype, nb::handle clip_ratio, nb::handle least_scale,
               nb::handle quant_range, nb::handle profile, nb::handle out, nb::handle packed, nb::handle rounding,
               nb::handle seed, nb::handle offset) {
                const nb::handle none = Py_None;
                const dynamic_keywords given{
                    dtype,       rule,     axis, none,  scale_dtype, zero_point_dtype, clip_ratio, least_scale,
                    quant_range, none,     none, none,  profile,     Py_False,         out,        packed,
                    none,        rounding, seed, offset};
                return grouped_dynamic_call(x, group_offsets("qdq.quantize_dynamic_grouped", offsets), given).run();
            },
            nb::name("quantize_dynamic_grouped"), "x"_a.none(), "offsets"_a.none(), nb::kw_only(), "dtype"_a.none(),
            "rule"_a.none() = "absmax", "axis"_a = nb::none(), "scale_dtype"_a = nb::none(),
            "zero_point_dtype"_a = nb::none(), "clip_ratio"_a.none() = 1.0, "least_scale"_a.none() = 0.0,
            "quant_range"_a = nb::none(), "profile"_a = nb::none(), "out"_a = nb::none(), "packed"_a.none() = false,
            "rounding"_a.none() = "nearest_even", "seed"_a.none() = 0, "offset"_a.none() = 0));
}

}  // namespace qdq::python
