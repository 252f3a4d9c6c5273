#include "cli/tool_locations.hpp"

#include "cli/admin_client.hpp"
#include "cli/output/pretty_json.hpp"

namespace crab::cli {
namespace {

constexpr std::chrono::seconds kLocationPatience{2};   // it is only told beside what matters

std::string source_of_tool(const json::Value& tool) {
    const std::string kind = text_of(tool, "source_kind"), source = text_of(tool, "source");
    if (kind.empty()) return source;
    return source.empty() ? kind : kind + "/" + source;
}

}  // namespace

void ToolLocations::fetch() {
    Result<AdminClient> client = AdminClient::make(target_);
    if (!client) return;
    const auto reply = accepted(client->get(client->is_remote() ? "/api/tools" : "/v1/admin/tools",
                                            RealClock().steady_now() + kLocationPatience));
    if (!reply) return;
    places_.clear();
    for (const json::Value& tool : items_of(*reply, "tools")) {
        const std::string place = source_of_tool(tool), name = text_of(tool, "name"),
                          qualified = text_of(tool, "qualified_name");
        const std::size_t mark = name.find("__");
        const std::string plain = mark == std::string::npos ? name : name.substr(mark + 2);
        places_[name] = place;
        if (!qualified.empty()) places_[qualified] = place;
        const auto [it, added] = places_.emplace(plain, place);
        if (!added && it->second != place && plain != name) it->second.clear();
    }
}

std::string ToolLocations::of(const std::string& tool) {
    if (!places_.contains(tool)) {
        fetch();
        places_.try_emplace(tool);  // not asked for again when nobody knows it
    }
    return places_[tool];
}

}  // namespace crab::cli
