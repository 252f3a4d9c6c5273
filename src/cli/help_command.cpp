#include "cli/command_line.hpp"
#include "cli/command_tree.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/terminal.hpp"

#include <fmt/format.h>

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

void append_command(std::string& page, const CommandNode& node) {
    if (node.commands.empty()) {
        page += fmt::format("## {}\n\n{}.\n\n```\n{}", node.path, node.description, node.path);
        for (const OptionNode& one : node.positionals) page += " " + one.value;
        page += " [OPTIONS]\n```\n\n";
        page += "| argument | meaning |\n|---|---|\n";
        for (const OptionNode& one : node.positionals)
            page += fmt::format("| `{}` | {} |\n", one.value, cell(one.description));
        for (const OptionNode& one : node.options) {
            if (one.long_name == "help") continue;
            const std::string brief = one.short_name ? fmt::format("-{}, ", one.short_name) : "";
            page += fmt::format("| `{}--{}{}{}` | {} |\n", brief, one.long_name,
                                one.value.empty() ? "" : " ", one.value, cell(one.description));
        }
        page += '\n';
        if (node.examples.starts_with("Examples:\n"))
            page += fmt::format("```sh\n{}\n```\n\n", node.examples.substr(10));
    }
    for (const CommandNode& command : node.commands) append_command(page, command);
}

std::string markdown() {
    std::string page =
        "# Command line\n\n<!-- Made by: crab help --markdown > docs/reference/cli.md -->\n\n"
        "Results go to standard output, everything else to standard error. Tables and colour are "
        "for terminals (`NO_COLOR` turns\n"
        "colour off); `-o json` prints JSON. The gateway is found by `--socket`, `CRAB_SOCKET`, "
        "the configuration, the default path.\n\n"
        "## Exit codes\n\n| code | meaning |\n|---|---|\n";
    for (const ExitCodeText& one : exit_code_texts())
        page += fmt::format("| {} | {} |\n", static_cast<int>(one.code), one.meaning);
    page += '\n';
    append_command(page, command_tree());
    while (page.ends_with("\n\n")) page.pop_back();
    return page;
}

}  // namespace

int run(const Help& options) {
    if (options.markdown) return print(markdown()), kExitOk;
    if (options.topic == std::vector<std::string>{"exit-codes"})
        return print(exit_codes_page()), kExitOk;
    const ParserOutput help = help_of(options.topic);
    std::fputs(help.text.c_str(), help.exit_code == kExitOk ? stdout : stderr);
    return help.exit_code;
}

}  // namespace crab::cli
