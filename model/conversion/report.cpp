#include "conversion/report.h"

#include "support/atomic_file.h"
#include "support/error.h"
#include "support/html.h"
#include "support/input_file.h"
#include "support/text.h"
#include "support/version.h"

#include <qdq/qdq.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <sstream>

namespace qdq::model {

namespace {

constexpr const char *page_begin = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>qdq: quantization report</title><style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 80rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
h1 { font-size: 1.4rem; overflow-wrap: anywhere } h2 { font-size: 1.1rem; margin-top: 2rem }
.wide { overflow-x: auto } pre { overflow-x: auto; background: #f4f4f4; padding: .5rem }
table { border-collapse: collapse } td, th { padding: .15rem .7rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #ddd }
td:first-child, th:first-child { text-align: left; font-family: monospace } th { vertical-align: bottom }
th button { all: unset; cursor: pointer; text-decoration: underline } th button:focus-visible { outline: 2px solid }
[aria-sort=ascending]::after { content: " \25b2" } [aria-sort=descending]::after { content: " \25bc" }
svg { width: 100%; max-width: 60rem; height: auto } svg text { font: 14px system-ui, sans-serif; fill: #444 }
</style></head><body>
)";

// Sorts the rows of the table by the column whose head is pressed, and the other way round when it is pressed again. A
// cell's number is its data-key; a column of texts has none.
constexpr const char *sorting = R"(<script>
const table = document.getElementById("tensors"), body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
heads.forEach((head, column) => head.firstChild.addEventListener("click", () => {
  const descending = head.getAttribute("aria-sort") === "ascending", sign = descending ? -1 : 1;
  const key = row => row.cells[column].dataset.key === undefined ? row.cells[column].textContent
                                                                 : Number(row.cells[column].dataset.key);
  const rows = [...body.rows].map(row => [key(row), row]);
  rows.sort(([a], [b]) => sign * (a < b ? -1 : a > b ? 1 : 0));
  body.append(...rows.map(([, row]) => row));
  heads.forEach(other => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");
}));
</script>
)";

// One bar, with what is shown for it when it is pointed at.
struct bar {
    double value;
    std::string label, hint;
};

constexpr double plot_width = 900, plot_height = 260, plot_left = 60, plot_bottom = 40, plot_top = 10;

// A round number of steps of 1, 2 or 5 times a power of ten, some five up to `highest`.
double step_of(double highest) {
    double raw = highest / 5, power = std::pow(10, std::floor(std::log10(raw)));
    for (double factor : {1.0, 2.0, 5.0}) {
        if (factor * power >= raw) {
            return factor * power;
        }
    }
    return 10 * power;
}

// Bars from 0 up, with every so many labels that they do not touch.
std::string bar_plot(const std::vector<bar> &bars, const std::string &unit, size_t most_labels) {
    double highest = 0;
    for (const bar &each : bars) {
        highest = std::max(highest, each.value);
    }
    if (!(highest > 0)) {
        return "<p>Nothing to show.</p>\n";
    }
    double scale = (plot_height - plot_top - plot_bottom) / highest, base = plot_height - plot_bottom;
    double pitch = (plot_width - plot_left) / static_cast<double>(bars.size());
    std::string svg = "<svg viewBox=\"0 0 " + fixed(plot_width, 0) + " " + fixed(plot_height, 0) + "\">\n";
    double step = step_of(highest);
    for (int i = 0; i * step <= highest; ++i) {
        double tick = i * step;
        std::string y = fixed(base - tick * scale, 1);
        std::ostringstream line;
        line << "<line x1=\"" << fixed(plot_left, 0) << "\" x2=\"" << fixed(plot_width, 0) << "\" y1=\"" << y
             << "\" y2=\"" << y << "\" stroke=\"#ddd\"/><text x=\"" << fixed(plot_left - 6, 0) << "\" y=\"" << y
             << "\" text-anchor=\"end\" dominant-baseline=\"middle\">" << fixed(tick, step < 1 ? 2 : 0) << "</text>\n";
        svg += line.str();
    }
    size_t every = bars.size() / most_labels + 1;
    for (size_t i = 0; i < bars.size(); ++i) {
        double x = plot_left + pitch * static_cast<double>(i), height = std::max(bars[i].value, 0.0) * scale;
        svg += "<rect x=\"" + fixed(x + pitch * 0.1, 2) + "\" y=\"" + fixed(base - height, 2) + "\" width=\"" +
               fixed(pitch * 0.8, 2) + "\" height=\"" + fixed(height, 2) + "\" fill=\"#3b6ea5\"><title>" +
               html(bars[i].hint) + "</title></rect>\n";
        if (i % every == 0) {
            svg += "<text x=\"" + fixed(x + pitch / 2, 1) + "\" y=\"" + fixed(base + 18, 0) +
                   "\" text-anchor=\"middle\">" + html(bars[i].label) + "</text>\n";
        }
    }
    svg +=
        "<text x=\"" + fixed(plot_left, 0) + "\" y=\"" + fixed(plot_height - 4, 0) + "\">" + html(unit) + "</text>\n";
    return svg + "</svg>\n";
}

// Where a tensor is in a model: its name up to the first number, which counts the layers, "encoder.layer.3", and what
// follows, "mlp.up_proj". Other numbers count experts, which stand for one module. Nothing where no number is.
struct place {
    std::string layer, module;
};

std::optional<place> place_of(std::string name) {
    constexpr std::string_view weight = ".weight";
    name.resize(name.size() - (name.ends_with(weight) ? weight.size() : 0));
    std::optional<place> found;
    for (size_t begin = 0; begin <= name.size();) {
        size_t end = std::min(name.find('.', begin), name.size());
        std::string part = name.substr(begin, end - begin);
        bool counts = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
        if (found) {
            found->module += (found->module.empty() ? "" : ".") + (counts ? "*" : part);
        } else if (counts) {
            found = {name.substr(0, end), ""};
        }
        begin = end + 1;
    }
    return found;
}

std::vector<const comparison *> changed(const std::vector<comparison> &all) {
    std::vector<const comparison *> found;
    for (const comparison &each : all) {
        if (!each.unchanged) {
            found.push_back(&each);
        }
    }
    return found;
}

// Layers in the order of their numbers: layer.2 before layer.10.
struct by_number {
    bool operator()(const std::string &a, const std::string &b) const {
        return std::pair(a.size(), a) < std::pair(b.size(), b);
    }
};
using module_map = std::map<std::string, std::vector<comparison>>;
using layer_map = std::map<std::string, module_map, by_number>;

// The tensors that differ, by layer and module; of each layer all of them, too, as if they were a module.
layer_map by_layer(const std::vector<comparison> &all, const std::string &whole) {
    layer_map layers;
    for (const comparison *each : changed(all)) {
        if (std::optional<place> at = place_of(each->name)) {
            layers[at->layer][at->module].push_back(*each);
            layers[at->layer][whole].push_back(*each);
        }
    }
    return layers;
}

// The lighter, the less was lost, between the lowest and the highest SQNR. NaN is as the lowest, an exact copy as the
// highest. Text is white on dark cells and black on others, which leaves a contrast of 4.5 to 1.
std::string colored_cell(double sqnr, double lowest, double highest) {
    constexpr double darkest = 30, lightest = 92, first_with_black = 48;  // percent
    double share = highest > lowest ? std::clamp((sqnr - lowest) / (highest - lowest), 0.0, 1.0) : 1;
    double light = std::isnan(sqnr) ? darkest : darkest + (lightest - darkest) * share;
    return "<td style=\"background:hsl(212 52% " + fixed(light, 0) +
           "%);color:" + (light < first_with_black ? "#fff" : "#000") + "\">" + fixed(sqnr, 2) + "</td>";
}

// A row for each layer, a column for each module.
std::string sqnr_grid(const std::vector<comparison> &all) {
    const std::string whole = "whole layer";
    std::set<std::string> modules;
    std::vector<double> sqnrs;
    layer_map layers = by_layer(all, whole);
    for (const auto &[layer, its_modules] : layers) {
        for (const auto &[module, tensors] : its_modules) {
            modules.insert(module);
            sqnrs.push_back(total_of(tensors).sqnr_db());
        }
    }
    std::erase_if(sqnrs, [](double sqnr) { return !std::isfinite(sqnr); });
    // Names of a file that is no model could make a grid of nothing but gaps, as large as the square of their number.
    if (sqnrs.empty() || layers.size() * modules.size() > 8 * all.size()) {
        return "";
    }
    modules.erase(whole);
    std::vector<std::string> columns(modules.begin(), modules.end());
    columns.push_back(whole);
    const auto [lowest, highest] = std::ranges::minmax(sqnrs);
    std::string text =
        "<h2>SQNR by layer and module</h2>\n<p>In dB, of the tensors that differ: the darker, the more was "
        "lost. Experts are one module.</p>\n<div class=\"wide\"><table id=\"grid\">\n<tr><th>layer</th>";
    for (const std::string &module : columns) {
        text += "<th>" + html(module) + "</th>";
    }
    text += "</tr>\n";
    for (const auto &[layer, its_modules] : layers) {
        text += "<tr><td>" + html(layer) + "</td>";
        for (const std::string &module : columns) {
            auto found = its_modules.find(module);
            text += found == its_modules.end() ? "<td></td>"
                                               : colored_cell(total_of(found->second).sqnr_db(), lowest, highest);
        }
        text += "</tr>\n";
    }
    return text + "</table></div>\n";
}

std::string error_histogram(const comparison &total) {
    std::vector<bar> bars;
    uint64_t sum = 0;
    for (uint64_t count : total.errors) {
        sum += count;
    }
    for (size_t i = 0; i < total.errors.size(); ++i) {
        int exponent = comparison::first_exponent + static_cast<int>(i);
        double percent = sum == 0 ? 0 : 100 * static_cast<double>(total.errors[i]) / static_cast<double>(sum);
        bars.push_back({percent, "2^" + std::to_string(exponent),
                        std::to_string(total.errors[i]) + " errors from 2^" + std::to_string(exponent) + " to 2^" +
                            std::to_string(exponent + 1)});
    }
    return "<h2>Errors</h2>\n" +
           bar_plot(bars, "|error| / root mean square of the tensor's values; % of the errors that are not 0", 14);
}

// What a column is sorted by: NaN is the worst error.
std::string sort_key(double value) {
    if (!std::isfinite(value)) {
        return value < 0 ? "-Infinity" : "Infinity";
    }
    std::array<char, 32> digits{};
    return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

std::string text_cell(const std::string &text) { return "<td>" + html(text) + "</td>"; }

std::string number_cell(double key, const std::string &text) {
    return "<td data-key=\"" + sort_key(key) + "\">" + html(text) + "</td>";
}

std::string size_cell(uint64_t bytes) { return number_cell(static_cast<double>(bytes), bytes_text(bytes)); }

// Less than any other number where there is none.
std::string optional_cell(const std::optional<double> &value, int digits) {
    return number_cell(value.value_or(-1), value ? fixed(*value, digits) : "-");
}

// Of a tensor with NaN where there was none, less than any other.
double ordered_sqnr(const comparison &each) {
    double sqnr = each.sqnr_db();
    return std::isnan(sqnr) ? -HUGE_VAL : sqnr;
}

std::string tensor_row(const comparison &each) {
    double elements = 1;
    for (int64_t length : each.shape) {
        elements *= static_cast<double>(length);
    }
    std::optional<double> clipped;
    if (each.clipped) {
        clipped = static_cast<double>(*each.clipped);
    }
    return "<tr>" + text_cell(each.name) + number_cell(elements, shape_text(each.shape)) + text_cell(each.dtype) +
           size_cell(each.bytes_before) + size_cell(each.bytes_after) +
           number_cell(ordered_sqnr(each), each.unchanged ? "-" : fixed(each.sqnr_db(), 2)) +
           number_cell(each.max_error, shortest(static_cast<float>(each.max_error))) +
           optional_cell(each.max_steps, 3) + optional_cell(clipped, 0) + "</tr>\n";
}

// The lowest SQNR first, and equal ones as given.
std::string all_tensors(const std::vector<comparison> &all) {
    std::vector<const comparison *> order;
    order.reserve(all.size());
    for (const comparison &each : all) {
        order.push_back(&each);
    }
    std::ranges::sort(order, {}, [](const comparison *each) { return std::pair(ordered_sqnr(*each), each); });
    std::string text =
        "<h2>Tensors</h2>\n<p>Press the head of a column to sort by it.</p>\n<div class=\"wide\">"
        "<table id=\"tensors\"><thead><tr>";
    for (const char *head :
         {"tensor", "shape", "type", "before", "after", "SQNR dB", "max error", "in steps", "clipped"}) {
        text += std::string("<th><button>") + head + "</button></th>";
    }
    text += "</tr></thead><tbody>\n";
    for (const comparison *each : order) {
        text += tensor_row(*each);
    }
    return text + "</tbody></table></div>\n" + sorting;
}

std::string sizes_by_type(const std::vector<comparison> &all) {
    struct sizes {
        uint64_t tensors = 0, before = 0, after = 0;
    };
    std::map<std::string, sizes> types;
    for (const comparison &each : all) {
        sizes &of_type = types[each.dtype];
        ++of_type.tensors;
        of_type.before += each.bytes_before;
        of_type.after += each.bytes_after;
    }
    std::vector<std::vector<std::string>> rows = {{"type", "tensors", "before", "after, with scales"}};
    std::vector<bar> bars;
    for (const auto &[type, size] : types) {
        rows.push_back({type, std::to_string(size.tensors), bytes_text(size.before), bytes_text(size.after)});
        bars.push_back({static_cast<double>(size.after) / 1e6, type, type + ": " + bytes_text(size.after)});
    }
    return "<h2>Size by type</h2>\n" + bar_plot(bars, "type; MB after", 30) + html_table(rows);
}

std::string origin_text(const report_origin &origin) {
    std::string text = std::string("<h2>Origin</h2>\n<p>qdq ") + qdq_version() + ", commit " + commit + "</p>\n";
    if (!origin.command.empty()) {
        text += "<pre id=\"command\">" + without_markup(printable(origin.command)) + "</pre>\n";
    }
    if (origin.quantized_by != nullptr) {
        text += "<p>The recipe, which <code>--recipe</code> takes:</p>\n<pre id=\"recipe\">" +
                without_markup(json_text(recipe_json(*origin.quantized_by), 1)) + "</pre>\n";
    }
    return text;
}

}  // namespace

void check_report(const std::filesystem::path &path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) {
        return;
    }
    const std::string_view all = page_begin, title = all.substr(0, all.find("<style>"));
    input_file file(path);
    std::string begin(std::min<uint64_t>(file.size(), title.size()), '\0');
    file.read(0, std::as_writable_bytes(std::span(begin)));
    if (!begin.empty() && begin != title) {
        throw failure(path.string() + ": exists already, and is no report that another may replace");
    }
}

void write_report(const std::filesystem::path &path, const std::vector<comparison> &all, const std::string &original,
                  const std::string &other, const report_origin &origin) {
    check_report(path);
    comparison total = total_of(all);
    std::string page = page_begin;
    page += "<h1>" + html(original) + " and " + html(other) + "</h1>\n<p>" + std::to_string(changed(all).size()) +
            " of " + std::to_string(all.size()) + " tensors differ. " + bytes_text(total.bytes_before) + " became " +
            bytes_text(total.bytes_after) + "; SQNR of those that differ together: " + fixed(total.sqnr_db(), 2) +
            " dB.</p>\n";
    page += sqnr_grid(all) + error_histogram(total) + all_tensors(all) + sizes_by_type(all) + origin_text(origin) +
            "</body></html>\n";
    atomic_file file(path, true);
    file.write(0, std::as_bytes(std::span(page)));
    file.publish();
}

void write_report(const std::filesystem::path &path, const std::string &original, const std::string &other,
                  const report_origin &origin) {
    write_report(path, comparer(original, other).run([](uint64_t) {}), original, other, origin);
}

}  // namespace qdq::model
