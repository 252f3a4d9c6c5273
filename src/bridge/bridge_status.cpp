#include "bridge/bridge_status.hpp"

#include <unistd.h>

namespace crab::bridge {
namespace {

using json::Value;

Value texts(const std::vector<std::string>& lines) {
    Value array = Value::array();
    for (const std::string& line : lines) array.push_back(line);
    return array;
}

}  // namespace

Value BridgeStatus::to_json(const ProviderDirectory& directory) const {
    Value providers = Value::array();
    for (const auto& [id, provider] : directory.providers()) {
        Value names = Value::array();
        for (const cetp::DeclaredTool& tool : provider.tools) names.push_back(tool.name);
        Value entry = Value::object({{"id", id},
                                     {"name", provider.record->name},
                                     {"label", directory.label_of(id)},
                                     {"state", name_of(provider.state)},
                                     {"tools", std::move(names)},
                                     {"problem", provider.problem},
                                     {"diagnostics", texts(provider.diagnostics)}});
        if (const auto request = user_actions.find(id); request != user_actions.end()) {
            entry.set("auth_required", Value::object({{"tool", request->second.tool},
                                                      {"message", request->second.message},
                                                      {"hint", request->second.hint},
                                                      {"intent", request->second.intent},
                                                      {"at", to_rfc3339(request->second.at)}}));
        }
        providers.push_back(std::move(entry));
    }
    return Value::object(
        {{"pid", std::int64_t{::getpid()}},
         {"link", Value::object({{"connected", link.connected},
                                 {"message", link.message},
                                 {"device", link.device},
                                 {"tools", static_cast<std::int64_t>(link.tools)}})},
         {"providers", std::move(providers)},
         {"diagnostics", texts(directory.diagnostics())}});
}

}  // namespace crab::bridge
