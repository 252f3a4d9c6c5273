#include "core/registry/ambiguous_names.hpp"

#include "base/log.hpp"
#include "core/policy/policy.hpp"

#include <algorithm>

namespace crab::core {

std::vector<AmbiguousName> ambiguous_names(const RegistrySnapshot& registry,
                                           std::span<const ToolRef> tools) {
    static const auto policy = Policy::make({}).value();
    Principal everybody;
    everybody.roles = {Role::kOperator};
    std::vector<AmbiguousName> ambiguous;
    for (const ToolRef& tool : tools) {
        if (!tool->has_plain_name()) continue;
        const View view{
            .principal = &everybody, .policy = policy.get(), .tenant = tool->tenant.text()};
        const auto found = registry.resolve(view, tool->spec.name);
        if (!found && found.error().code == ErrorCode::kAmbiguousTool)
            ambiguous.push_back({tool->spec.name, found.error().message});
    }
    return ambiguous;
}

void log_ambiguous_names(const RegistrySnapshot& registry, std::span<const ToolRef> tools,
                         std::string_view by, std::vector<std::string>& told) {
    for (AmbiguousName& one : ambiguous_names(registry, tools)) {
        if (std::ranges::find(told, one.name) != told.end()) continue;
        log::warn("a plain name is ambiguous now",
                  {{"tool", one.name}, {"registered_by", by}, {"callers_read", one.error}});
        told.push_back(std::move(one.name));
    }
}

}  // namespace crab::core
