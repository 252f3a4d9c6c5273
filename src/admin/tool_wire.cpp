#include "admin/tool_wire.hpp"

#include "core/call/tool_gate.hpp"

#include <optional>

namespace crab::admin {
namespace {

void append_claim(json::Writer& writer, std::string_view name, const std::optional<bool>& claim) {
    if (claim) writer.key(name).boolean(*claim);
}

}  // namespace

void append_tool_members(json::Writer& writer, std::string_view name, const core::Tool& tool) {
    const core::ToolSpec& spec = tool.spec;
    writer.key("name").string(name).key("qualified_name").string(tool.unique_name);
    writer.key("description").string(spec.description);
    if (!spec.title.empty()) writer.key("title").string(spec.title);
    writer.key("source_kind")
        .string(core::name_of(tool.source.kind))
        .key("source")
        .string(tool.source.name);
    if (!tool.source.owner.empty()) writer.key("owner").string(tool.source.owner);
    writer.key("input_schema").raw(spec.input_schema);
    if (!spec.output_schema.empty()) writer.key("output_schema").raw(spec.output_schema);
    writer.key("timeout_ms_default")
        .integer(spec.default_timeout.count())
        .key("timeout_ms_max")
        .integer(spec.max_timeout.count());
    if (spec.max_concurrency) writer.key("max_concurrency").unsigned_integer(*spec.max_concurrency);
    if (tool.gate)
        writer.key("running")
            .unsigned_integer(tool.gate->running())
            .key("waiting")
            .unsigned_integer(tool.gate->waiting());
    writer.key("idempotent")
        .boolean(spec.idempotent)
        .key("side_effects")
        .boolean(spec.may_have_effects());
    writer.key("effects").string(core::name_of(spec.effects()));
    const core::Annotations& claims = spec.annotations;
    if (claims.read_only || claims.destructive || claims.idempotent || claims.open_world) {
        writer.key("annotations").begin_object();
        append_claim(writer, "read_only", claims.read_only);
        append_claim(writer, "destructive", claims.destructive);
        append_claim(writer, "idempotent", claims.idempotent);
        append_claim(writer, "open_world", claims.open_world);
        writer.key("trusted").boolean(claims.trusted).end_object();
    }
}

}  // namespace crab::admin
