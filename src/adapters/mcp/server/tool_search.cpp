#include "adapters/mcp/server/tool_search.hpp"

#include "adapters/mcp/wire/error_form.hpp"
#include "adapters/mcp/wire/own_result.hpp"
#include "base/cut_text.hpp"
#include "json/raw_parts.hpp"
#include "json/value.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace crab::mcp {
namespace {

constexpr std::int64_t kMostFound = 20;
constexpr std::size_t kMostShown = 1'024;  // bytes of a description in what was found

ToolView::Item own_tool(std::string_view name, std::string_view title, std::string_view description,
                        std::string_view schema) {
    auto tool = std::make_shared<core::Tool>();
    tool->spec.name = name;
    tool->spec.title = title;
    tool->spec.description = description;
    tool->spec.input_schema = schema;
    tool->unique_name = name;
    if (name == kFindTools) {
        tool->spec.effects_known = tool->spec.idempotent = true;
        tool->spec.annotations.open_world = false;
    }
    return {std::string(name), std::string(name), std::move(tool)};
}

Reply refusal(const ClientRequest& request, ErrorCode code, std::string_view why) {
    std::string result;
    append_error_result(result, Error{.code = code, .message = std::string(why)}, request.form());
    return Reply::of_result(request, std::move(result));
}

/// With what a call of each needs.
std::string found_text(const ToolView& view, const std::vector<std::string>& found) {
    std::string out;
    json::Writer writer(out);
    writer.begin_object().key("found").begin_array();
    for (const std::string& name : found) {
        const ToolView::Item* const item = view.find(name);
        if (item == nullptr) continue;
        const core::ToolSpec& spec = item->tool->spec;
        writer.begin_object().key("name").string(name);
        writer.key("description").string_lossy(cut_text(spec.description, kMostShown));
        if (!spec.input_schema.empty()) writer.key("inputSchema").raw(spec.input_schema);
        writer.end_object();
    }
    writer.end_array().key("of").unsigned_integer(view.items.size() + view.unlisted.size() -
                                                  search_tools().size());
    if (found.empty()) writer.key("hint").string("no tool has these words; try others");
    writer.end_object();
    return out;
}

}  // namespace

const std::vector<ToolView::Item>& search_tools() {
    static const std::vector<ToolView::Item> tools{
        own_tool(kCallTool, "Call a tool",
                 "Calls a tool that find_tools has found, by its name, with arguments that fit its "
                 "inputSchema.",
                 R"({"type":"object","properties":{"name":{"type":"string"},)"
                 R"("arguments":{"type":"object"}},"required":["name"]})"),
        own_tool(kFindTools, "Find tools",
                 "Finds tools by words of their names and descriptions. Most tools are not listed: "
                 "look for one that could do what is asked before you say that it cannot be done, "
                 "and call it with call_tool.",
                 R"({"type":"object","properties":{"query":{"type":"string",)"
                 R"("description":"What the tool should do, in a few words"},)"
                 R"("limit":{"type":"integer","minimum":1,"maximum":20,"default":8}},)"
                 R"("required":["query"]})")};
    return tools;
}

std::optional<SearchedCall> read_searched_call(std::string_view arguments) {
    auto name = read_name(arguments, "name");
    const std::string_view inner = json::find_raw(arguments, "arguments").value_or("");
    if (!name || (!inner.empty() && inner != "null" && !inner.starts_with('{')))
        return std::nullopt;
    return SearchedCall{std::move(*name), inner};
}

Task<Reply> ToolSearch::find(const ClientRequest& request, std::shared_ptr<const ToolView> view,
                             ToolLists& lists, core::PrincipalLimits& limits) const {
    const std::string_view arguments = json::find_raw(request.params, "arguments").value_or("");
    auto query = read_name(arguments, "query");
    if (!query || query->empty())
        co_return refusal(request, ErrorCode::kInvalidArgs,
                          "/query: required, a string that says what the tool should do");
    const std::shared_ptr<void> place = limits.take(request.principal->id);
    if (!place)
        co_return refusal(request, ErrorCode::kRateLimited,
                          "too many searches of yours run; wait for their answers");
    std::int64_t limit = kUsuallyFound;
    if (const auto given = json::find_raw(arguments, "limit")) {
        const auto number = json::Value::parse(*given);
        if (number) limit = number->as_int64().value_or(limit);
    }
    auto look = [on = index, catalog = lists.catalog(*view), words = std::move(*query),
                 most = static_cast<std::size_t>(std::clamp(limit, std::int64_t{1}, kMostFound))] {
        return on->find(catalog, words, most);
    };
    const auto found = co_await pool->run(request.principal->id, std::move(look));
    if (!found)
        co_return refusal(request, ErrorCode::kInternal, "the tools cannot be searched now");
    std::string result;
    append_call_result(result, json_result(found_text(*view, *found)), request.form());
    co_return Reply::of_result(request, std::move(result));
}

}  // namespace crab::mcp
