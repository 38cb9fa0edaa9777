#include "support/words.h"

#include <algorithm>

namespace qdq::model {

namespace {

asker current = asker::command_line;  // written once, before there are other threads

}  // namespace

void set_asker(asker who) { current = who; }

asker who_asks() { return current; }

std::string option_text(std::string_view name, asker who) {
    if (who == asker::command_line) {
        return "--" + std::string(name);
    }
    std::string text(name);
    std::ranges::replace(text, '-', '_');
    return text;
}

std::string replacing_option() { return who_asks() == asker::python ? "replace=True" : "--force"; }

std::string excluding_option() {
    return who_asks() == asker::python ? R"(a rule of the recipe with "dtype": "keep")" : "--exclude";
}

}  // namespace qdq::model
