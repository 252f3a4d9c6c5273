#include "core/approvals/asked_question.hpp"

#include "json/unicode.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

namespace crab::core {
namespace {

using json::Element;

constexpr std::size_t kMostQuestion = 500, kMostAnswer = 1'000, kMostOptions = 20, kMostId = 80,
                      kMostLabel = 120, kMostDescription = 240;
constexpr std::array kKinds{AskedQuestion::Kind::kConfirm, AskedQuestion::Kind::kSingleSelect,
                            AskedQuestion::Kind::kMultiSelect, AskedQuestion::Kind::kText};

std::unexpected<Error> refuse(std::string why) {
    return fail(ErrorCode::kInvalidArgs, std::move(why));
}
bool fits(std::string_view text, std::size_t least, std::size_t most) {
    const std::size_t characters = json::count_code_points(text);
    return characters >= least && characters <= most;
}
bool is_selection(AskedQuestion::Kind kind) {
    return kind == AskedQuestion::Kind::kSingleSelect || kind == AskedQuestion::Kind::kMultiSelect;
}

Result<AskedQuestion::Option> read_option(Element item, std::size_t place) {
    AskedQuestion::Option option{
        .id = std::string(json::get_string(item, "id").value_or("")),
        .label = std::string(json::get_string(item, "label").value_or("")),
        .description = std::string(json::get_string(item, "description").value_or(""))};
    if (!fits(option.id, 1, kMostId) || !fits(option.label, 1, kMostLabel) ||
        !fits(option.description, 0, kMostDescription)) {
        return refuse(
            fmt::format("/options/{}: needs id (1 to {} characters) and label (1 to {}), and "
                        "perhaps description (up to {})",
                        place, kMostId, kMostLabel, kMostDescription));
    }
    return option;
}

bool is_option(const AskedQuestion& question, std::string_view id) {
    return std::ranges::any_of(question.options,
                               [&](const auto& option) { return option.id == id; });
}

/// Why this is no answer to the question; nothing when it is one.
std::optional<std::string> fault_of(const AskedQuestion& question, Element answer) {
    std::string_view text;
    const bool is_text = answer.get(text) == simdjson::SUCCESS;
    switch (question.kind) {
        case AskedQuestion::Kind::kConfirm: {
            bool yes = false;
            if (answer.get(yes) != simdjson::SUCCESS || !yes)
                return "an accepted confirmation answers true";
            return std::nullopt;
        }
        case AskedQuestion::Kind::kText:
            if (!is_text || !fits(text, 0, kMostAnswer))
                return fmt::format("the answer is a string of up to {} characters", kMostAnswer);
            return std::nullopt;
        case AskedQuestion::Kind::kSingleSelect:
            if (!is_text || !is_option(question, text))
                return "the answer is the id of one of the options";
            return std::nullopt;
        case AskedQuestion::Kind::kMultiSelect: {
            json::Array list;
            if (answer.get(list) != simdjson::SUCCESS)
                return "the answer is a list of ids of options";
            std::vector<std::string_view> seen;
            for (const Element item : list) {
                std::string_view id;
                if (item.get(id) != simdjson::SUCCESS || !is_option(question, id) ||
                    std::ranges::find(seen, id) != seen.end())
                    return "the answer holds ids of the options, each once";
                seen.push_back(id);
            }
            return std::nullopt;
        }
    }
    return std::nullopt;
}

}  // namespace

const std::string_view kAskUserSchema =
    R"({"type":"object","properties":{"type":{"type":"string","enum":["confirm","single_select",)"
    R"("multi_select","text"],"description":"What kind of answer is wanted"},)"
    R"("question":{"type":"string","description":"At most 500 characters"},)"
    R"("options":{"type":"array","description":"For selections: 1 to 20","items":{"type":"object",)"
    R"("properties":)"
    R"({"id":{"type":"string"},"label":{"type":"string"},"description":{"type":"string"}},)"
    R"("required":["id","label"]}},"placeholder":{"type":"string"}},"required":["type",)"
    R"("question"]})";

std::string_view name_of(AskedQuestion::Kind kind) {
    switch (kind) {
        case AskedQuestion::Kind::kConfirm: return "confirm";
        case AskedQuestion::Kind::kSingleSelect: return "single_select";
        case AskedQuestion::Kind::kMultiSelect: return "multi_select";
        case AskedQuestion::Kind::kText: return "text";
    }
    return "";
}

Result<AskedQuestion> read_question(Element args) {
    AskedQuestion question;
    const std::string_view type = json::get_string(args, "type").value_or("");
    const auto kind =
        std::ranges::find(kKinds, type, [](AskedQuestion::Kind each) { return name_of(each); });
    if (kind == kKinds.end())
        return refuse("/type: one of confirm, single_select, multi_select, text");
    question.kind = *kind;
    question.question = json::get_string(args, "question").value_or("");
    question.placeholder = json::get_string(args, "placeholder").value_or("");
    if (!fits(question.question, 1, kMostQuestion))
        return refuse(fmt::format("/question: required, 1 to {} characters", kMostQuestion));
    if (!fits(question.placeholder, 0, kMostLabel))
        return refuse(fmt::format("/placeholder: at most {} characters", kMostLabel));
    if (const auto list = json::get_array(args, "options")) {
        for (const Element item : *list) {
            auto option = read_option(item, question.options.size());
            if (!option) return fail(std::move(option.error()));
            if (is_option(question, option->id))
                return refuse(
                    fmt::format("/options/{}/id: is there twice", question.options.size()));
            if (question.options.size() == kMostOptions)
                return refuse(fmt::format("/options: at most {}", kMostOptions));
            question.options.push_back(std::move(*option));
        }
    }
    if (is_selection(question.kind) == question.options.empty())
        return refuse("/options: selections have some, other questions none");
    return question;
}

Result<std::string> read_response(const AskedQuestion& question, Element response) {
    const std::string_view status = json::get_string(response, "status").value_or("");
    const auto answer = json::get(response, "answer");
    const bool answered = answer && !answer->is_null();
    if (status == "declined" || status == "cancelled" || status == "expired") {
        if (answered) return refuse("only an accepted response has an answer");
        return fmt::format(R"({{"status":"{}"}})", status);
    }
    if (status != "accepted")
        return refuse("status is one of accepted, declined, cancelled, expired");
    if (!answered) return refuse("an accepted response has an answer");
    if (auto fault = fault_of(question, *answer)) return refuse(std::move(*fault));
    return fmt::format(R"({{"status":"accepted","answer":{}}})", json::to_text(*answer));
}

}  // namespace crab::core
