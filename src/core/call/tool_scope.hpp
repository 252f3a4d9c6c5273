#pragma once

#include "base/glob.hpp"
#include "core/call/tool.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace crab::core {

/// Whether one of the globs is a name of the tool, which has a plain and a qualified one.
inline bool names_tool(const std::vector<Glob>& globs, const Tool& tool) {
    return std::ranges::any_of(globs, [&](const Glob& glob) {
        return glob.matches(tool.spec.name) || glob.matches(tool.unique_name);
    });
}

/// Narrows a view to some tools, whatever its principal may call beside them: globs over names.
/// Deny wins; without an allow list everything is held that is not denied. Immutable.
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
