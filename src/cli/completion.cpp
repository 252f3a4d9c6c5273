#include "cli/completion.hpp"

#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/terminal.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::cli {
namespace {

/// Bounded in time, and silent without a gateway.
std::string live_names(const OptionNode& option) {
    return fmt::format("crab completion-names {} 2>/dev/null", option.live);
}

/// Calls `visit(path, node)` for every command, `path` without the program's name.
template <class Visit>
void for_each_command(const CommandNode& node, const std::string& path, const Visit& visit) {
    visit(path, node);
    for (const CommandNode& command : node.commands)
        for_each_command(command, path.empty() ? command.name : path + " " + command.name, visit);
}

std::vector<std::string> words_of(const CommandNode& node) {
    std::vector<std::string> words;
    for (const CommandNode& command : node.commands) words.push_back(command.name);
    for (const OptionNode& option : node.options) {
        if (!option.long_name.empty()) words.push_back("--" + option.long_name);
    }
    for (const OptionNode& positional : node.positionals)
        words.insert(words.end(), positional.choices.begin(), positional.choices.end());
    return words;
}

const OptionNode* first_positional(const CommandNode& node) {
    return node.positionals.empty() ? nullptr : &node.positionals[0];
}
bool takes_live(const CommandNode& node) {
    return first_positional(node) && node.positionals[0].kind == ValueKind::kLive;
}
bool takes_file(const CommandNode& node) {
    return first_positional(node) && (node.positionals[0].kind == ValueKind::kFile ||
                                      node.positionals[0].kind == ValueKind::kDirectory);
}

std::string shell_quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text) c == '\'' ? out += "'\\''" : out += c;
    return out + "'";
}

/// zsh's _describe and _arguments give `:`, `[` and `]` a meaning.
std::string zsh_text(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == ':' || c == '[' || c == ']' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

std::string zsh_action(const OptionNode& option) {
    switch (option.kind) {
        case ValueKind::kNone: return "";
        case ValueKind::kText: return fmt::format(":{}:", option.value);
        case ValueKind::kFile: return fmt::format(":{}:_files", option.value);
        case ValueKind::kDirectory: return fmt::format(":{}:_files -/", option.value);
        case ValueKind::kLive:
            return fmt::format(":{}:{{_crab_live {}}}", option.value, option.live);
        case ValueKind::kChoice:
            return fmt::format(":{}:({})", option.value, fmt::join(option.choices, " "));
    }
    return "";
}

std::string zsh_function(const std::string& path) {
    std::string name = path.empty() ? "_crab" : "_crab_" + path;
    std::ranges::replace(name, ' ', '_');
    return name;
}

constexpr std::string_view kFishStart =
    "# fish completion for crab; made by: crab completion fish\n"
    "function __crab_at -d 'Whether all words of one of these commands have been typed'\n"
    "    set -l typed (commandline -opc)\n"
    "    for command in $argv\n"
    "        set -l all yes\n"
    "        for word in (string split ' ' -- $command)\n"
    "            contains -- $word $typed; or set all no\n"
    "        end\n"
    "        test $all = yes; and return 0\n"
    "    end\n"
    "    return 1\n"
    "end\n"
    "complete -c crab -f\n";

/// What fish is told of an option, but for where it belongs.
std::string fish_option(const OptionNode& option) {
    std::string out = "-l " + option.long_name;
    if (option.short_name) out += fmt::format(" -s {}", option.short_name);
    if (option.kind == ValueKind::kFile || option.kind == ValueKind::kDirectory)
        out += " -r -F";
    else if (option.kind == ValueKind::kChoice)
        out += " -x -a " + shell_quoted(fmt::format("{}", fmt::join(option.choices, " ")));
    else if (option.kind == ValueKind::kLive)
        out += " -x -a " + shell_quoted(fmt::format("({})", live_names(option)));
    else if (option.kind != ValueKind::kNone)
        out += " -x";
    return out + " -d " + shell_quoted(option.description);
}

}  // namespace

std::string bash_completion(const CommandNode& root) {
    std::string out =
        "# bash completion for crab; made by: crab completion bash\n"
        "_crab() {\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path= word i "
        "words=\n"
        "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
        "        word=${COMP_WORDS[i]}\n"
        "        case \"$path $word\" in\n";
    for_each_command(root, "", [&](const std::string& path, const CommandNode&) {
        if (!path.empty()) out += fmt::format("            ' {}') path=' {}' ;;\n", path, path);
    });
    out += "        esac\n    done\n    case \"$path:$prev\" in\n";
    for_each_command(root, "", [&](const std::string& path, const CommandNode& node) {
        for (const OptionNode& option : node.options) {
            if (option.kind == ValueKind::kNone || option.long_name.empty()) continue;
            std::string patterns =
                fmt::format("'{}{}:--{}'", path.empty() ? "" : " ", path, option.long_name);
            if (option.short_name)
                patterns +=
                    fmt::format("|'{}{}:-{}'", path.empty() ? "" : " ", path, option.short_name);
            std::string reply = ":";
            if (option.kind == ValueKind::kFile) reply = "COMPREPLY=($(compgen -f -- \"$cur\"))";
            if (option.kind == ValueKind::kDirectory)
                reply = "COMPREPLY=($(compgen -d -- \"$cur\"))";
            if (option.kind == ValueKind::kLive)
                reply = fmt::format("COMPREPLY=($(compgen -W \"$({})\" -- \"$cur\"))",
                                    live_names(option));
            if (option.kind == ValueKind::kChoice)
                reply = fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$cur\"))",
                                    fmt::join(option.choices, " "));
            out += fmt::format("        {}) {}; return ;;\n", patterns, reply);
        }
    });
    out += "    esac\n    case \"$path\" in\n";
    for_each_command(root, "", [&](const std::string& path, const CommandNode& node) {
        std::string dynamic;
        if (takes_live(node))
            dynamic = fmt::format(" [[ $cur != -* ]] && words+=\" $({})\";",
                                  live_names(node.positionals[0]));
        if (takes_file(node))
            dynamic = " [[ $cur != -* ]] && { COMPREPLY=($(compgen -f -- \"$cur\")); return; };";
        out += fmt::format("        '{}{}') words='{}';{} ;;\n", path.empty() ? "" : " ", path,
                           fmt::join(words_of(node), " "), dynamic);
    });
    out +=
        "    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\ncomplete -F _crab "
        "crab\n";
    return out;
}

