#include "bridge/user_choices.hpp"

#include "json/value.hpp"
#include "sdk/private_file.hpp"

#include <fmt/format.h>

namespace crab::bridge {

bool UserChoices::allows(const cetp::ProviderRecord& provider) const {
    const auto decided = enabled.find(provider.id);
    return decided != enabled.end() ? decided->second : !provider.off_until_allowed;
}

Result<UserChoices> UserChoices::load(const std::filesystem::path& file) {
    const auto text = sdk::read_private_file(file);
    if (!text && text.error().code == ErrorCode::kNotFound) return UserChoices();
    if (!text) return fail(text.error());
    const auto kept = json::Value::parse(*text);
    const json::Value* providers = kept ? kept->find("providers") : nullptr;
    if (providers == nullptr || !providers->is_object()) {
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("{} holds no choices; fix or remove it", file.filename().string()));
    }
    UserChoices choices;
    for (const auto& [id, entry] : *providers->as_object()) {
        const json::Value* enabled = entry.find("enabled");
        const json::Value* label = entry.find("label");
        if (enabled != nullptr && enabled->as_bool() != nullptr)
            choices.enabled.emplace(id, *enabled->as_bool());
        if (label != nullptr && label->as_string() != nullptr)
            choices.labels.emplace(id, *label->as_string());
    }
    return choices;
}

Result<void> UserChoices::save(const std::filesystem::path& file) const {
    json::Value providers = json::Value::object();
    const auto entry = [&](const std::string& id) -> json::Value& {
        json::Value* found = providers.find(id);
        return found != nullptr ? *found : providers.set(id, json::Value::object());
    };
    for (const auto& [id, yes] : enabled) entry(id).set("enabled", yes);
    for (const auto& [id, label] : labels) entry(id).set("label", label);
    return sdk::write_private_file(
        file, json::Value::object({{"providers", std::move(providers)}}).dump() + "\n");
}

}  // namespace crab::bridge
