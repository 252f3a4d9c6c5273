#include "adapters/cetp/tool_list.hpp"

#include "adapters/cetp/envelope.hpp"
#include "json/element.hpp"
#include "json/parser.hpp"
#include "json/schema.hpp"
#include "json/value.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace crab::cetp {
namespace {

constexpr std::size_t kMaxCompiled = std::size_t{2} << 20;  // bytes of all schemas of one list, which bounds the time they take

std::string cut(std::string_view text, std::size_t limit) {
    if (text.size() <= limit) return std::string(text);
    while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0U) == 0x80U) --limit;
    return std::string(text.substr(0, limit));
}

/// A name as diagnostics show it.
std::string shown(std::string_view name) { return clean_text(cut(name, 64)); }

/// The schema as compact JSON. Errors: why it is none.
Result<std::string> parameters_of(json::Element element, std::size_t& budget) {
    const auto member = json::get(element, "parameters");
    if (!member) return R"({"type":"object"})";
    if (!member->is_object()) return fail(ErrorCode::kInvalidArgs, "its parameters are no object");
    std::string text = json::to_text(*member);
    if (text == "{}") return R"({"type":"object"})";
    if (text.size() > kMaxParameters) return fail(ErrorCode::kOversize, fmt::format("its parameters have more than {} bytes", kMaxParameters));
    if (const auto strict = json::Value::parse(text); !strict) return fail(ErrorCode::kInvalidArgs, "its parameters: " + strict.error().message);
    json::SchemaOptions options;
    options.max_program_bytes = budget;
    const auto schema = json::Schema::compile(text, options);
    if (!schema) return fail(schema.error().code, "its parameters are no schema: " + schema.error().message);
    if (!(*schema)->may_accept_objects()) return fail(ErrorCode::kInvalidArgs, "no object fits its parameters");
    budget -= std::min(budget, (*schema)->program_bytes());
    return text;
}

}  // namespace

std::string to_wire(std::span<const DeclaredTool> tools) {
    std::string text;
    json::Writer writer(text);
    writer.begin_object().key("tools").begin_array();
    for (const DeclaredTool& tool : tools) {
        writer.begin_object().key("name").string_lossy(tool.name).key("description").string_lossy(tool.description).key("parameters").raw(tool.parameters).end_object();
    }
    writer.end_array().end_object();
    return text;
}

Result<ToolList> parse_tool_list(std::string_view data) {
    json::Parser parser;
    const auto root = parser.parse(data);
    if (!root) return fail(ErrorCode::kInvalidArgs, "the list of tools is no JSON: " + root.error().message);
    const auto elements = json::get_array(root->element(), "tools");
    if (!elements) return fail(ErrorCode::kInvalidArgs, "the answer to list_tools has no `tools`");
    ToolList list;
    std::size_t beyond = 0;
    std::size_t budget = kMaxCompiled;
    for (const json::Element element : *elements) {
        const auto name = json::get_string(element, "name");
        if (!name || name->empty()) {
            list.diagnostics.emplace_back("a tool without a name is left out");
        } else if (std::ranges::any_of(list.tools, [&](const DeclaredTool& tool) { return tool.name == *name; })) {
            list.diagnostics.push_back(fmt::format("tool `{}` is declared twice; the first counts", shown(*name)));
        } else if (list.tools.size() == kMaxToolsOfProvider) {
            ++beyond;
        } else if (auto parameters = parameters_of(element, budget); !parameters) {
            list.diagnostics.push_back(fmt::format("tool `{}` is left out: {}", shown(*name), clean_text(parameters.error().message)));
        } else {
            list.tools.push_back({std::string(*name), cut(json::get_string(element, "description").value_or(""), kMaxDescription), *std::move(parameters)});
        }
        if (list.diagnostics.size() > kMaxToolsOfProvider) list.diagnostics.resize(kMaxToolsOfProvider);
    }
    if (beyond > 0) list.diagnostics.push_back(fmt::format("{} tools beyond the first {} are left out", beyond, kMaxToolsOfProvider));
    if (list.tools.empty()) return fail(ErrorCode::kInvalidArgs, list.diagnostics.empty() ? "it declares no tools" : list.diagnostics.front());
    return list;
}

Result<ProviderInfo> parse_provider_info(std::string_view data) {
    json::Parser parser;
    const auto root = parser.parse(data);
    if (!root || !root->element().is_object()) return fail(ErrorCode::kInvalidArgs, "the answer to get_provider_info is no JSON object");
    const auto text = [](json::Element object, std::string_view name) { return clean_text(json::get_string(object, name).value_or("")); };
    ProviderInfo info{.name = text(root->element(), "provider_name"), .description = text(root->element(), "description")};
    if (const auto scopes = json::get_array(root->element(), "scopes")) {
        for (const json::Element scope : *scopes) {
            if (auto name = text(scope, "name"); !name.empty()) info.scopes.push_back({std::move(name), text(scope, "description")});
        }
    }
    return info;
}

}  // namespace crab::cetp
