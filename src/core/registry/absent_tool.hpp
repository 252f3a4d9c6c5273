#pragma once

#include "core/call/tool.hpp"

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace crab::core {

/// Known properties of an absent tool.
struct AbsentClaims {
    bool side_effects = false, idempotent = false;
};

/// A placeholder for an unregistered tool, made from its names and source: rules and hooks can
/// evaluate it, but it cannot run.
std::shared_ptr<Tool> absent_tool(const ToolSource& source, std::string_view plain_name,
                                  AbsentClaims claims);
/// The same from a ledger entry's `Tool::unique_name` and `Tool::source_text`. Nothing when they
/// are invalid.
std::shared_ptr<Tool> absent_tool(std::string_view unique_name, std::string_view source_text,
                                  AbsentClaims claims);

/// Knows tools of sources that are away, beside those that are announced. Any thread.
class AbsentTools {
public:
    virtual ~AbsentTools() = default;
    /// Placeholders for those that `name`, of `provider` if not empty, may refer to; a few at most.
    virtual std::vector<std::shared_ptr<const Tool>> meant_by(std::string_view name,
                                                              std::string_view provider) const = 0;
};

/// Whether `name`, of `provider` if not empty, may refer to this tool.
bool may_mean(std::string_view name, std::string_view provider, const Tool& tool);

}  // namespace crab::core
