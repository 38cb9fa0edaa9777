// The command line's engine for whole models: qdq.checkpoint's part in C++.
#include "checkpoint.h"

#include "arguments.h"
#include "error.h"
#include "model_folder.h"
#include "model_output.h"
#include "quantization.h"
#include "recipe.h"
#include "report.h"
#include "text.h"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <regex>
#include <string>

namespace qdq::python {

namespace nb = nanobind;
using namespace nb::literals;
using namespace qdq_cli;

namespace {

constexpr const char *function = "qdq.checkpoint";

std::unique_ptr<tensor_reader> open_model(const std::string &folder) {
    if (!is_model_folder(folder)) {
        throw usage_error(folder + ": it is no folder of a model");
    }
    return open_reader(folder);
}

// What a recipe makes of a model's folder, and where that goes. Shards may be written by other processes that have one
// with the same arguments, between begin() and finish() of one of them.
class checkpoint {
public:
    checkpoint(nb::handle folder, nb::handle output, nb::handle recipe_file, nb::handle profile, bool replace)
        : checkpoint(open_model(path(function, "directory", folder)), path(function, "out", output),
                     recipe_file.is_none() ? recipe{} : read_recipe(path(function, "recipe", recipe_file), {}),
                     profile.is_none() ? "" : std::string(text(function, "profile", profile)), replace) {}

    std::size_t shard_count() const { return plan_.input().shard_count(); }
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
        const std::int32_t threads = integer_of_32_bits(function, "threads", given_threads);
        if (threads < 0) {
            refuse_value(function, "threads", std::to_string(threads) + " is below 0");
        }
        const nb::gil_scoped_release others_run;
        write_model(output_, plan_, threads, [&](std::uint64_t bytes) {
            const nb::gil_scoped_acquire ours;
            if (!progress.is_none()) {
                progress(bytes);
            }
            if (PyErr_CheckSignals() != 0) {  // Ctrl-C, where this is the caller's thread
                throw nb::python_error();
            }
        });
    }

    nb::dict summary() const {
        std::uint64_t before = 0;
        for (std::size_t shard = 0; shard < shard_count(); ++shard) {
            before += input_bytes(plan_.input(), shard);
        }
        nb::dict figures;
        figures["shards"] = shard_count();
        figures["tensors"] = plan_.input().tensors().size();
        figures["quantized"] = plan_.quantized_count();
        figures["bytes_before"] = before;
        figures["bytes_after"] = plan_.output_bytes();
        return figures;
    }

private:
    checkpoint(std::unique_ptr<tensor_reader> model, const std::string &output, const recipe &rules,
               const std::string &profile, bool replace)
        : folder_(dynamic_cast<const model_folder &>(*model)),
          plan_(std::move(model), select_by(rules, folder_), profile),
          output_(plan_, folder_, {output, replace}) {}

    std::size_t checked(std::int64_t shard) const {
        if (shard < 0 || static_cast<std::size_t>(shard) >= shard_count()) {
            throw usage_error("shard " + std::to_string(shard) + " is not in [0, " + std::to_string(shard_count()) +
                              ")");
        }
        return static_cast<std::size_t>(shard);
    }

    const model_folder &folder_;  // the plan's
    quantization plan_;
    model_output output_;
};

// A message of the command line's in Python's words: "--force replaces it" is "replace=True replaces it".
std::string in_words_of_python(std::string said) {
    static const std::regex force("(^| )--force\\b"), of_two_words("(^| )--([a-z]+)-([a-z]+)"),
        option("(^| )--([a-z])");
    said = std::regex_replace(said, force, "$1replace=True");
    said = std::regex_replace(said, of_two_words, "$1$2_$3");
    return std::regex_replace(said, option, "$1$2");
}

}  // namespace

void define_checkpoint(nb::module_ &m) {
    nb::register_exception_translator([](const std::exception_ptr &thrown, void *) {
        try {
            std::rethrow_exception(thrown);
        } catch (const usage_error &error) {
            PyErr_SetObject(PyExc_ValueError, text_of(in_words_of_python(error.what())).ptr());
        } catch (const failure &error) {
            PyErr_SetObject(PyExc_RuntimeError, text_of(in_words_of_python(error.what())).ptr());
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
        .def("summary", &checkpoint::summary);
    m.def(
        "write_report",
        [](nb::handle given, nb::handle directory, nb::handle out) {
            const std::string report = path(function, "report", given),
                              original = path(function, "directory", directory), other = path(function, "out", out);
            const nb::gil_scoped_release others_run;
            write_report(report, original, other);
        },
        "path"_a, "original"_a, "other"_a);
}

}  // namespace qdq::python
