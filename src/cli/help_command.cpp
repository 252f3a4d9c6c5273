#include "cli/command_line.hpp"
#include "cli/command_tree.hpp"
#include "cli/man_pages.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/terminal.hpp"

#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::cli {
namespace {

std::string exit_codes_page() {
    std::string text = "Exit codes of crab\n\n";
    for (const ExitCodeText& one : exit_code_texts())
        text += fmt::format("  {:>3}  {}\n", static_cast<int>(one.code), one.meaning);
    return text;
}

/// In a table cell, `|` would end it.
std::string cell(std::string_view text) {
    std::string out;
    for (const char c : text) c == '|' ? out += "\\|" : out += c;
    return out;
}

/// `TOOL`, `[JSON]` for what may be left out, `[WORD...]` for what may come more than once.
std::string shown_positional(const OptionNode& one) {
    const std::string name = one.many ? one.value + "..." : one.value;
    return one.required ? name : "[" + name + "]";
}

std::string usage_of(const CommandNode& node) {
    std::string usage = node.path;
    for (const OptionNode& one : node.positionals) usage += " " + shown_positional(one);
    return usage + " [OPTIONS]";
}

bool is_shared(const OptionNode& option) { return option.group != "Options"; }

std::string shown_option(const OptionNode& one) {
    const std::string brief = one.short_name ? fmt::format("-{}, ", one.short_name) : "";
    return fmt::format("{}--{}{}{}", brief, one.long_name, one.value.empty() ? "" : " ", one.value);
}

void append_row(std::string& page, const OptionNode& one) {
    page += fmt::format("| `{}` | {} |\n", shown_option(one), cell(one.description));
}

/// What is taken of the options that are described once, in one line.
std::string shared_options(const CommandNode& node) {
    std::string line;
    for (const OptionNode& one : node.options) {
        if (!is_shared(one) || one.long_name == "help") continue;
        std::string name = one.short_name ? fmt::format("-{}, --{}", one.short_name, one.long_name)
                                          : "--" + one.long_name;
        if (one.value == "FORM") name += fmt::format(" {}", fmt::join(one.choices, "|"));
        line += fmt::format("{}`{}`", line.empty() ? "" : ", ", name);
    }
    return line;
}

void append_command(std::string& page, const CommandNode& node) {
    if (node.commands.empty()) {
        page += fmt::format("## {}\n\n{}.\n\n```\n{}\n```\n\n", node.path, node.description,
                            usage_of(node));
        std::string rows;
        for (const OptionNode& one : node.positionals)
            rows += fmt::format("| `{}` | {} |\n", shown_positional(one), cell(one.description));
        for (const OptionNode& one : node.options) {
            if (one.long_name != "help" && !is_shared(one)) append_row(rows, one);
        }
        if (!rows.empty()) page += "| argument | meaning |\n|---|---|\n" + rows + "\n";
        if (const std::string shared = shared_options(node); !shared.empty())
            page += fmt::format("[Shared options](#shared-options): {}\n\n", shared);
        if (node.examples.starts_with("Examples:\n"))
            page += fmt::format("```sh\n{}\n```\n\n", node.examples.substr(10));
    }
    for (const CommandNode& command : node.commands) append_command(page, command);
}

/// Every option that more than one command takes alike, once; of each the longest description.
void collect_shared(const CommandNode& node, std::map<std::string, OptionNode>& all) {
    for (const OptionNode& one : node.options) {
        if (!is_shared(one) || one.long_name == "help") continue;
        OptionNode& known = all[one.group + "/" + one.long_name];
        if (one.description.size() > known.description.size()) known = one;
    }
    for (const CommandNode& command : node.commands) collect_shared(command, all);
}

void append_shared(std::string& page, const CommandNode& root) {
    std::map<std::string, OptionNode> all;
    collect_shared(root, all);
    page +=
        "## Shared options\n\nThese mean the same wherever they are taken, and may stand before "
        "the "
        "command; each command names those that it takes.\n\n";
    std::string group;
    for (const auto& [_, one] : all) {
        if (one.group != group)
            page += fmt::format("{}### {}\n\n| option | meaning |\n|---|---|\n",
                                group.empty() ? "" : "\n", one.group);
        group = one.group;
        append_row(page, one);
    }
    page +=
        "\n`-o jsonpath=` takes kubectl's common forms: `{.tools[*].name}`, `{.tools[0]}`, "
        "`{.tools[-1:]}`, `{..name}`, `{['a name']}`,\n`{.tools[?(@.calls>3)].name}` with `==`, "
        "`!=`, `<`, `<=`, `>`, `>=`, `{range .tools[*]}{.name}{\"\\n\"}{end}`, and text "
        "between braces. It reads\nwhat `-o json` prints; what is not there is nothing.\n\n"
        "Which gateway is asked: `--socket`, `--url` or `--config`, `--context`, `CRAB_URL`, "
        "`CRAB_SOCKET`, `CRAB_CONTEXT`, the context in use\n(`crab context use`), the gateway of "
        "this machine. Commands without `--url` ask the admin socket, which no URL reaches; a\n"
        "context may name a socket that `ssh -L` forwards.\n\n"
        "What cannot be undone (`devices revoke`, `tokens revoke`, `peers revoke`, `leases "
        "revoke`, `artifacts delete`, `sessions delete`,\n`mcp remove`) is asked about on a "
        "terminal; `--yes` says it. Where standard input or standard error is no terminal\nnobody "
        "could answer: it is done, so that scripts run as they always have. `sessions delete` "
        "alone has always\nneeded `--yes` there.\n\n";
}

std::string markdown() {
    std::string page =
        "# Command line\n\n<!-- Made by: crab help --markdown > docs/reference/cli.md -->\n\n"
        "Results go to standard output, everything else to standard error. Tables and colour are "
        "for terminals (`NO_COLOR` turns\n"
        "colour off); `-o json` prints JSON, and `-o yaml`, `wide`, `name` and `jsonpath=` other "
        "forms.\n\n"
        "## Exit codes\n\n| code | meaning |\n|---|---|\n";
    for (const ExitCodeText& one : exit_code_texts())
        page += fmt::format("| {} | {} |\n", static_cast<int>(one.code), one.meaning);
    page += '\n';
    append_shared(page, command_tree());
    append_command(page, command_tree());
    while (page.ends_with("\n\n")) page.pop_back();
    return page;
}

}  // namespace

int run(const Help& options) {
    if (!options.man.empty()) return write_man_pages(options.man);
    if (options.markdown) return print(markdown()), kExitOk;
    if (options.topic == std::vector<std::string>{"exit-codes"})
        return print(exit_codes_page()), kExitOk;
    const ParserOutput help = help_of(options.topic);
    std::fputs(help.text.c_str(), help.exit_code == kExitOk ? stdout : stderr);
    return help.exit_code;
}

}  // namespace crab::cli