std::string zsh_completion(const CommandNode& root) {
    std::string out =
        "#compdef crab\n# zsh completion for crab; made by: crab completion zsh\n"
        "_crab_live() { local -a names; names=(${(f)\"$(crab completion-names $1 2>/dev/null)\"}); "
        "compadd -a names }\n";
    for_each_command(root, "", [&](const std::string& path, const CommandNode& node) {
        out += zsh_function(path) + "() {\n";
        if (!node.commands.empty()) out += "    local -a commands; local state line\n";
        out += "    _arguments -C";
        for (const OptionNode& option : node.options) {
            if (!option.long_name.empty())
                out += " \\\n        " +
                       shell_quoted(fmt::format("*--{}[{}]{}", option.long_name,
                                                zsh_text(option.description), zsh_action(option)));
        }
        if (!node.commands.empty()) {
            out +=
                " \\\n        '1: :->command' '*:: :->rest'\n    case $state in\n        "
                "command)\n            commands=(";
            for (const CommandNode& command : node.commands)
                out += "\n                " +
                       shell_quoted(command.name + ":" + zsh_text(command.description));
            out +=
                ")\n            _describe command commands ;;\n        rest)\n            case "
                "$line[1] in\n";
            for (const CommandNode& command : node.commands) {
                out += fmt::format(
                    "                {}) {} ;;\n", command.name,
                    zsh_function(path.empty() ? command.name : path + " " + command.name));
            }
            out += "            esac ;;\n    esac\n";
        } else {
            for (std::size_t i = 0; i < node.positionals.size(); ++i) {
                const std::string action = zsh_action(node.positionals[i]);
                out += " \\\n        " + shell_quoted(fmt::format("{}{}", i + 1, action));
            }
            out += "\n";
        }
        out += "}\n";
    });
    // As a file of $fpath it is the body of _crab, which has to complete at once.
    return out +
           "if [ \"$funcstack[1]\" = _crab ]; then\n    _crab \"$@\"\nelse\n    compdef _crab "
           "crab\nfi\n";
}

std::string fish_completion(const CommandNode& root) {
    std::string out(kFishStart);
    // What several commands have alike is told once.
    std::vector<std::pair<std::string, std::string>> told;  // what, and the commands
    const auto tell = [&told](std::string_view path, std::string what) {
        const auto known =
            std::ranges::find(told, what, &std::pair<std::string, std::string>::first);
        const std::string command =
            path.contains(' ') ? fmt::format("\"{}\"", path) : std::string(path);
        if (known == told.end())
            told.emplace_back(std::move(what), command);
        else
            known->second += " " + command;
    };
    for_each_command(root, "", [&](const std::string& path, const CommandNode& node) {
        std::vector<std::string> names;
        for (const CommandNode& command : node.commands) names.push_back(command.name);
        if (!names.empty()) {
            const std::string start =
                "complete -c crab -n " +
                shell_quoted(
                    path.empty()
                        ? "__fish_use_subcommand"
                        : fmt::format("__crab_at \"{}\"; and not __fish_seen_subcommand_from {}",
                                      path, fmt::join(names, " ")));
            for (const CommandNode& command : node.commands)
                out += fmt::format("{} -a {} -d {}\n", start, command.name,
                                   shell_quoted(command.description));
            for (const OptionNode& option : node.options) {
                if (!option.long_name.empty())
                    out += fmt::format("{} {}\n", start, fish_option(option));
            }
            return;
        }
        for (const OptionNode& option : node.options) {
            if (!option.long_name.empty()) tell(path, fish_option(option));
        }
        if (takes_live(node))
            tell(path, "-a " + shell_quoted(fmt::format("({})", live_names(node.positionals[0]))));
        if (takes_file(node)) tell(path, "-F");
        if (!node.positionals.empty() && node.positionals[0].kind == ValueKind::kChoice)
            tell(path, "-a " + shell_quoted(
                                   fmt::format("{}", fmt::join(node.positionals[0].choices, " "))));
    });
    for (const auto& [what, commands] : told)
        out += fmt::format("complete -c crab -n '__crab_at {}' {}\n", commands, what);
    return out;
}

int run(const Completion& options) {
    const CommandNode root = command_tree();
    if (options.shell == "bash") print(bash_completion(root));
    if (options.shell == "zsh") print(zsh_completion(root));
    if (options.shell == "fish") print(fish_completion(root));
    return kExitOk;
}

}  // namespace crab::cli
