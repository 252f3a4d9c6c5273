#include "cli/command_line.hpp"

#include "base/scope_exit.hpp"
#include "base/version.hpp"
#include "cli/command_grammar.hpp"
#include "cli/command_tree.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/pair_flags.hpp"

#include <array>
#include <iterator>

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

constexpr std::string_view kFormsOf = "Form of the output: ";
/// One text for both, since the reference has it once.
constexpr std::string_view kQuiet =
    "Lists: names only, one a line, as -o name; changes: nothing when they worked";

/// The commands that came since the last group.
void CommandLine::in_group(const std::string& name) {
    for (CLI::App* command : app_.get_subcommands([](CLI::App*) { return true; })) {
        if (command->get_group() == kUngrouped) command->group(name);
    }
}

void CommandLine::note_old(std::string_view old, std::string_view now) {
    if (notes.empty())
        notes.push_back(
            fmt::format("{} is written {} now; the old way ends with the next release", old, now));
}

void CommandLine::choose_output(CLI::App* command, Output& output, Answer answer) {
    std::map<std::string, Output::Form> forms{{"text", Output::kText}, {"json", Output::kJson}};
    std::string shown = "text, json";
    const bool is_list = answer == Answer::kList || answer == Answer::kFixedList;
    if (answer != Answer::kStream) forms["yaml"] = Output::kYaml, shown += ", yaml";
    if (is_list) forms["wide"] = Output::kWide, shown += ", wide";
    if (is_list || answer == Answer::kChange) forms["name"] = Output::kName, shown += ", name";
    const bool with_path = answer != Answer::kStream;
    if (with_path) shown += ", jsonpath=TEMPLATE";
    const auto take = [this, &output, forms, is_list](const std::string& word) {
        constexpr std::string_view kPath = "jsonpath=";
        if (word.starts_with(kPath)) {
            output.form = Output::kJsonPath;
            output.template_text = word.substr(kPath.size());
            if (const auto path = JsonPath::parse(output.template_text); !path)
                throw CLI::ValidationError("-o", path.error().message);
        } else if (is_list && word == "names") {
            output.form = Output::kName;
            note_old("-o names", "-o name");
        } else {
            output.form = forms.at(word);
        }
    };
    std::vector<std::string> words;
    for (const auto& [word, _] : forms) words.push_back(word);
    CLI::Validator known = one_of(words);
    CLI::Validator fits;
    fits.operation([known, with_path, is_list](std::string& given) {
        if ((with_path && given.starts_with("jsonpath=")) || (is_list && given == "names"))
            return std::string();
        return known(given);
    });
    command
        ->add_option_function<std::string>("-o,--output", take,
                                           fmt::format("{}{}", kFormsOf, shown))
        ->type_name("FORM")
        ->default_str("text")
        ->check(fits)
        ->group(std::string(kOutputOptions));
    if (is_list) return arrange_list(command, output, answer);
    if (answer == Answer::kChange)
        command->add_flag("-q,--quiet", output.quiet, std::string(kQuiet))
            ->group(std::string(kOutputOptions));
}

void CommandLine::arrange_list(CLI::App* command, Output& output, Answer answer) {
    const std::string group(kOutputOptions);
    command
        ->add_option("--sort-by", output.sort_by,
                     "Sort by this member of the rows as -o json names it, such as .name or "
                     "{.source.id} (default: as they come)")
        ->type_name("PATH_IN_ROW")
        ->group(group);
    command->add_flag("--no-headers", output.no_headers, "The rows of the table alone")
        ->group(group);
    command->add_flag("-q,--quiet", output.quiet, std::string(kQuiet))->group(group);
    if (answer == Answer::kList)
        command
            ->add_flag("-w,--watch", output.watch,
                       "Go on: on a terminal the table changes in place, elsewhere rows follow "
                       "that are new or have changed")
            ->group(group);
}

CommandLine::CommandLine() {
    app_.name("crab");
    app_.set_version_flag("--version", fmt::format("crab {}", crab::version()));
    app_.require_subcommand(1);
    app_.formatter(std::make_shared<GroupedHelp>());
    app_.footer(
        "Options that most commands take may stand anywhere: --context, --socket, --config, --url, "
        "--token, --ca-file, -o.\n\nExamples:\n  crab gateway run\n  crab devices pair --name "
        "phone\n  crab "
        "tools list\n"
        "  crab call clipboard.read\n\ncrab help exit-codes lists the exit codes.");
    gateway();
    host();
    bridge();
    mcp();
    in_group("Run");
    tools();
    call();
    calls();
    top();
    chat();
    sessions();
    agents();
    events();
    artifacts();
    in_group("Call and chat");
    devices();
    tokens();
    peers();
    leases();
    approvals();
    policy();
    worktrees();
    tls();
    in_group("Say who may come in, and what they may do");
    console();
    doctor();
    logs();
    config();
    audit();
    backup();
    restore();
    in_group("Look after it");
    context();
    completion();
    schema();
    version();
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

/// Placeholders whose values the gateway, or the file of contexts, knows.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kLive{
    {{"TOOL", "tools"},
     {"CALL_ID", "calls"},
     {"DEVICE", "devices"},
     {"APPROVAL_ID", "approvals"},
     {"TOKEN_ID", "tokens"},
     {"SESSION", "sessions"},
     {"ARTIFACT", "artifacts"},
     {"PEER", "peers"},
     {"CONTEXT", "contexts"}}};

