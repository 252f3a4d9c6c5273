#include "adapters/mcp/upstreams/held_entries.hpp"

#include "adapters/mcp/wire/uri_template.hpp"
#include "json/raw_parts.hpp"

#include <algorithm>

namespace crab::mcp {
namespace {

std::optional<HeldBack::Why> find_in(const std::map<std::string, HeldBack::Why, std::less<>>& held,
                                     std::string_view key) {
    const auto found = held.find(key);
    return found == held.end() ? std::nullopt : std::optional(found->second);
}

std::string text_of(std::string_view object, std::string_view name) {
    return json::find_raw_string(object, name).value_or("");
}

}  // namespace

void HeldEntries::hold(std::string_view kind, const std::string& key, Why why) {
    if (kind == kResourcePin) held_resources_.emplace(key, why);
    if (kind == kTemplatePin) held_templates_.emplace(key, why);
    if (kind == kPromptPin) held_prompts_.emplace(key, why);
}

std::optional<HeldEntries::Why> HeldEntries::find(std::string_view method,
                                                  std::string_view params) const {
    if (all_) return all_;
    if (method == "resources/read") return find_resource(text_of(params, "uri"));
    if (method == "prompts/get") return find_in(held_prompts_, text_of(params, "name"));
    const std::string_view ref = json::find_raw(params, "ref").value_or("");
    if (text_of(ref, "type") == "ref/prompt") return find_in(held_prompts_, text_of(ref, "name"));
    const std::string uri = text_of(ref, "uri");
    if (const auto why = find_in(held_templates_, uri)) return why;
    return find_resource(uri);
}

std::optional<HeldEntries::Why> HeldEntries::find_resource(std::string_view uri) const {
    if (const auto why = find_in(held_resources_, uri)) return why;
    if (held_templates_.empty() || resources_.contains(uri)) return std::nullopt;
    MatchBudget budget;
    const auto makes_it = [&](const std::string& one) {
        return match_template(one, uri, budget).has_value();
    };
    if (std::ranges::any_of(templates_, makes_it)) return std::nullopt;
    for (const auto& [held, why] : held_templates_) {
        if (makes_it(held)) return why;
    }
    // what cannot be compared may be of one of them
    return budget.used_up() ? std::optional(held_templates_.begin()->second) : std::nullopt;
}

}  // namespace crab::mcp
