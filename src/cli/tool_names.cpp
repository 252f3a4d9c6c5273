#include "cli/tool_names.hpp"

#include "base/closest_name.hpp"
#include "cli/output/pretty_json.hpp"

#include <fmt/format.h>

namespace crab::cli {

std::vector<std::string> tool_names(AdminClient& client) {
    std::vector<std::string> names;
    const Result<json::Value> reply =
        accepted(client.get(client.is_remote() ? "/v1/tools" : "/v1/admin/tools"));
    if (!reply) return names;
    for (const json::Value& tool : items_of(*reply, "tools"))
        names.push_back(text_of(tool, "name"));
    return names;
}

std::string no_such_tool(std::string_view name, std::span<const std::string> names) {
    const std::string_view near = closest_name(name, names);
    if (near.empty())
        return fmt::format("no tool named {}; crab tools list shows what there is", name);
    return fmt::format("no tool named {}; did you mean {}?", name, near);
}

}  // namespace crab::cli
