// qdq.checkpoint's part in C++: model/model.h for Python.
#include "checkpoint.h"

#include "arguments.h"
#include "model.h"
#include "support/error.h"
#include "support/text.h"
#include "support/words.h"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace qdq::python {

namespace nb = nanobind;
using namespace nb::literals;
using namespace qdq::model;

namespace {

constexpr const char *function = "qdq.checkpoint";

std::unique_ptr<tensor_reader> open_model(const std::string &folder) {
    if (kind_of(folder).holds != holding::model) {
        throw usage_error(folder + ": it is no folder of a model");
    }
    return open_reader(folder);
}

nb::object text_of_json(const json &value) { return text_of(json_text(value)); }

// Tells Python's `progress`, from any thread; None: nobody.
progress_function told_to(nb::handle progress) {
    return [progress](std::uint64_t bytes) {
        const nb::gil_scoped_acquire ours;
        if (!progress.is_none()) {
            progress(bytes);
        }
        if (PyErr_CheckSignals() != 0) {  // Ctrl-C, where this is the caller's thread
            throw nb::python_error();
        }
    };
}

std::int32_t thread_count(nb::handle given) {
    const std::int32_t threads = integer_of_32_bits(function, "threads", given);
    if (threads < 0) {
        refuse_value(function, "threads", std::to_string(threads) + " is below 0");
    }
    return threads;
}

std::string text_or_nothing(const char *name, nb::handle given) {
    return given.is_none() ? "" : std::string(text(function, name, given));
}

// What a recipe makes of a model's folder, and where that goes. Shards may be written by other processes that have one
// with the same arguments, between begin() and finish() of one of them.
class checkpoint {
public:
    checkpoint(nb::handle folder, nb::handle output, nb::handle recipe_file, nb::handle profile, bool replace)
        : plan_(open_model(path(function, "directory", folder)),
                recipe_file.is_none() ? recipe{} : read_recipe(path(function, "recipe", recipe_file), {}),
                text_or_nothing("profile", profile)),
          output_(plan_, {path(function, "out", output), replace}) {
        plan_.check_output(path(function, "out", output));
    }

    std::size_t shard_count() const { return plan_.shard_count(); }
    std::uint64_t shard_bytes(std::int64_t shard) const { return input_bytes(plan_.input(), checked(shard)); }

    void begin() { output_.begin(); }
    void finish() {
        const nb::gil_scoped_release others_run;
        output_.finish();
    }
    void write_shard(std::int64_t given) const {
        const std::size_t shard = checked(given);
        const nb::gil_scoped_release others_run;
        if (!output_.is_finished(shard)) {
            output_.write_shard(shard, [](std::uint64_t) {});
        }
    }
    void write(nb::handle given_threads, nb::handle progress) {
        const std::int32_t threads = thread_count(given_threads);
        const progress_function advance = told_to(progress);
        finished_shards finished;
        const nb::gil_scoped_release others_run;
        write_model(output_, plan_, threads, advance, finished);
    }

    // The globs of the recipe that match no tensor, "" where each matches some.
    nb::object unmatched() const {
        std::vector<std::string> patterns;
        for (const std::size_t place : rules_that_match_nothing(plan_.input(), plan_.rules())) {
            patterns.push_back(plan_.rules().rules[place].pattern);
        }
        return text_of(printable(some_of(patterns)));
    }

    static void check_report(nb::handle given) { model::check_report(path(function, "report", given)); }
    void write_report(nb::handle given) const {
        const std::string page = path(function, "report", given);
        const nb::gil_scoped_release others_run;
        model::write_report(page, plan_.input().path(), output_.path(), {"", &plan_.rules()});
    }

    nb::dict summary() const {
        const model::summary of = summary_of(plan_);
        nb::dict figures;
        figures["shards"] = shard_count();
        figures["tensors"] = of.tensors_before;
        figures["quantized"] = of.changed;
        figures["bytes_before"] = of.bytes_before;
        figures["bytes_after"] = of.bytes_after;
        return figures;
    }

private:
    std::size_t checked(std::int64_t shard) const {
        if (shard < 0 || static_cast<std::size_t>(shard) >= shard_count()) {
            throw usage_error("shard " + std::to_string(shard) + " is not in [0, " + std::to_string(shard_count()) +
                              ")");
        }
        return static_cast<std::size_t>(shard);
    }

