#pragma once

#include "json/value.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::cli {

/// An agent's question as lines for a terminal, with numbered options. `request` is the frame
/// `ask_user_request` of docs/protocols/clawseed.md, section 6; its text is a model's and
/// untrusted.
std::vector<std::string> question_lines(const json::Value& request);
/// The prompt that lists the possible answers.
std::string_view question_choices(const json::Value& request);
/// The frame `ask_user_response` that a typed line makes: an empty one declines. Nothing for a line
/// that is no answer to this question.
std::optional<json::Value> parse_question_answer(const json::Value& request, std::string_view line);
/// The frame that leaves a question unanswered: `status` is `declined` or `cancelled`.
json::Value question_response(const json::Value& request, std::string_view status);

}  // namespace crab::cli
