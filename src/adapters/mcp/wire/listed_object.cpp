#include "adapters/mcp/wire/listed_object.hpp"

#include "adapters/mcp/wire/content.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <algorithm>

namespace crab::mcp {
namespace {

/// Whether a revision has this member of a listed object.
bool has_member(std::string_view name, const Features& has) {
    if (name == "title") return has.titles;
    if (name == "icons") return has.icons;
    if (name == "_meta") return has.object_meta;
    return name != "execution";
}

bool has_schema(std::string_view schema, const Features& has) {
    switch (has.structured) {
        case Structured::kNone: return false;
        case Structured::kObject: return json::find_raw_string(schema, "type") == "object";
        case Structured::kAny: return true;
    }
    return false;
}

void write_annotations(json::Writer& writer, const ListedTool& tool, const Features& has) {
    writer.key("annotations").begin_object();
    if (!tool.title.empty() && !has.titles) writer.key("title").string(tool.title);
    writer.key("readOnlyHint").boolean(tool.hints.read_only);
    writer.key("destructiveHint").boolean(tool.hints.destructive);
    writer.key("idempotentHint").boolean(tool.hints.idempotent);
    writer.key("openWorldHint").boolean(tool.hints.open_world);
    writer.end_object();
}

/// The `arguments` of a prompt, whose titles came with those of prompts.
std::string prompt_arguments(std::string_view arguments, const Features& has) {
    std::string out;
    json::Writer writer(out);
    writer.begin_array();
    for (json::RawParts items(arguments); items.next();) {
        writer.begin_object();
        for (json::RawParts parts(items.value()); parts.next();) {
            if (has_member(parts.name(), has)) writer.key(parts.name()).raw(parts.value());
        }
        writer.end_object();
    }
    writer.end_array();
    return out;
}

}  // namespace

void append_tool(std::string& out, const ListedTool& tool, Revision revision) {
    const Features& has = features_of(revision);
    json::Writer writer(out);
    writer.begin_object().key("name").string(tool.name);
    if (!tool.title.empty() && has.titles) writer.key("title").string(tool.title);
    if (!tool.description.empty()) writer.key("description").string(tool.description);
    writer.key("inputSchema").raw(tool.input_schema);
    if (!tool.output_schema.empty() && has_schema(tool.output_schema, has))
        writer.key("outputSchema").raw(tool.output_schema);
    if (has.annotations) write_annotations(writer, tool, has);
    if (!tool.icons.empty() && has.icons) writer.key("icons").raw(tool.icons);
    if (!tool.meta.empty() && has.object_meta) writer.key("_meta").raw(tool.meta);
    writer.end_object();
}

void append_listed_object(std::string& out, std::string_view object,
                          std::span<const ReplacedMember> replaced, Revision revision) {
    const Features& has = features_of(revision);
    json::Writer writer(out);
    writer.begin_object();
    for (const ReplacedMember& member : replaced) {
        if (has_member(member.name, has)) writer.key(member.name).raw(member.json);
    }
    for (json::RawParts parts(object); parts.next();) {
        const std::string_view name = parts.name();
        const bool is_replaced =
            std::ranges::find(replaced, name, &ReplacedMember::name) != replaced.end();
        if (is_replaced || !has_member(name, has)) continue;
        std::string mapped;
        if (name == "annotations") append_annotations(mapped, parts.value(), revision);
        if (name == "arguments") mapped = prompt_arguments(parts.value(), has);
        writer.key(name).raw(mapped.empty() ? parts.value() : mapped);
    }
    writer.end_object();
}

std::optional<std::string> object_schema(std::string_view schema) {
    if (!schema.starts_with('{')) return std::nullopt;
    if (const auto type = json::find_raw(schema, "type")) {
        if (json::read_raw_string(*type) != "object") return std::nullopt;
        return std::string(schema);
    }
    const bool empty = !json::RawParts(schema).next();
    std::string out = R"({"type":"object")";
    if (!empty) out += ',';
    out += schema.substr(1);
    return out;
}

}  // namespace crab::mcp
