#include "adapters/clawseed/registration.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::clawseed {
namespace {

using json::Element;

constexpr std::size_t kMostRejected = 256;  // a message holds millions of bad elements, and each is told and audited

std::size_t depth_of(Element element) {
    std::size_t deepest = 0;
    simdjson::dom::object object;
    simdjson::dom::array array;
    if (element.get(object) == simdjson::SUCCESS) {
        for (const auto member : object) deepest = std::max(deepest, depth_of(member.value));
    } else if (element.get(array) == simdjson::SUCCESS) {
        for (const Element item : array) deepest = std::max(deepest, depth_of(item));
    } else {
        return 0;
    }
    return deepest + 1;
}

/// Claims of the device: unless trusted they only make the gateway more careful, so `read_only` and `idempotent` count for nothing.
void read_claims(Element element, core::ToolSpec& spec) {
    if (const auto value = json::get_int64(element, "max_timeout_ms"); value && *value >= 1) spec.max_timeout = std::min(spec.max_timeout, Milliseconds(*value));
    if (const auto value = json::get_int64(element, "timeout_ms"); value && *value >= 1) spec.default_timeout = Milliseconds(*value);
    if (const auto value = json::get_int64(element, "max_concurrency"); value && *value >= 1 && *value <= 1'000'000) spec.max_concurrency = static_cast<std::uint32_t>(*value);
    if (const auto schema = json::get_object(element, "output_schema")) spec.output_schema = json::to_text(Element(*json::get(element, "output_schema")));
    spec.interactive = json::get_bool(element, "interactive").value_or(false);
    if (const auto claims = json::get(element, "annotations"); claims && claims->is_object()) {
        spec.annotations.read_only = json::get_bool(*claims, "read_only");
        spec.annotations.destructive = json::get_bool(*claims, "destructive");
        spec.annotations.idempotent = json::get_bool(*claims, "idempotent");
        spec.annotations.open_world = json::get_bool(*claims, "open_world");
        spec.side_effects = spec.annotations.destructive.value_or(false) || !spec.annotations.read_only.value_or(true);
    }
}

void apply_overrides(core::ToolSpec& spec, std::span<const ToolOverride> overrides) {
    for (const ToolOverride& rule : overrides) {
        if (!rule.match.matches(spec.name)) continue;
        if (rule.max_timeout) spec.max_timeout = *rule.max_timeout;
        if (rule.timeout) spec.default_timeout = *rule.timeout;
        if (rule.max_concurrency) spec.max_concurrency = rule.max_concurrency;
        if (rule.trust_annotations.value_or(false)) {
            spec.annotations.trusted = true;
            spec.effects_known = spec.annotations.read_only.has_value() || spec.annotations.destructive.has_value();
            spec.idempotent = spec.annotations.idempotent.value_or(false) || spec.annotations.read_only.value_or(false);
            spec.side_effects = spec.annotations.destructive.value_or(false) || !spec.annotations.read_only.value_or(true);
        }
        if (rule.idempotent) spec.idempotent = *rule.idempotent;
        if (rule.side_effects) {
            spec.side_effects = *rule.side_effects;
            spec.effects_known = true;
        }
    }
    spec.default_timeout = std::min(spec.default_timeout, spec.max_timeout);
}

Result<std::shared_ptr<core::Tool>> read_element(Element element, const RegistrationContext& context) {
    const auto name = json::get_string(element, "name");
    const auto description = json::get_string(element, "description");
    const auto parameters = json::get(element, "parameters");
    if (!name || !description || !parameters || !parameters->is_object()) {
        return fail(ErrorCode::kInvalidArgs, "a tool needs name and description as strings and parameters as an object");
    }
    if (!core::is_tool_name(*name)) return fail(ErrorCode::kInvalidArgs, "a name is 1 to 128 of A-Z a-z 0-9 _ . -");
    if (description->size() > context.limits.description_bytes) {
        return fail(ErrorCode::kOversize, fmt::format("the description has more than {} bytes", context.limits.description_bytes));
    }
    if (name->size() > context.limits.name_bytes) return fail(ErrorCode::kInvalidArgs, fmt::format("a name has at most {} characters", context.limits.name_bytes));
    core::ToolSpec spec;
    spec.default_timeout = context.limits.default_timeout;
    spec.max_timeout = context.limits.max_timeout;
    spec.name = *name;
    spec.description = *description;
    spec.input_schema = json::to_text(*parameters);
    if (spec.input_schema.size() > context.limits.parameters_bytes || depth_of(*parameters) > context.limits.parameters_depth) {
        return fail(ErrorCode::kOversize, fmt::format("parameters are larger than {} bytes or deeper than {}", context.limits.parameters_bytes, context.limits.parameters_depth));
    }
    if (context.registry.is_reserved(*name)) return fail(ErrorCode::kForbidden, "the name is reserved for a tool of the gateway; choose another");
    const core::Decision decision = context.policy.decide_registration(context.principal, *name);
    if (decision.verdict == core::Verdict::kDeny) return fail(ErrorCode::kForbidden, fmt::format("policy refuses the name ({})", decision.rule));
    read_claims(element, spec);
    apply_overrides(spec, context.overrides);
    return core::make_tool(std::move(spec));
}

}  // namespace

Registration read_registration(json::Array tools, const RegistrationContext& context) {
    Registration registration;
    std::size_t held = context.held;
    for (const Element element : tools) {
        const std::size_t index = registration.count++;
        auto tool = read_element(element, context);
        if (tool) {
            const auto same = std::ranges::find(registration.taken, (*tool)->spec.name, [](const auto& taken) -> const std::string& { return taken->spec.name; });
            if (same != registration.taken.end()) {
                *same = std::move(*tool);
                continue;
            }
            if (context.already_held((*tool)->spec.name)) {
                registration.taken.push_back(std::move(*tool));
                continue;
            }
            if (held < context.limits.tools) {
                ++held;
                registration.taken.push_back(std::move(*tool));
                continue;
            }
            tool = fail(ErrorCode::kRateLimited, fmt::format("a connection holds at most {} tools", context.limits.tools));
        }
        if (registration.rejected.size() == kMostRejected) continue;
        registration.rejected.push_back({.index = index, .name = std::string(json::get_string(element, "name").value_or("").substr(0, 128)),
                                         .code = tool.error().code, .message = std::move(tool.error().message)});
    }
    return registration;
}

}  // namespace crab::clawseed