    quantization plan_;
    model_output output_;
};

// Writes what a plan makes of its input; what it was, as JSON.
json written(const transformation &plan, const output_options &output, std::int32_t threads,
             const progress_function &advance) {
    const summary of = summary_of(plan);
    json result = {{"tensors", of.tensors_before},
                   {"changed", of.changed},
                   {"bytes_before", of.bytes_before},
                   {"bytes_after", of.bytes_after},
                   {"warnings", printable(odd_scales(plan.input()))}};
    finished_shards finished;
    write_output(plan, output, threads, advance, finished);
    return result;
}

// The types that are restored to, by their names in Python.
std::string restored_name(nb::handle given) {
    const std::string name = text_or_nothing("dtype", given);
    for (const auto &[ours, stored] : {std::pair("float32", "F32"), {"float16", "F16"}, {"bfloat16", "BF16"}}) {
        if (name == ours) {
            return stored;
        }
    }
    if (!name.empty()) {
        refuse_value(function, "dtype", shown(given) + " is none of float32, float16 and bfloat16");
    }
    return "";
}

nb::object dequantize(nb::handle source, nb::handle out, nb::handle dtype, nb::handle profile, bool replace,
                      nb::handle given_threads, nb::handle progress) {
    const std::string input = path(function, "source", source), type = restored_name(dtype),
                      rules = text_or_nothing("profile", profile);
    const output_options output = {path(function, "out", out), replace};
    const std::int32_t threads = thread_count(given_threads);
    const progress_function advance = told_to(progress);
    json result;
    {
        const nb::gil_scoped_release others_run;
        result = written(*plan_dequantization(input, output, type, rules), output, threads, advance);
    }
    return text_of_json(result);
}

nb::object convert(nb::handle source, nb::handle out, nb::handle given_method, bool replace, nb::handle progress) {
    const std::string input = path(function, "source", source), method = text_or_nothing("method", given_method);
    const output_options output = {path(function, "out", out), replace};
    if (!method.empty() && method != "compressed-tensors" && method != "fp8") {
        refuse_value(function, "method", shown(given_method) + " is neither compressed-tensors nor fp8");
    }
    const progress_function advance = told_to(progress);
    json result;
    {
        const nb::gil_scoped_release others_run;
        result = written(*plan_recoding(input, output, method), output, 0, advance);
    }
    return text_of_json(result);
}

nb::object compare(nb::handle original, nb::handle other, nb::handle report, nb::handle progress) {
    const std::string before = path(function, "original", original), after = path(function, "other", other),
                      page = report.is_none() ? "" : path(function, "report", report);
    const progress_function advance = told_to(progress);
    json result = {{"tensors", json::array()}};
    {
        const nb::gil_scoped_release others_run;
        if (!page.empty()) {
            check_report(page);
        }
        comparer both(before, after);
        const std::vector<comparison> all = both.run(advance);
        for (const comparison &each : all) {
            result["tensors"].push_back(named_json(each));
        }
        result["total"] = to_json(total_of(all));
        result["warnings"] = printable(both.odd_scales());
        if (!page.empty()) {
            write_report(page, all, before, after, {});
        }
    }
    return text_of_json(result);
}

nb::object inspect(nb::handle source, nb::handle progress) {
    const std::string input = path(function, "source", source);
    const progress_function advance = told_to(progress);
    json result;
    {
        const nb::gil_scoped_release others_run;
        const std::unique_ptr<tensor_reader> file = open_reader(input, other_types::listed);
        const std::vector<std::string> warnings = odd_scales(*file);
        result = to_json(model::inspect(*file, advance), warnings);
    }
    return text_of_json(result);
}

}  // namespace

void define_checkpoint(nb::module_ &m) {
    set_asker(asker::python);
    nb::register_exception_translator([](const std::exception_ptr &thrown, void *) {
        try {
            std::rethrow_exception(thrown);
        } catch (const usage_error &error) {
            PyErr_SetObject(PyExc_ValueError, text_of(error.what()).ptr());
        } catch (const failure &error) {
            PyErr_SetObject(PyExc_RuntimeError, text_of(error.what()).ptr());
        } catch (const std::filesystem::filesystem_error &error) {
            PyErr_SetObject(PyExc_RuntimeError, text_of(one_line(error.what()).c_str()).ptr());
        }
    });
    nb::class_<checkpoint>(m, "Checkpoint")
        .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle, bool>(), "folder"_a.none(), "output"_a.none(),
             "recipe_file"_a.none(), "profile"_a.none(), "replace"_a)
        .def_prop_ro("shard_count", &checkpoint::shard_count)
        .def("shard_bytes", &checkpoint::shard_bytes, "shard"_a)
        .def("begin", &checkpoint::begin)
        .def("write_shard", &checkpoint::write_shard, "shard"_a)
        .def("finish", &checkpoint::finish)
        .def("write", &checkpoint::write, "threads"_a.none(), "progress"_a.none())
        .def("unmatched", &checkpoint::unmatched)
        .def_static("check_report", &checkpoint::check_report, "path"_a)
        .def("write_report", &checkpoint::write_report, "path"_a)
        .def("summary", &checkpoint::summary);
    m.def("dequantize", &dequantize, "source"_a.none(), "out"_a.none(), "dtype"_a.none(), "profile"_a.none(),
          "replace"_a, "threads"_a.none(), "progress"_a.none());
    m.def("convert", &convert, "source"_a.none(), "out"_a.none(), "method"_a.none(), "replace"_a, "progress"_a.none());
    m.def("compare", &compare, "original"_a.none(), "other"_a.none(), "report"_a.none(), "progress"_a.none());
    m.def(
        "total_bytes",
        [](nb::handle source) {
            return stored_bytes(*open_reader(path(function, "source", source), other_types::listed));
        },
        "source"_a.none());
    m.def("inspect", &inspect, "source"_a.none(), "progress"_a.none());
}

}  // namespace qdq::python
