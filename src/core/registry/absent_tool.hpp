#pragma once

#include "core/call/tool.hpp"

#include <memory>
#include <optional>
#include <string_view>

namespace crab::core {

/// What is known of an absent tool other than its name.
struct AbsentClaims {
    bool side_effects = false, idempotent = false;
};

/// A tool that is not there, as far as names and source tell: rules and hooks can judge it, nobody
/// can run it.
std::shared_ptr<Tool> absent_tool(const ToolSource& source, std::string_view plain_name,
                                  AbsentClaims claims);
/// The same from what a ledger keeps, `Tool::unique_name` and `Tool::source_text`. Nothing when
/// that is not a tool's.
std::shared_ptr<Tool> absent_tool(std::string_view unique_name, std::string_view source_text,
                                  AbsentClaims claims);

/// Whether a caller who says `name`, of `provider` if that is not empty, may mean this tool.
bool may_mean(std::string_view name, std::string_view provider, const Tool& tool);

}  // namespace crab::core
