#include "apps/crab/command_line.hpp"

#include "apps/crab/command_grammar.hpp"
#include "apps/crab/command_tree.hpp"
#include "apps/crab/exit_codes.hpp"
#include "apps/crab/pair_flags.hpp"

#ifndef CRAB_VERSION
#define CRAB_VERSION "unknown"
#endif

namespace crab::app {

CommandLine::CommandLine() {
    app_.name("crab");
    app_.set_version_flag("--version", "crab " CRAB_VERSION);
    app_.require_subcommand(1);
    app_.footer(
        "Examples:\n  crab gateway run\n  crab devices pair --name phone\n  crab tools list\n"
        "  crab call clipboard.read\n\ncrab help exit-codes lists the exit codes.");
    gateway();
    host();
    tools();
    call();
    agents();
    chat();
    calls();
    events();
    explain();
    devices();
    pair();
    peers();
    approvals();
    leases();
    artifacts();
    worktree();
    policy();
    device();
    bridge();
    tls();
    doctor();
    audit();
    backup();
    completion();
    schema();
    help();
}

namespace {

/// The deepest command that the arguments chose.
CLI::App& deepest(CLI::App& app) {
    for (CLI::App* command : app.get_subcommands()) return deepest(*command);
    return app;
}

std::string full_name(const CLI::App& app) {
    return app.get_parent() ? full_name(*app.get_parent()) + " " + app.get_name() : app.get_name();
}

std::string help_text(const CLI::App& app) {
    const std::string text = app.help(app.get_parent() ? full_name(*app.get_parent()) : "");
    return text.ends_with('\n') ? text : text + '\n';
}

std::vector<CLI::App*> visible_commands(CLI::App& app) {
    return app.get_subcommands([](CLI::App* command) { return !command->get_group().empty(); });
}

/// What was probably meant by the first word that the parser did not know; empty when nothing is near.
std::string meant(CLI::App& app, const std::string& word) {
    std::vector<std::string> known;
    if (word.starts_with("-")) {
        for (const CLI::Option* option : app.get_options()) {
            for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
        }
    } else {
        for (CLI::App* command : visible_commands(app)) known.push_back(command->get_name());
    }
    return std::string(closest_name(word.substr(0, word.find('=')), known));
}

Printed usage_error(CommandLine& line, const CLI::ParseError& error, const std::vector<std::string>& arguments) {
    CLI::App& app = deepest(line.app());
    std::vector<std::string> unknown = app.remaining(false);
    if (unknown.empty()) unknown = line.app().remaining(true);
    if (unknown.empty() && !visible_commands(app).empty()) {
        // A group that got a word it does not know: CLI11 only says that a subcommand is missing.
        for (const std::string& argument : arguments) {
            if (!argument.starts_with('-') && argument != app.get_name() && full_name(app).find(argument) == std::string::npos) unknown.push_back(argument);
        }
    }
    std::string text;
    if (!unknown.empty()) {
        const std::string near = meant(app, unknown[0]);
        const std::string_view kind = unknown[0].starts_with("-") ? "option" : visible_commands(app).empty() ? "argument" : "command";
        text = fmt::format("crab: unknown {} {}{}", kind, unknown[0], near.empty() ? "" : fmt::format("; did you mean {}?", near));
    } else if (!visible_commands(app).empty()) {
        std::vector<std::string> names;
        for (CLI::App* command : visible_commands(app)) names.push_back(command->get_name());
        text = fmt::format("crab: {} needs a command: {}", full_name(app), fmt::join(names, ", "));
    } else {
        text = fmt::format("crab: {}", error.what());
    }
    return {fmt::format("{}\nTry: {} --help\n", text, full_name(app)), kExitUsage};
}

ValueKind kind_of(const CLI::Option& option) {
    const std::string value = option.get_type_name().substr(0, option.get_type_name().find(':'));
    if (option.get_type_size() == 0) return ValueKind::kNone;
    if (value == "PATH") return ValueKind::kFile;
    if (value == "DIR") return ValueKind::kDirectory;
    if (value == "TOOL") return ValueKind::kTool;
    if (value == "CALL_ID") return ValueKind::kCall;
    if (value == "DEVICE") return ValueKind::kDevice;
    if (value == "FORM" || value == "SHELL") return ValueKind::kChoice;
    return ValueKind::kText;
}

OptionNode node_of(const CLI::Option& option) {
    OptionNode node;
    if (!option.get_lnames().empty()) node.long_name = option.get_lnames()[0];
    if (!option.get_snames().empty()) node.short_name = option.get_snames()[0][0];
    node.kind = kind_of(option);
    if (node.kind != ValueKind::kNone) node.value = option.get_type_name().substr(0, option.get_type_name().find(':'));
    node.description = option.get_description();
    if (node.value == "FORM") node.choices = {"text", "json"};
    if (node.value == "SHELL") node.choices = {"bash", "zsh", "fish"};
    return node;
}

CommandNode node_of(CLI::App& app) {
    CommandNode node{.name = app.get_name(), .description = app.get_description(), .path = full_name(app), .examples = app.get_footer()};
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_group().empty()) continue;
        (option->get_positional() ? node.positionals : node.options).push_back(node_of(*option));
    }
    for (CLI::App* command : visible_commands(app)) node.commands.push_back(node_of(*command));
    return node;
}

}  // namespace

std::variant<Command, Printed> parse_command_line(std::span<const char* const> arguments) {
    CommandLine line;
    const std::vector<std::string> words = pair_flags_last(arguments);
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    try {
        line.app().parse(reversed);
    } catch (const CLI::CallForHelp&) {
        return Printed{help_text(deepest(line.app())), kExitOk};
    } catch (const CLI::CallForVersion& version) {
        return Printed{std::string(version.what()) + "\n", kExitOk};
    } catch (const CLI::ParseError& error) {
        return usage_error(line, error, words);
    }
    return std::move(*line.chosen);
}

Printed help_of(const std::vector<std::string>& path) {
    CommandLine line;
    CLI::App* app = &line.app();
    for (const std::string& name : path) {
        const std::vector<CLI::App*> next = app->get_subcommands([&](CLI::App* command) { return command->get_name() == name; });
        if (next.empty()) {
            const std::string near = meant(*app, name);
            return {fmt::format("crab: no help for {}{}\n", name, near.empty() ? "" : fmt::format("; did you mean {}?", near)), kExitUsage};
        }
        app = next[0];
    }
    return {help_text(*app), kExitOk};
}

CommandNode command_tree() {
    CommandLine line;
    return node_of(line.app());
}

}  // namespace crab::app
