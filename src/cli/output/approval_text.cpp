#include "cli/output/approval_text.hpp"

#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"

#include <cctype>

#include <fmt/format.h>

namespace crab::cli {

std::string approval_text(const json::Value& question) {
    std::string text = text_of(question, "tool");
    if (const std::string principal = text_of(question, "principal"); !principal.empty())
        text = principal + " calls " + text;
    text += " " + text_of(question, "args");
    const std::string place = text_of(question, "worktree"), rule = text_of(question, "rule");
    if (!place.empty()) text += " in " + place;
    text += rule.empty() ? fmt::format(" ({}, {})", text_of(question, "privilege_level"),
                                       text_of(question, "network_policy"))
                         : fmt::format(" ({})", rule);
    return printable(text);
}

std::optional<ApprovalAnswer> parse_approval_answer(std::string_view line) {
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.front())) != 0)
        line.remove_prefix(1);
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0)
        line.remove_suffix(1);
    std::string word;
    for (const char c : line)
        word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto is = [&](std::string_view whole) {
        return word == whole || word == whole.substr(0, 1);
    };
    if (is("once")) return ApprovalAnswer{"allow", "once"};
    if (is("session")) return ApprovalAnswer{"allow", "session"};
    if (is("always")) return ApprovalAnswer{"allow", "always"};
    if (is("deny") || is("no")) return ApprovalAnswer{"deny", "once"};
    return std::nullopt;
}

}  // namespace crab::cli
