// Tuned parameters as generators take them on their command line. A value that is not legal stops the generator, which
// names the parameter and what it may be: Halide's own GeneratorParam takes any number from a command line.
#pragma once

#include "Halide.h"

#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

namespace qdq {

class tuned_number : public Halide::GeneratorParam<int> {
public:
    tuned_number(const std::string &name, int least, int most, bool power_of_two)
        : GeneratorParam(name, least, least, most), least(least), most(most), power_of_two(power_of_two) {}

protected:
    void set_from_string(const std::string &text) override {
        std::istringstream in(text);
        int value = 0;
        in >> value;
        const bool is_integer = !in.fail() && in.peek() == std::istringstream::traits_type::eof();
        if (!is_integer || value < least || value > most || (power_of_two && (value & (value - 1)) != 0)) {
            throw std::invalid_argument(name() + " is " + text + ", not " +
                                        (power_of_two ? "a power of two" : "an integer") + " in " +
                                        std::to_string(least) + ".." + std::to_string(most));
        }
        GeneratorParam::set_from_string(text);
    }

private:
    const int least, most;
    const bool power_of_two;
};

template<typename Choice> class tuned_choice : public Halide::GeneratorParam<Choice> {
public:
    tuned_choice(const std::string &name, const std::map<std::string, Choice> &choices)
        : Halide::GeneratorParam<Choice>(name, Choice{}, choices), choices(choices) {}

protected:
    void set_from_string(const std::string &text) override {
        if (!choices.contains(text)) {
            std::string names;
            for (const auto &[name, choice] : choices) {
                names += (names.empty() ? "" : ", ") + name;
            }
            throw std::invalid_argument(this->name() + " is " + text + ", not one of " + names);
        }
        Halide::GeneratorParam<Choice>::set_from_string(text);
    }

private:
    const std::map<std::string, Choice> choices;
};

}  // namespace qdq
