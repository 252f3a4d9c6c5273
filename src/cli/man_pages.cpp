#include "cli/man_pages.hpp"

#include "base/clock.hpp"
#include "base/version.hpp"
#include "cli/command_line.hpp"
#include "cli/command_tree.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/report.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

namespace crab::cli {
namespace {

constexpr std::size_t kMostColumns = 70;

/// Text as roff reads it: dashes that can be copied, no requests, one line.
std::string roff(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else if (c == '\n')
            out += ' ';
        else
            out += c;
    }
    if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
    return out;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string slanted(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

std::string page_name(const CommandNode& node) {
    std::string name = node.path;
    std::ranges::replace(name, ' ', '-');
    return name;
}

/// On lines of at most 70 bytes, none of which begins a request.
std::string lines_of(std::string rest) {
    std::string lines;
    while (rest.size() > kMostColumns) {
        std::size_t end = rest.rfind(' ', kMostColumns);
        if (end == std::string::npos || end == 0) end = rest.find(' ', kMostColumns);
        if (end == std::string::npos) break;
        lines += rest.substr(0, end) + "\n";
        rest.erase(0, end + 1);
        if (rest.starts_with('.') || rest.starts_with('\'')) rest.insert(0, "\\&");
    }
    return lines + rest;
}

std::string sentence(std::string_view text) {
    return lines_of(roff(text) + (text.ends_with('.') ? "" : "."));
}

/// Of the sources, as reproducible builds give it; else none.
std::string date_of_sources() {
    const char* const given = std::getenv("SOURCE_DATE_EPOCH");
    std::int64_t seconds = 0;
    if (given == nullptr ||
        std::from_chars(given, given + std::strlen(given), seconds).ec != std::errc())
        return {};
    return to_rfc3339(SystemTime(std::chrono::seconds(seconds))).substr(0, 10);
}

std::string positional_in_man(const OptionNode& one) {
    const std::string name = slanted(one.value) + (one.many ? "..." : "");
    return one.required ? name : "[" + name + "]";
}

void append_option(std::string& page, const OptionNode& one) {
    page += ".TP\n";
    if (one.short_name) page += bold(fmt::format("-{}", one.short_name)) + ", ";
    page += bold("--" + one.long_name);
    if (!one.value.empty()) page += " " + slanted(one.value);
    page += "\n" + sentence(one.description) + "\n";
}

/// The options of each group under a heading of its own, in the order of the help.
void append_options(std::string& page, const CommandNode& node) {
    std::vector<std::string> groups;
    for (const OptionNode& one : node.options) {
        if (std::ranges::find(groups, one.group) == groups.end()) groups.push_back(one.group);
    }
    for (const std::string& group : groups) {
        std::string title = group;
        for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        page += ".SH " + title + "\n";
        for (const OptionNode& one : node.options) {
            if (one.group == group && !one.long_name.empty()) append_option(page, one);
        }
    }
}

void append_examples(std::string& page, const CommandNode& node) {
    constexpr std::string_view kTitle = "Examples:\n";
    const std::size_t at = node.examples.find(kTitle);
    if (at == std::string::npos) return;
    page += ".SH EXAMPLES\n.nf\n";
    std::string_view lines = std::string_view(node.examples).substr(at + kTitle.size());
    while (!lines.empty() && lines.front() != '\n') {
        const std::string_view line = lines.substr(0, lines.find('\n'));
        page += roff(line) + "\n";
        lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    }
    page += ".fi\n";
}

void append_exit_codes(std::string& page) {
    page += ".SH EXIT STATUS\n";
    for (const ExitCodeText& one : exit_code_texts())
        page += fmt::format(".TP\n.B {}\n{}\n", static_cast<int>(one.code), sentence(one.meaning));
}

std::string page_of(const CommandNode& node, const std::string& parent) {
    std::string title = page_name(node);
    for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    std::string page = fmt::format(
        ".TH {} 1 \"{}\" \"crab {}\" \"crab\"\n.SH NAME\n{}\n.SH SYNOPSIS\n{}", title,
        date_of_sources(), version(),
        lines_of(roff(page_name(node)) + " \\- " + roff(node.description)), bold(node.path));
    if (node.commands.empty()) {
        for (const OptionNode& one : node.positionals) page += " " + positional_in_man(one);
        page += " [" + slanted("OPTIONS") + "]\n";
    } else {
        page += " " + slanted("COMMAND") + " [" + slanted("OPTIONS") + "]\n";
    }
    page += ".SH DESCRIPTION\n" + sentence(node.description) + "\n";
    if (!node.positionals.empty()) page += ".SH ARGUMENTS\n";
    for (const OptionNode& one : node.positionals)
        page += ".TP\n" + positional_in_man(one) + "\n" + sentence(one.description) + "\n";
    if (!node.commands.empty()) page += ".SH COMMANDS\n";
    for (const CommandNode& command : node.commands)
        page += fmt::format(".TP\n.BR {} (1)\n{}\n", roff(page_name(command)),
                            sentence(command.description));
    append_options(page, node);
    append_examples(page, node);
    append_exit_codes(page);
    page += ".SH SEE ALSO\n";
    if (!parent.empty()) page += fmt::format(".BR {} (1),\n", roff(parent));
    return page + ".BR crab\\-gateway.yaml (5)\n";
}

Result<void> write_pages(const CommandNode& node, const std::string& parent,
                         const std::filesystem::path& folder) {
    const std::filesystem::path file = folder / (page_name(node) + ".1");
    std::ofstream out(file, std::ios::binary);
    out << page_of(node, parent);
    out.close();
    if (!out) return fail(ErrorCode::kForbidden, fmt::format("cannot write {}", file.string()));
    for (const CommandNode& command : node.commands) {
        if (auto written = write_pages(command, page_name(node), folder); !written) return written;
    }
    return {};
}

}  // namespace

int write_man_pages(const std::filesystem::path& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    const auto written = write_pages(command_tree(), {}, folder);
    return written ? kExitOk : report(written.error());
}

}  // namespace crab::cli