void set_kind(OptionNode& node, const CLI::Option& option) {
    if (option.get_type_size() == 0) return;
    node.value = option.get_type_name().substr(0, option.get_type_name().find(':'));
    node.kind = ValueKind::kText;
    if (node.value == "DIR") node.kind = ValueKind::kDirectory;
    if (node.value == "PATH" || node.value.ends_with("FILE")) node.kind = ValueKind::kFile;
    const auto live =
        std::ranges::find(kLive, node.value, &std::pair<std::string_view, std::string_view>::first);
    if (live != kLive.end()) {
        node.kind = ValueKind::kLive;
        node.live = live->second;
    }
    if (node.value == "SHELL") node.choices = {"bash", "zsh", "fish"};
    if (node.value == "FORMAT") node.choices = {"jsonl", "csv"};
    if (node.value == "SCOPE") node.choices = {"once", "session", "always"};
    if (node.value == "FORM") {
        std::string_view words = option.get_description();
        words.remove_prefix(kFormsOf.size());
        while (!words.empty()) {
            const std::string_view word = words.substr(0, words.find(", "));
            node.choices.emplace_back(
                word.substr(0, word.find('=') + (word.contains('=') ? 1 : 0)));
            words.remove_prefix(std::min(word.size() + 2, words.size()));
        }
    }
    if (!node.choices.empty()) node.kind = ValueKind::kChoice;
}

OptionNode node_of(const CLI::Option& option) {
    OptionNode node;
    if (!option.get_lnames().empty()) node.long_name = option.get_lnames()[0];
    if (!option.get_snames().empty()) node.short_name = option.get_snames()[0][0];
    node.description = option.get_description();
    const std::string& usual = option.get_default_str();
    if (!usual.empty() && !node.description.contains("default"))
        node.description += fmt::format(" (default: {})", usual);
    node.required = option.get_required();
    node.many = option.get_positional() && option.get_expected_max() > 1;
    node.group = option.get_group();
    set_kind(node, option);
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
constexpr std::array<std::string_view, 9> kEverywhere{"--context", "--socket", "--admin-socket",
                                                      "--config",  "--url",    "--token",
                                                      "--ca-file", "--output", "-o"};

bool is_everywhere(std::string_view word) {
    if (std::ranges::find(kEverywhere, word.substr(0, word.find('='))) != kEverywhere.end())
        return true;
    return word.size() > 2 && word.starts_with("-o") && word[2] != '-';  // -ojson
}

struct Renamed {
    std::string_view old;
    std::vector<std::string> now;
    bool is_original = false;  ///< of the program that RTP comes from; stays, without a word
};

const std::vector<Renamed>& renamed() {
    static const std::vector<Renamed> all{{"worktree", {"worktrees"}},
                                          {"device", {"devices", "run"}},
                                          {"explain", {"calls", "show"}},
                                          {"pair", {"peers", "pair"}, true}};
    return all;
}

/// Commands that have another name now; options may stand before them.
std::vector<std::string> with_new_names(CommandLine& line, std::vector<std::string> words) {
    std::size_t at = 0;
    for (; at < words.size() && words[at].starts_with('-'); ++at) {
        if (is_everywhere(words[at]) && !words[at].contains('=') &&
            (words[at].starts_with("--") || words[at] == "-o"))
            ++at;
    }
    if (at >= words.size()) return words;
    const auto found = std::ranges::find(renamed(), words[at], &Renamed::old);
    if (found == renamed().end()) return words;
    const std::vector<std::string> rest(words.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                                        words.end());
    words.resize(at);
    words.insert(words.end(), found->now.begin(), found->now.end());
    words.insert(words.end(), rest.begin(), rest.end());
    const auto status = std::ranges::find(words, "status");
    if (found->old == "worktree" && status != words.end()) *status = "list";
    if (!found->is_original)
        line.note_old(fmt::format("crab {}", found->old),
                      fmt::format("crab {}", fmt::join(found->now, " ")));
    return words;
}

/// Such options may stand before the command or within its name: they are moved behind the name,
/// where the command takes them.
std::vector<std::string> with_common_options_behind(CLI::App& app,
                                                    const std::vector<std::string>& arguments) {
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
                options.push_back(arguments[++i]);
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

std::variant<std::unique_ptr<Command>, ParserOutput> parse_command_line(
    std::span<const char* const> arguments, std::vector<std::string>* notes) {
    CommandLine line;
    const ScopeExit tell([&] {
        if (notes != nullptr) *notes = line.notes;
    });
    if (arguments.empty())
        return ParserOutput{
            .text = help_text(line.app()), .exit_code = kExitUsage, .is_help = true};
    const std::vector<std::string> given(arguments.begin(), arguments.end());
    const std::vector<std::string> words = pair_flags_last(
        with_common_options_behind(line.app(), with_new_names(line, pair_flags_last(given))));
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
    return std::move(line.chosen);
}

ParserOutput help_of(const std::vector<std::string>& path) {
    CommandLine line;
    CLI::App* app = &line.app();
    for (const std::string& name : with_new_names(line, path)) {
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
