#pragma once

#include "base/glob.hpp"
#include "core/call/tool.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace crab::core {

/// Whether one of the globs matches the tool's plain or qualified name.
inline bool names_tool(const std::vector<Glob>& globs, const Tool& tool) {
    return std::ranges::any_of(globs, [&](const Glob& glob) {
        return glob.matches(tool.spec.name) || glob.matches(tool.unique_name);
    });
}

/// Restricts a view to some tools by globs over names. Deny wins; without an allow list everything
/// that is not denied is included. Immutable.
class ToolScope {
public:
    ToolScope() = default;
    ToolScope(std::vector<Glob> allow, std::vector<Glob> deny)
        : allow_(std::move(allow)), deny_(std::move(deny)) {}

    bool holds(const Tool& tool) const {
        return (allow_.empty() || names_tool(allow_, tool)) && !names_tool(deny_, tool);
    }

private:
    std::vector<Glob> allow_, deny_;
};

}  // namespace crab::core
