#include "cli/command_line.hpp"

#include "cli/command_grammar.hpp"
#include "cli/command_tree.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/pair_flags.hpp"

#include <array>
#include <iterator>

#ifndef CRAB_VERSION
#define CRAB_VERSION "unknown"
#endif

namespace crab::cli {
namespace {

/// The program's own help: its commands under what they are for.
class GroupedHelp final : public CLI::Formatter {
public:
    std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override {
        if (app->get_parent() != nullptr) return CLI::Formatter::make_subcommands(app, mode);
        std::string text = "Subcommands:\n", group;
        for (const CLI::App* command : app->get_subcommands([](const CLI::App*) { return true; })) {
            if (command->get_group().empty()) continue;
            if (command->get_group() != group)
                text += fmt::format(" {}:\n", group = command->get_group());
            text += make_subcommand(command);
        }
        return text + "\n";
    }
};

}  // namespace

/// The commands that came since the last group.
void CommandLine::in_group(const std::string& name) {
    for (CLI::App* command : app_.get_subcommands([](CLI::App*) { return true; })) {
        if (command->get_group() == kUngrouped) command->group(name);
    }
}

CommandLine::CommandLine() {
    app_.name("crab");
    app_.set_version_flag("--version", "crab " CRAB_VERSION);
    app_.require_subcommand(1);
    app_.formatter(std::make_shared<GroupedHelp>());
    app_.footer(
        "Options that most commands take may stand anywhere: --socket, --config, --url, --token, "
        "--ca-file, -o.\n\nExamples:\n  crab gateway run\n  crab devices pair --name phone\n  crab "
        "tools list\n"
        "  crab call clipboard.read\n\ncrab help exit-codes lists the exit codes.");
    gateway();
    host();
    device();
    bridge();
    mcp();
    in_group("Run");
    tools();
    call();
    calls();
    top();
    explain();
    chat();
    sessions();
    agents();
    events();
    artifacts();
    in_group("Call and chat");
    devices();
    pair();
    peers();
    leases();
    approvals();
    policy();
    worktree();
    tls();
    in_group("Say who may come in, and what they may do");
    console();
    doctor();
    config();
    audit();
    backup();
    in_group("Look after it");
    completion();
    schema();
    help();
    in_group("Other");
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

/// What was probably meant by the first word that the parser did not know; empty when nothing is
/// near.
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

ParserOutput usage_error(CommandLine& line, const CLI::ParseError& error,
                         const std::vector<std::string>& arguments) {
    CLI::App& app = deepest(line.app());
    std::vector<std::string> unknown = app.remaining(false);
    if (unknown.empty()) unknown = line.app().remaining(true);
    if (unknown.empty() && !visible_commands(app).empty()) {
        // A group that got a word it does not know: CLI11 only says that a subcommand is missing.
        for (const std::string& argument : arguments) {
            if (!argument.starts_with('-') && argument != app.get_name() &&
                full_name(app).find(argument) == std::string::npos)
                unknown.push_back(argument);
        }
    }
    std::string text;
    if (!unknown.empty()) {
        const std::string near = meant(app, unknown[0]);
        const std::string_view kind = unknown[0].starts_with("-")     ? "option"
                                      : visible_commands(app).empty() ? "argument"
                                                                      : "command";
        text = fmt::format("crab: unknown {} {}{}", kind, unknown[0],
                           near.empty() ? "" : fmt::format("; did you mean {}?", near));
    } else if (!visible_commands(app).empty()) {
        std::vector<std::string> names;
        for (CLI::App* command : visible_commands(app)) names.push_back(command->get_name());
        text = fmt::format("crab: {} needs a command: {}", full_name(app), fmt::join(names, ", "));
    } else {
        text = fmt::format("crab: {}", error.what());
    }
    return {.text = fmt::format("{}\nTry: {} --help\n", text, full_name(app)),
            .exit_code = kExitUsage};
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
    if (node.kind != ValueKind::kNone)
        node.value = option.get_type_name().substr(0, option.get_type_name().find(':'));
    node.description = option.get_description();
    if (node.value == "FORM") node.choices = {"text", "json"};
    if (node.value == "SHELL") node.choices = {"bash", "zsh", "fish"};
    return node;
}

CommandNode node_of(CLI::App& app) {
    CommandNode node{.name = app.get_name(),
                     .description = app.get_description(),
                     .path = full_name(app),
                     .examples = app.get_footer()};
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_group().empty()) continue;
        (option->get_positional() ? node.positionals : node.options).push_back(node_of(*option));
    }
    for (CLI::App* command : visible_commands(app)) node.commands.push_back(node_of(*command));
    return node;
}

}  // namespace

