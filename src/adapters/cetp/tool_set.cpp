#include "adapters/cetp/tool_set.hpp"

#include "adapters/cetp/names.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::cetp {

std::shared_ptr<const ToolSet> ToolSet::build(std::vector<ListedProvider> providers,
                                              LabelTable& labels) {
    auto set = std::make_shared<ToolSet>();
    std::ranges::sort(providers, {}, &ListedProvider::id);
    for (const ListedProvider& provider : providers) {
        const std::string& label = labels.label_for(provider.id, provider.suggested);
        const std::size_t room = kMaxToolsOfBridge - set->routes_.size();
        const std::size_t taken = std::min({room, kMaxToolsOfProvider, provider.tools.size()});
        for (const DeclaredTool& tool : std::span(provider.tools).first(taken))
            set->add(provider, label, tool);
        if (taken < provider.tools.size()) {
            set->diagnostics_.push_back(
                fmt::format("{}: {} of its tools are left out: there are too many", provider.id,
                            provider.tools.size() - taken));
        }
    }
    return set;
}

void ToolSet::add(const ListedProvider& provider, const std::string& label,
                  const DeclaredTool& tool) {
    std::string name = plain_name(label, tool.name);
    if (name.size() > kMaxRegisteredName || routes_.contains(name))
        name = hashed_name(name, provider.id, tool.name);
    Route route{
        .name = name,
        .provider_id = provider.id,
        .tool = tool.name,
        .description =
            tool.description.empty()
                ? fmt::format("A tool of {}", provider.name.empty() ? provider.id : provider.name)
                : tool.description,
        .parameters = tool.parameters};
    if (!routes_.emplace(name, std::move(route)).second) {
        diagnostics_.push_back(
            fmt::format("{}: the name {} is taken, its tool is left out", provider.id, name));
    }
}

const Route* ToolSet::find(std::string_view name) const {
    const auto found = routes_.find(name);
    return found != routes_.end() ? &found->second : nullptr;
}

}  // namespace crab::cetp
