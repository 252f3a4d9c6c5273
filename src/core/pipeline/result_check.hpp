#pragma once

#include "base/id_source.hpp"
#include "core/call/tool.hpp"
#include "core/call/tool_result.hpp"
#include "core/pipeline/call_services.hpp"
#include "json/parser.hpp"

namespace crab::core {

/// Whether a result is what its tool promises: its size, and its form by the output schema. Used on
/// one loop.
class ResultCheck {
public:
    explicit ResultCheck(IdSource& ids) : ids_(ids) {}

    /// The outcome as callers get it. Errors besides its own: kOversize; kInternal for what breaks
    /// the tool's own schema.
    Outcome check(const Tool& tool, Outcome outcome, const CallRules& rules);
    /// Gives back what a large result took.
    void shrink() { parser_.shrink(); }

private:
    Result<void> check_form(const Tool& tool, const ToolResult& result);
    void add_operation_id(const Tool& tool, ToolResult& result);

    IdSource& ids_;
    json::Parser parser_;
};

}  // namespace crab::core
