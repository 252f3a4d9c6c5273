#include "cli/output/question_text.hpp"

#include "base/ascii.hpp"
#include "base/whole_number.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"
#include "json/unicode.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::cli {
namespace {

constexpr std::size_t kMostAnswer = 1'000;   // characters, as the protocol has it

/// The option that a word means: its number, or its label or id as it stands there.
const json::Value* find_option(const json::Value::Items& options, std::string_view word) {
    if (const auto number = parse_whole_number<std::size_t>(word))
        return *number >= 1 && *number <= options.size() ? &options[*number - 1] : nullptr;
    const auto found = std::ranges::find_if(options, [&](const json::Value& option) {
        return word == text_of(option, "label") || word == text_of(option, "id");
    });
    return found == options.end() ? nullptr : &*found;
}

/// The ids of the options with these numbers, each once; `0` alone is none of them. Nothing when a
/// word means no option.
std::optional<json::Value> selected(const json::Value::Items& options, std::string_view line) {
    json::Value ids = json::Value::array();
    if (line == "0") return ids;
    while (!line.empty()) {
        const std::size_t end = std::min(line.find_first_of(" ,\t"), line.size());
        if (const std::string_view word = line.substr(0, end); !word.empty()) {
            const json::Value* const option = find_option(options, word);
            if (option == nullptr) return std::nullopt;
            const json::Value id(text_of(*option, "id"));
            if (std::ranges::find(*ids.as_array(), id) == ids.as_array()->end()) ids.push_back(id);
        }
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    return ids;
}

std::optional<json::Value> answer_of(const json::Value& request, std::string_view line) {
    const std::string kind = text_of(request, "kind");
    const json::Value::Items& options = items_of(request, "options");
    if (kind == "confirm")
        return line == "y" || line == "Y" || line == "yes" ? std::optional(json::Value(true))
                                                           : std::nullopt;
    if (kind == "multi_select") return selected(options, line);
    if (kind == "single_select") {
        const json::Value* const option = find_option(options, line);
        return option == nullptr ? std::nullopt
                                 : std::optional(json::Value(text_of(*option, "id")));
    }
    return json::count_code_points(line) <= kMostAnswer ? std::optional(json::Value(line))
                                                        : std::nullopt;
}

}  // namespace

std::vector<std::string> question_lines(const json::Value& request) {
    const std::string hint = text_of(request, "placeholder");
    std::vector<std::string> lines{
        printable(fmt::format("? the agent asks: {}{}", text_of(request, "question"),
                              hint.empty() ? "" : fmt::format(" ({})", hint)))};
    std::size_t number = 0;
    for (const json::Value& option : items_of(request, "options")) {
        const std::string more = text_of(option, "description");
        lines.push_back(printable(fmt::format("  {}  {}{}", ++number, text_of(option, "label"),
                                              more.empty() ? "" : ": " + more)));
    }
    return lines;
}

std::string_view question_choices(const json::Value& request) {
    const std::string kind = text_of(request, "kind");
    if (kind == "confirm") return "[y]es or [n]o?";
    if (kind == "single_select") return "its number (an empty line declines):";
    if (kind == "multi_select") return "their numbers, 0 for none (an empty line declines):";
    return "your answer (an empty line declines):";
}

std::optional<json::Value> parse_question_answer(const json::Value& request,
                                                 std::string_view line) {
    line = trim(line, kWhiteSpace);
    const bool refused =
        text_of(request, "kind") == "confirm" && (line == "n" || line == "N" || line == "no");
    if (line.empty() || refused) return question_response(request, "declined");
    auto answer = answer_of(request, line);
    if (!answer) return std::nullopt;
    json::Value response = question_response(request, "accepted");
    response.set("answer", std::move(*answer));
    return response;
}

json::Value question_response(const json::Value& request, std::string_view status) {
    json::Value response = json::Value::object({{"type", "ask_user_response"}});
    for (const std::string_view id : {"request_id", "turn_id", "tool_call_id"})
        response.set(id, text_of(request, id));
    response.set("status", status);
    return response;
}

}  // namespace crab::cli