namespace {

/// Options that mean the same wherever they are taken, each with a value.
constexpr std::array<std::string_view, 7> kEverywhere{"--socket",  "--config", "--url", "--token",
                                                      "--ca-file", "--output", "-o"};

bool is_everywhere(std::string_view word) {
    if (std::ranges::find(kEverywhere, word.substr(0, word.find('='))) != kEverywhere.end())
        return true;
    return word.size() > 2 && word.starts_with("-o") && word[2] != '-';  // -ojson
}

/// Such options may stand before the command or within its name: they are moved behind the name,
/// where the command takes them.
std::vector<std::string> with_common_options_behind(CLI::App& app,
                                                    std::span<const char* const> arguments) {
    std::vector<std::string> words;
    std::vector<std::string> options;
    CLI::App* command = &app;
    std::size_t i = 0;
    for (; i < arguments.size() && !visible_commands(*command).empty(); ++i) {
        const std::string word = arguments[i];
        if (is_everywhere(word)) {
            options.push_back(word);
            const bool alone = word == "-o" || word.find('=') == std::string::npos;
            if (alone && (word.starts_with("--") || word == "-o") && i + 1 < arguments.size())
                options.emplace_back(arguments[++i]);
            continue;
        }
        const std::vector<CLI::App*> next =
            command->get_subcommands([&](CLI::App* each) { return each->check_name(word); });
        if (next.empty()) break;
        words.push_back(word);
        command = next[0];
    }
    const std::vector<std::string> rest(arguments.begin() + static_cast<std::ptrdiff_t>(i),
                                        arguments.end());
    const bool is_command = visible_commands(*command).empty();
    // A word that is not a command is what has to be told, not the option before it.
    const std::vector<std::string>& first = is_command ? options : rest;
    const std::vector<std::string>& last = is_command ? rest : options;
    words.insert(words.end(), first.begin(), first.end());
    words.insert(words.end(), last.begin(), last.end());
    return words;
}

}  // namespace

std::variant<Command, ParserOutput> parse_command_line(std::span<const char* const> arguments) {
    CommandLine line;
    if (arguments.empty())
        return ParserOutput{
            .text = help_text(line.app()), .exit_code = kExitUsage, .is_help = true};
    const std::vector<std::string> arranged = with_common_options_behind(line.app(), arguments);
    std::vector<const char*> pointers;
    for (const std::string& word : arranged) pointers.push_back(word.c_str());
    const std::vector<std::string> words = pair_flags_last(pointers);
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    try {
        line.app().parse(reversed);
    } catch (const CLI::CallForHelp&) {
        return ParserOutput{
            .text = help_text(deepest(line.app())), .exit_code = kExitOk, .is_help = true};
    } catch (const CLI::CallForVersion& version) {
        return ParserOutput{.text = std::string(version.what()) + "\n", .exit_code = kExitOk};
    } catch (const CLI::ParseError& error) {
        return usage_error(line, error, words);
    }
    return std::move(*line.chosen);
}

ParserOutput help_of(const std::vector<std::string>& path) {
    CommandLine line;
    CLI::App* app = &line.app();
    for (const std::string& name : path) {
        const std::vector<CLI::App*> next =
            app->get_subcommands([&](CLI::App* command) { return command->get_name() == name; });
        if (next.empty()) {
            const std::string near = meant(*app, name);
            return {
                .text = fmt::format("crab: no help for {}{}\n", name,
                                    near.empty() ? "" : fmt::format("; did you mean {}?", near)),
                .exit_code = kExitUsage};
        }
        app = next[0];
    }
    return {.text = help_text(*app), .exit_code = kExitOk, .is_help = true};
}

CommandNode command_tree() {
    CommandLine line;
    return node_of(line.app());
}

}  // namespace crab::cli
