#pragma once

#include "base/id_source.hpp"
#include "core/call/tool.hpp"
#include "core/call/tool_result.hpp"
#include "core/pipeline/call_services.hpp"
#include "json/parser.hpp"

namespace crab::core {

/// Checks a result's size and output schema. Used on one loop.
class ResultCheck {
public:
    explicit ResultCheck(IdSource& ids) : ids_(ids) {}

    /// The outcome for callers. Errors besides its own: kOversize; kInternal for a violation of the
    /// tool's schema. A failure without a word gets a sentence.
    OutcomeRef check(const Tool& tool, Outcome&& outcome, const CallRules& rules);
    /// Releases memory of large results.
    void shrink() { parser_.shrink(); }

private:
    Result<void> check_result(const Tool& tool, ToolResult& result, const CallRules& rules);
    Result<void> check_form(const Tool& tool, const ToolResult& result);
    void add_operation_id(const Tool& tool, ToolResult& result);

    IdSource& ids_;
    json::Parser parser_;
};

}  // namespace crab::core
