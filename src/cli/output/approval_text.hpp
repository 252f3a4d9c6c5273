#pragma once

#include "json/value.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace crab::cli {

/// What is asked, in the words of one line: who, which tool, with what, how far. `question` as the
/// admin API or a chat frame tells it.
std::string approval_text(const json::Value& question);

/// What a person answered at a terminal.
struct ApprovalAnswer {
    std::string_view decision;   ///< `allow`, `deny`
    std::string_view scope;      ///< `once`, `session`, `always`
};
inline constexpr std::string_view kApprovalChoices =
    "allow [o]nce, for this [s]ession, [a]lways, or [d]eny?";
/// The first letter or the word, in any case; nothing for what is none of the choices.
std::optional<ApprovalAnswer> parse_approval_answer(std::string_view line);

}  // namespace crab::cli
