#pragma once

#include "adapters/mcp/wire/capabilities.hpp"
#include "base/result.hpp"
#include "base/task/task.hpp"
#include "core/call/inquirer.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Rounds of questions in results (MRTR): docs/protocols/mcp.md, section 4.8, "As client".
namespace crab::mcp {

inline constexpr int kMostRounds = 10;
inline constexpr std::size_t kMostInputRequests = 32;

/// What goes with the next request; empty members are not sent.
struct QuestionRound {
    std::string input_responses;  ///< an object
    std::string request_state;    ///< JSON, byte for byte as it came
};

/// Keys and questions of an `inputRequests` object; of those whose keys are in `without` none.
/// Errors: kToolFailed for more than 32, what is no question, and what nobody declared to answer.
using KeyedQuestions = std::vector<std::pair<std::string, core::Question>>;
struct QuestionRules {
    std::string_view source;
    core::Inquirer::Answers answers;
    Ask ask;
};
Result<KeyedQuestions> read_questions(std::string_view input_requests, const QuestionRules& rules,
                                      const std::vector<std::string>& without = {});

/// Asks all of them at once: an `inputResponses` object. Errors: kCancelled; kToolFailed when one
/// has no answer that can be said.
Task<Result<std::string>> ask_all(core::Inquirer& inquirer, KeyedQuestions questions);

}  // namespace crab::mcp
