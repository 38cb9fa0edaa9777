// The manual page and the shells' completions, from the same description of the command line as --help.
#include "generate_command.h"

#include <qdq/qdq.h>

#include <iostream>
#include <string>
#include <vector>

namespace qdq::cli {

namespace {

// An option, or an argument, as CLI11 knows it. Its type is a name, then what it is checked for: "TEXT:{i8,u8}".
struct option_text {
    std::vector<std::string> names;  // "-o", "--output"; none of an argument
    std::string value;               // "FILE"; empty for a flag
    std::vector<std::string> choices;
    std::string description;
};

std::vector<std::string> choices_in(const std::string &type) {
    const size_t begin = type.find('{'), end = type.find('}');
    if (end == std::string::npos) {
        return {};
    }
    std::vector<std::string> choices = CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
    std::ranges::for_each(choices, [](std::string &each) { CLI::detail::trim(each); });  // of breaks of lines in help
    return choices;
}

option_text describe(const CLI::Option &option) {
    option_text text;
    for (const std::string &name : option.get_snames()) {
        text.names.push_back("-" + name);
    }
    for (const std::string &name : option.get_lnames()) {
        text.names.push_back("--" + name);
    }
    if (option.get_items_expected_max() > 0) {
        const std::string type = option.get_type_name();
        text.value = text.names.empty() ? option.get_name() : type.substr(0, type.find(':'));
        text.choices = choices_in(type);
    }
    text.description = CLI::detail::find_and_replace(option.get_description(), "\n", " ");
    return text;
}

std::vector<option_text> options_of(const CLI::App &command) {
    std::vector<option_text> all;
    for (const CLI::Option *option : command.get_options()) {
        all.push_back(describe(*option));
    }
    return all;
}

std::vector<const CLI::App *> commands_of(const CLI::App &app) { return app.get_subcommands(nullptr); }

using CLI::detail::find_and_replace;
using CLI::detail::join;

std::string roff(std::string text) {
    text = find_and_replace(text, "\\", "\\e");
    text = find_and_replace(text, "-", "\\-");
    text = find_and_replace(text, "\n.", "\n\\&.");
    return find_and_replace(text, "\n'", "\n\\&'");
}

void print_manual_options(const CLI::App &command) {
    for (const option_text &option : options_of(command)) {
        std::cout << ".TP\n.BI \"" << roff(join(option.names, ", ")) << " \" \"" << roff(option.value) << "\"\n"
                  << roff(option.description) << (option.choices.empty() ? "" : ": ")
                  << roff(join(option.choices, ", ")) << "\n";
    }
}

void print_manual(const CLI::App &app) {
    std::cout << ".TH QDQ 1 \"\" \"qdq " << qdq_version() << "\" \"User Commands\"\n.SH NAME\nqdq \\- "
              << roff(app.get_description()) << "\n.SH SYNOPSIS\n";
    for (const CLI::App *command : commands_of(app)) {
        std::cout << "\\fBqdq " << command->get_name() << "\\fR [\\fIoptions\\fR]";
        for (const CLI::Option *argument : command->get_options(&CLI::Option::get_positional)) {
            std::cout << " \\fI" << argument->get_name() << "\\fR";
        }
        std::cout << "\n.br\n";
    }
    std::cout << ".SH OPTIONS\n";
    print_manual_options(app);
    std::cout << ".SH COMMANDS\n";
    for (const CLI::App *command : commands_of(app)) {
        std::cout << ".SS " << command->get_name() << "\n" << roff(command->get_description()) << ".\n";
        print_manual_options(*command);
        if (!command->get_footer().empty()) {
            std::cout << ".PP\n.nf\n" << roff(command->get_footer()) << "\n.fi\n";
        }
    }
    std::cout << ".SH ENVIRONMENT\n.TP\n.B QDQ_TARGET\nThe target to use, unless an option names one.\n"
                 ".SH EXIT STATUS\n"
              << roff(app.get_footer()) << "\n";
}

std::string names_of_all(const CLI::App &command) {
    std::vector<std::string> names;
    for (const option_text &option : options_of(command)) {
        names.insert(names.end(), option.names.begin(), option.names.end());
    }
    return join(names, " ");
}

std::string command_names(const CLI::App &app) {
    std::vector<std::string> names;
    for (const CLI::App *command : commands_of(app)) {
        names.push_back(command->get_name());
    }
    return join(names, " ");
}

// What is completed depends on which word it is, the command, the word before and the word so far.
void print_bash(const CLI::App &app) {
    std::cout << "_qdq() {\n    local words= word=${COMP_WORDS[COMP_CWORD]}\n"
                 "    case $COMP_CWORD:${COMP_WORDS[1]}:${COMP_WORDS[COMP_CWORD-1]}:$word in\n"
              << "    1:-*) words='" << names_of_all(app) << "' ;;\n    1:*) words='" << command_names(app) << "' ;;\n";
    for (const CLI::App *command : commands_of(app)) {
        const std::string name = command->get_name();
        std::cout << "    *:" << name << ":*:-*) words='" << names_of_all(*command) << "' ;;\n";
        for (const option_text &option : options_of(*command)) {
            const std::string before = option.names.empty() ? "2:" + name : "*:" + name + ":" + option.names.back();
            if (!option.choices.empty()) {
                std::cout << "    " << before << ":*) words='" << join(option.choices, " ") << "' ;;\n";
            }
        }
    }
    std::cout
        << "    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\ncomplete -o default -F _qdq qdq\n";
}

// In single quotes, and with what _arguments takes for its own syntax escaped.
std::string zsh(std::string text) {
    for (const char *special : {"\\", "[", "]", ":"}) {
        text = find_and_replace(text, special, std::string("\\") + special);
    }
    return find_and_replace(text, "'", "'\\''");
}

std::string zsh_values(const option_text &option) {
    const bool is_file = option.value == "FILE" || option.value == "PATH" || option.names.empty();
    const std::string what = !option.choices.empty() ? "(" + join(option.choices, " ") + ")" : is_file ? "_files" : " ";
    return option.value.empty() ? "" : ":" + zsh(option.value) + ":" + what;
}

void print_zsh_options(const CLI::App &command) {
    for (const option_text &option : options_of(command)) {
        if (option.names.empty()) {
            std::cout << " \\\n        '" << zsh_values(option) << "'";
        }
        for (const std::string &name : option.names) {
            std::cout << " \\\n        '(" << join(option.names, " ") << ")" << name << "[" << zsh(option.description)
                      << "]" << zsh_values(option) << "'";
        }
    }
}

void print_zsh(const CLI::App &app) {
    std::cout << "#compdef qdq\nlocal line state\n_arguments -C '1:command:(" << command_names(app)
              << ")' '*::arguments:->arguments'";
    print_zsh_options(app);
    std::cout << "\ncase $state:$line[1] in\n";
    for (const CLI::App *command : commands_of(app)) {
        std::cout << "arguments:" << command->get_name() << ")\n    _arguments";
        print_zsh_options(*command);
        std::cout << "\n    ;;\n";
    }
    std::cout << "esac\n";
}

std::string fish(const std::string &text) { return "'" + find_and_replace(text, "'", "\\'") + "'"; }

void print_fish(const CLI::App &app) {
    for (const CLI::App *command : commands_of(app)) {
        std::cout << "complete -c qdq -f -n __fish_use_subcommand -a " << command->get_name() << " -d "
                  << fish(command->get_description()) << "\n";
        for (const option_text &option : options_of(*command)) {
            if (option.names.empty() && option.choices.empty()) {
                continue;  // a file, which fish completes unasked
            }
            std::cout << "complete -c qdq -n '__fish_seen_subcommand_from " << command->get_name() << "'";
            for (const std::string &name : option.names) {
                std::cout << (name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1));
            }
            if (!option.choices.empty()) {
                std::cout << " -x -a " << fish(join(option.choices, " "));
            } else if (!option.value.empty()) {
                std::cout << " -r";
            }
            std::cout << " -d " << fish(option.description) << "\n";
        }
    }
}

}  // namespace

void run_generate(const std::string &what, const CLI::App &app) {
    if (what == "man") {
        print_manual(app);
    } else if (what == "bash") {
        print_bash(app);
    } else if (what == "zsh") {
        print_zsh(app);
    } else {
        print_fish(app);
    }
}

}  // namespace qdq::cli
