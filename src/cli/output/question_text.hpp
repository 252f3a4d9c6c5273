#pragma once

#include "json/value.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::cli {

/// What an agent asks, in lines for a terminal: the question, its options with numbers. `request`
/// is the frame `ask_user_request` of docs/protocols/clawseed.md, section 6; its words are a
/// model's.
std::vector<std::string> question_lines(const json::Value& request);
/// How it may be answered, for the line on which that is typed.
std::string_view question_choices(const json::Value& request);
/// The frame `ask_user_response` that a typed line makes: an empty one declines. Nothing for a line
/// that is no answer to this question.
std::optional<json::Value> parse_question_answer(const json::Value& request, std::string_view line);
/// The frame for a question that is not answered: `status` is `declined` or `cancelled`.
json::Value question_response(const json::Value& request, std::string_view status);

}  // namespace crab::cli
