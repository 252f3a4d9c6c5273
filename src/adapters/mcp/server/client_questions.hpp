#pragma once

#include "adapters/mcp/wire/capabilities.hpp"
#include "adapters/mcp/wire/revision.hpp"
#include "base/result.hpp"
#include "core/call/inquirer.hpp"

#include <string>
#include <string_view>

/// Questions of running calls in the form that a client's revision has, and what it may answer.
/// Source: docs/protocols/mcp.md, sections 4.8 and 5.
namespace crab::mcp {

/// What a client of this revision with these capabilities can be asked for.
core::Inquirer::Answers answers_of(const ClientCapabilities& capabilities, Revision revision);
bool can_answer(const core::Inquirer::Answers& answers, core::Question::Kind kind);
bool can_answer_any(const core::Inquirer::Answers& answers);

/// The params of a question for this revision; `elicitation_id` is for the revision that has one.
/// Errors: kInvalidArgs when the revision cannot say it.
Result<std::string> params_for(const core::Question& question, Revision revision,
                               bool client_has_tools, std::string_view elicitation_id);
/// Whether `result` is an answer to this question: it has the shape that its method's results have,
/// and an accepted form holds what its schema asks for.
bool is_answer(core::Question::Kind kind, std::string_view params, std::string_view result);
/// What stands for the answer of a client that has not given one in time. Errors: kTimeout for
/// questions that cannot be declined.
Result<std::string> answer_of_silence(core::Question::Kind kind);

}  // namespace crab::mcp
