// The command line's engine for whole models: qdq.checkpoint's part in C++.
#include "checkpoint.h"

#include "error.h"
#include "model_folder.h"
#include "model_output.h"
#include "quantization.h"
#include "recipe.h"
#include "report.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <memory>
#include <string>

namespace qdq::python {

namespace nb = nanobind;
using namespace nb::literals;
using namespace qdq_cli;

namespace {

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
    checkpoint(const std::string &folder, const std::string &output, const std::string &recipe_file,
               const std::string &profile, bool replace)
        : checkpoint(open_model(folder), output, recipe_file.empty() ? recipe{} : read_recipe(recipe_file, {}), profile,
                     replace) {}

    std::size_t shard_count() const { return plan_.input().shard_count(); }
    std::uint64_t shard_bytes(std::size_t shard) const { return input_bytes(plan_.input(), checked(shard)); }

    void begin() { output_.begin(); }
    void finish() {
        const nb::gil_scoped_release others_run;
        output_.finish();
    }
    void write_shard(std::size_t shard) const {
        const nb::gil_scoped_release others_run;
        if (!output_.is_finished(checked(shard))) {
            output_.write_shard(shard, [](std::uint64_t) {});
        }
    }
    void write(int threads, nb::handle progress) {
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
            before += shard_bytes(shard);
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

    std::size_t checked(std::size_t shard) const {
        if (shard >= shard_count()) {
            throw usage_error("shard " + std::to_string(shard) + " is not in [0, " + std::to_string(shard_count()) +
                              ")");
        }
        return shard;
    }

    const model_folder &folder_;  // the plan's
    quantization plan_;
    model_output output_;
};

}  // namespace

void define_checkpoint(nb::module_ &m) {
    nb::register_exception_translator([](const std::exception_ptr &thrown, void *) {
        try {
            std::rethrow_exception(thrown);
        } catch (const usage_error &error) {
            PyErr_SetString(PyExc_ValueError, error.what());
        } catch (const failure &error) {
            PyErr_SetString(PyExc_RuntimeError, error.what());
        }
    });
    nb::class_<checkpoint>(m, "Checkpoint")
        .def(nb::init<const std::string &, const std::string &, const std::string &, const std::string &, bool>(),
             "folder"_a, "output"_a, "recipe_file"_a, "profile"_a, "replace"_a)
        .def_prop_ro("shard_count", &checkpoint::shard_count)
        .def("shard_bytes", &checkpoint::shard_bytes, "shard"_a)
        .def("begin", &checkpoint::begin)
        .def("write_shard", &checkpoint::write_shard, "shard"_a)
        .def("finish", &checkpoint::finish)
        .def("write", &checkpoint::write, "threads"_a, "progress"_a.none())
        .def("summary", &checkpoint::summary);
    m.def(
        "write_report",
        [](const std::string &path, const std::string &original, const std::string &other) {
            const nb::gil_scoped_release others_run;
            write_report(path, original, other);
        },
        "path"_a, "original"_a, "other"_a);
}

}  // namespace qdq::python
