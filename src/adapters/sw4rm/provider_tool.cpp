#include "adapters/sw4rm/provider_tool.hpp"

#include "core/call/tool_gate.hpp"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

namespace crab::sw4rm {
namespace {

constexpr std::size_t kMostTools = 1'000;
constexpr std::size_t kMostDropped = 100;
constexpr std::size_t kMostNameShown = 128;
// what Rust's descriptors say when nobody says anything
constexpr std::string_view kNoEffects = "none";

std::string schema_of(const json::Value& item, std::string_view member) {
    const json::Value* found = item.find(member);
    return found != nullptr && found->as_object() != nullptr ? found->dump() : std::string();
}

bool flag_of(const json::Value& item, std::string_view member) {
    const json::Value* found = item.find(member);
    const bool* flag = found != nullptr ? found->as_bool() : nullptr;
    return flag != nullptr && *flag;
}

std::uint32_t number_of(const json::Value& item, std::string_view member) {
    const json::Value* found = item.find(member);
    const auto number = found != nullptr ? found->as_int64() : std::nullopt;
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(number.value_or(0), 0, 1'000'000));
}

bool is_url(std::string_view schema) {
    return schema.starts_with("http://") || schema.starts_with("https://");
}

}  // namespace

OfferedTool offered_tool(const ToolDescriptor& descriptor) {
    OfferedTool offered;
    offered.name = descriptor.tool_name;
    offered.input_schema = descriptor.input_schema;
    offered.output_schema = descriptor.output_schema;
    offered.idempotent = descriptor.idempotent;
    offered.needs_worktree = descriptor.needs_worktree;
    offered.default_timeout_s = descriptor.default_timeout_s;
    offered.max_concurrency = descriptor.max_concurrency;
    offered.effects_known = !descriptor.side_effects.empty();
    offered.side_effects = offered.effects_known && descriptor.side_effects != kNoEffects;
    return offered;
}

OfferedTool declared_tool(const json::Value& item) {
    OfferedTool offered;
    offered.name = item.text("name");
    offered.title = item.text("title");
    offered.description = item.text("description");
    offered.input_schema = schema_of(item, "input_schema");
    offered.output_schema = schema_of(item, "output_schema");
    if (const json::Value* types = item.find("accepts");
        types != nullptr && types->as_array() != nullptr) {
        for (const json::Value& type : *types->as_array()) {
            if (type.as_string() != nullptr) offered.accepts.push_back(*type.as_string());
        }
    }
    offered.idempotent = flag_of(item, "idempotent");
    offered.needs_worktree = flag_of(item, "needs_worktree");
    offered.default_timeout_s = number_of(item, "timeout_s");
    offered.max_concurrency = number_of(item, "max_concurrency");
    if (const json::Value* effects = item.find("side_effects");
        effects != nullptr && effects->as_array() != nullptr) {
        offered.side_effects = !effects->as_array()->empty();
        offered.effects_known = true;
    }
    return offered;
}

Result<std::shared_ptr<core::Tool>> make_provider_tool(const OfferedTool& offered,
                                                       const core::PolicyCeilings& ceilings,
                                                       core::SchemaBudget& budget) {
    if (is_url(offered.input_schema) || is_url(offered.output_schema)) {
        return fail(ErrorCode::kInvalidArgs, "a schema is a URL; send the schema itself");
    }
    core::PolicyLimits limits{.defaults = {}, .ceilings = ceilings};
    if (offered.default_timeout_s != 0)
        limits.defaults.timeout = std::chrono::seconds(offered.default_timeout_s);
    limits.defaults.timeout = std::min(limits.defaults.timeout, ceilings.timeout);
    limits.defaults.max_retries = std::min(limits.defaults.max_retries, ceilings.max_retries);
    limits.defaults.needs_worktree = offered.needs_worktree;
    core::ToolSpec spec;
    spec.name = offered.name;
    spec.title = offered.title;
    spec.description = offered.description;
    spec.input_schema = offered.input_schema;
    spec.output_schema = offered.output_schema;
    spec.accepts = offered.accepts;
    spec.default_timeout = limits.defaults.timeout;
    spec.max_timeout = ceilings.timeout;
    if (offered.max_concurrency != 0) spec.max_concurrency = offered.max_concurrency;
    spec.idempotent = offered.idempotent;
    spec.side_effects = offered.side_effects;
    spec.effects_known = offered.effects_known;
    spec.annotations.idempotent = offered.idempotent;
    spec.needs_worktree = offered.needs_worktree;
    spec.streams = true;  // any of them may; CallStream finds out
    auto tool = core::make_tool(std::move(spec), budget);
    if (tool) (*tool)->limits = std::make_shared<const core::PolicyLimits>(limits);
    return tool;
}

core::ToolList make_provider_tools(const std::vector<OfferedTool>& offered,
                                   const core::PolicyCeilings& ceilings) {
    core::ToolList made;
    core::SchemaBudget budget;
    std::unordered_set<std::string_view> names;
    for (const OfferedTool& one : offered) {
        auto tool = made.tools.size() < kMostTools
                        ? make_provider_tool(one, ceilings, budget)
                        : fail(ErrorCode::kRateLimited,
                               fmt::format("a provider has at most {} tools", kMostTools));
        if (tool && !names.insert(one.name).second)
            tool = fail(ErrorCode::kConflict, "another tool of this provider has the name");
        if (tool) {
            made.tools.push_back(std::move(*tool));
        } else if (made.dropped.size() < kMostDropped) {
            made.dropped.push_back({.name = one.name.substr(0, kMostNameShown),
                                    .reason = std::move(tool.error().message)});
        }
    }
    return made;
}

}  // namespace crab::sw4rm
