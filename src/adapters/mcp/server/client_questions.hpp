#pragma once

#include "adapters/mcp/wire/capabilities.hpp"
#include "adapters/mcp/wire/revision.hpp"
#include "base/result.hpp"
#include "core/call/inquirer.hpp"
#include "json/schema/schema.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

/// Questions of running calls in the form that a client's revision has, and what it may answer.
/// Source: docs/protocols/mcp.md, sections 4.8 and 5.
namespace crab::mcp {

/// What a client of this revision with these capabilities can be asked for.
core::Inquirer::Answers answers_of(const ClientCapabilities& capabilities, Revision revision);
bool can_answer(const core::Inquirer::Answers& answers, core::Question::Kind kind);
bool can_answer_any(const core::Inquirer::Answers& answers);

/// The params of a question for this revision; `elicitation_id` is for the revision that has one.
/// Errors: kInvalidArgs when the revision cannot say it, or a form's schema is too large.
Result<std::string> params_for(const core::Question& question, Revision revision,
                               bool client_has_tools, std::string_view elicitation_id);
/// What is an answer to a question. Its schema is compiled once, when the first form is accepted.
class AnswerCheck {
public:
    static constexpr std::size_t kMostSchemaBytes = std::size_t{64} << 10;

    /// `params`: what the client was asked with; read when a form is accepted.
    AnswerCheck(core::Question::Kind kind, std::string params)
        : kind_(kind), params_(std::move(params)) {}
    const std::string& params() const { return params_; }
    /// Whether `result` has the shape that its method's results have, and an accepted form holds
    /// what its schema asks for.
    bool fits(std::string_view result);

private:
    bool fits_schema(std::string_view content);
    bool fits_elicitation(std::string_view result);

    core::Question::Kind kind_;
    std::string params_;
    std::shared_ptr<const json::Schema> schema_;
    bool compiled_ = false;
};
/// What stands for the answer of a client that has not given one in time. Errors: kTimeout for
/// questions that cannot be declined.
Result<std::string> answer_of_silence(core::Question::Kind kind);

}  // namespace crab::mcp
