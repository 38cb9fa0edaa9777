#include "conversion/report.h"

#include "support/atomic_file.h"
#include "support/text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <sstream>

namespace qdq::model {

namespace {

constexpr const char *page_begin = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>qdq: quantization report</title><style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse } td, th { padding: .15rem .7rem; text-align: right; border-bottom: 1px solid #ddd }
td:first-child, th:first-child { text-align: left; font-family: monospace }
svg { width: 100%; height: auto } svg text { font: 11px system-ui, sans-serif; fill: #444 }
</style></head><body>
)";

// Names come from files and paths, and must not become markup.
std::string html(std::string_view text) {
    std::string escaped;
    for (char c : printable(shortened(text))) {
        switch (c) {
        case '<': escaped += "&lt;"; break;
        case '>': escaped += "&gt;"; break;
        case '&': escaped += "&amp;"; break;
        case '"': escaped += "&quot;"; break;
        default: escaped += c;
        }
    }
    return escaped;
}

std::string table_of(const std::vector<std::vector<std::string>> &rows) {
    std::string text = "<table>\n";
    for (const std::vector<std::string> &row : rows) {
        const char *cell = &row == rows.data() ? "th" : "td";
        text += "<tr>";
        for (const std::string &value : row) {
            text += std::string("<") + cell + ">" + html(value) + "</" + cell + ">";
        }
        text += "</tr>\n";
    }
    return text + "</table>\n";
}

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
            svg += "<text x=\"" + fixed(x + pitch / 2, 1) + "\" y=\"" + fixed(base + 16, 0) +
                   "\" text-anchor=\"middle\">" + html(bars[i].label) + "</text>\n";
        }
    }
    svg +=
        "<text x=\"" + fixed(plot_left, 0) + "\" y=\"" + fixed(plot_height - 4, 0) + "\">" + html(unit) + "</text>\n";
    return svg + "</svg>\n";
}

// The name up to its first number, which counts the layers of a model: "encoder.layer.3"; "other" without one.
std::string layer_of(const std::string &name) {
    size_t begin = 0;
    while (begin < name.size()) {
        size_t end = std::min(name.find('.', begin), name.size());
        std::string_view part = std::string_view(name).substr(begin, end - begin);
        if (!part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos) {
            return name.substr(0, end);
        }
        begin = end + 1;
    }
    return "other";
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

std::string sqnr_by_layer(const std::vector<comparison> &all) {
    std::vector<std::string> order;
    std::map<std::string, std::vector<comparison>> layers;
    for (const comparison *each : changed(all)) {
        std::string layer = layer_of(each->name);
        if (!layers.contains(layer)) {
            order.push_back(layer);
        }
        layers[layer].push_back(*each);
    }
    std::ranges::sort(order, [](const std::string &a, const std::string &b) {  // layer.2 before layer.10
        return std::pair(a.size(), a) < std::pair(b.size(), b);
    });
    std::vector<bar> bars;
    for (const std::string &layer : order) {
        double sqnr = total_of(layers[layer]).sqnr_db();
        if (std::isfinite(sqnr)) {
            bars.push_back({sqnr, layer.substr(layer.rfind('.') + 1), layer + ": " + fixed(sqnr, 2) + " dB"});
        }
    }
    return "<h2>SQNR by layer</h2>\n" + bar_plot(bars, "layer; SQNR in dB of its quantized tensors together", 40);
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

std::string worst_tensors(const std::vector<comparison> &all) {
    constexpr size_t most = 15;
    std::vector<const comparison *> order = changed(all);
    std::ranges::sort(order, {}, [](const comparison *each) { return std::pair(each->sqnr_db(), each); });  // as given
    std::vector<std::vector<std::string>> rows = {{"tensor", "shape", "type", "SQNR dB", "max error"}};
    for (const comparison *each : std::span(order).first(std::min(order.size(), most))) {
        rows.push_back(
            {each->name, shape_text(each->shape), each->dtype, fixed(each->sqnr_db(), 2), fixed(each->max_error, 6)});
    }
    return "<h2>Tensors with the lowest SQNR</h2>\n" + table_of(rows);
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
    return "<h2>Size by type</h2>\n" + bar_plot(bars, "type; MB after", 30) + table_of(rows);
}

}  // namespace

void write_report(const std::filesystem::path &path, const std::vector<comparison> &all, const std::string &original,
                  const std::string &other) {
    comparison total = total_of(all);
    std::string page = page_begin;
    page += "<h1>" + html(original) + " and " + html(other) + "</h1>\n<p>" + std::to_string(changed(all).size()) +
            " of " + std::to_string(all.size()) + " tensors differ. " + bytes_text(total.bytes_before) + " became " +
            bytes_text(total.bytes_after) + "; SQNR of those that differ together: " + fixed(total.sqnr_db(), 2) +
            " dB.</p>\n";
    page += sqnr_by_layer(all) + error_histogram(total) + worst_tensors(all) + sizes_by_type(all) + "</body></html>\n";
    atomic_file file(path, true);
    file.write(0, std::as_bytes(std::span(page)));
    file.publish();
}

void write_report(const std::filesystem::path &path, const std::string &original, const std::string &other) {
    write_report(path, comparer(original, other).run([](uint64_t) {}), original, other);
}

}  // namespace qdq::model
