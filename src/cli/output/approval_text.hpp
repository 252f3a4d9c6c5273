#pragma once

#include "json/value.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace crab::cli {

/// An approval request in one line: who, which tool, which arguments, which policy. `question` is
/// the object of the admin API or a chat frame.
std::string approval_text(const json::Value& question);

/// A person's answer at a terminal.
struct ApprovalAnswer {
    std::string_view decision;   ///< `allow`, `deny`
    std::string_view scope;      ///< `once`, `session`, `always`
};
inline constexpr std::string_view kApprovalChoices =
    "allow [o]nce, for this [s]ession, [a]lways, or [d]eny?";
/// The first letter or the word, in any case; nothing for anything else.
std::optional<ApprovalAnswer> parse_approval_answer(std::string_view line);

}  // namespace crab::cli
