#include "adapters/mcp/upstreams/tool_reading.hpp"

#include "adapters/mcp/upstreams/catalog_reading.hpp"
#include "adapters/mcp/wire/listed_object.hpp"
#include "adapters/mcp/wire/name_limit.hpp"
#include "adapters/mcp/wire/names.hpp"
#include "adapters/mcp/wire/safe_text.hpp"
#include "base/cut_text.hpp"
#include "core/call/tool_schemas.hpp"
#include "json/parser.hpp"
#include "json/raw_parts.hpp"
#include "json/value.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <expected>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

// of all tools of an upstream, which the operator has chosen
constexpr std::size_t kAllSchemas = std::size_t{64} << 20;
constexpr std::string_view kDraft7 = "http://json-schema.org/draft-07/schema#";

std::string_view raw_of(std::string_view object, std::string_view name) {
    return json::find_raw(object, name).value_or(std::string_view());
}

std::string reported(std::string_view name) {
    return std::string(cut_text(clean_text(name).text, kNameInReports));
}

std::optional<bool> hint(std::string_view annotations, std::string_view name) {
    const std::string_view raw = raw_of(annotations, name);
    if (raw == "true") return true;
    if (raw == "false") return false;
    return std::nullopt;
}

/// What only the MCP front passes on; the members that a ToolSpec has, or nobody gets, are not in
/// it.
std::string front_members(std::string_view entry) {
    static const std::set<std::string_view> kElsewhere{
        "name", "title", "description", "inputSchema", "outputSchema", "annotations", "execution"};
    std::string out;
    json::Writer writer(out);
    writer.begin_object();
    for (json::RawParts parts(entry); parts.next();) {
        if (kElsewhere.contains(parts.name())) continue;
        if (parts.name() == "icons") {
            if (const std::string icons = safe_icons(parts.value()); !icons.empty())
                writer.key("icons").raw(icons);
        } else {
            writer.key(parts.name()).raw(parts.value());
        }
    }
    writer.end_object();
    return out == "{}" ? "" : out;
}

/// Section 4.4: claims count where the operator trusts them, and the operator's own words count
/// always.
void set_effects(core::ToolSpec& spec, const ToolRules& rules, const ToolRule* rule) {
    const core::Annotations& claims = spec.annotations;
    if (rules.trust_annotations) {
        const bool read_only = claims.read_only.value_or(false);
        spec.side_effects = !read_only;
        spec.effects_known = true;
        spec.idempotent = read_only || claims.idempotent.value_or(false);
    }
    if (rule == nullptr) return;
    if (rule->side_effects) {
        spec.side_effects = *rule->side_effects;
        spec.effects_known = true;
    }
    if (rule->idempotent) spec.idempotent = *rule->idempotent;
}

class Reader {
public:
    Reader(const ToolRules& rules, ParamHeaders headers) : rules_(rules), headers_(headers) {}

    void add(const std::string& entry) {
        const auto name = json::find_raw_string(entry, "name");
        if (!name || name->empty()) return leave_out("", "it has no name");
        if (!rules_.allows(*name)) return;
        if (name->size() > kMostNameBytes) return leave_out(*name, "its name is longer than 8 KiB");
        if (auto ambiguous = ambiguity_of(entry, parser_)) return leave_out(*name, *ambiguous);
        auto read = read_one(entry, *name);
        if (!read) return leave_out(*name, std::move(read.error()));
        if (!names_.insert(read->tool->spec.name).second)
            return leave_out(*name, "another one before it has its name");
        reading.tools.push_back(std::move(*read));
    }

    ToolReading reading;

private:
    void leave_out(std::string_view name, std::string reason) {
        reading.left_out.push_back({.name = reported(name), .reason = std::move(reason)});
    }

    /// Errors: why the tool is left out.
    std::expected<ReadTool, std::string> read_one(const std::string& entry,
                                                  const std::string& name) {
        auto spec = spec_of(entry, name);
        if (!spec) return std::unexpected(std::move(spec.error()));
        ReadTool read;
        if (headers_ == ParamHeaders::kSent && spec->input_schema.contains("x-mcp-header")) {
            const auto root = parser_.parse(spec->input_schema);
            if (!root) return std::unexpected(root.error().message);
            auto params = read_header_params(root->element());
            if (!params) return std::unexpected(std::move(params.error()));
            read.facts.params = std::move(*params);
        }
        auto tool = compile(std::move(*spec));
        if (!tool) return std::unexpected(std::move(tool.error().message));
        read.tool = std::move(*tool);
        read.tool->drops_nulls = rules_.drop_nulls;
        read.facts.name = name;
        read.facts.output = std::exchange(read.tool->output, nullptr);
        read.facts.check = rules_.output;
        const auto tasks = json::find_raw_string(raw_of(entry, "execution"), "taskSupport");
        if (tasks == "optional") read.facts.tasks = TaskUse::kIfDeclared;
        if (tasks == "required") read.facts.tasks = TaskUse::kAlways;
        read.pinned = pinned_form(entry);
        read.digest =
            crypto::Sha256().update_number(headers_ == ParamHeaders::kSent).update(entry).finish();
        return read;
    }

    std::expected<core::ToolSpec, std::string> spec_of(const std::string& entry,
                                                       const std::string& name) {
        const std::string_view annotations = raw_of(entry, "annotations");
        core::ToolSpec spec;
        spec.name = is_method_tool(name) ? altered_name(name) : tool_name(name);
        spec.title = clean(json::find_raw_string(entry, "title")
                               .value_or(json::find_raw_string(annotations, "title").value_or("")));
        spec.description = clean(json::find_raw_string(entry, "description").value_or(""));
        if (spec.description.size() > kMaxDescription)
            return std::unexpected("its description is longer than 8 KiB");
        const std::string_view input = raw_of(entry, "inputSchema");
        const std::string_view output = raw_of(entry, "outputSchema");
        if (input.size() > kMaxSchema || output.size() > kMaxSchema)
            return std::unexpected("one of its schemas is larger than 1 MiB");
        auto object = object_schema(input);
        if (!object) return std::unexpected("its inputSchema is not one with `type: object`");
        spec.input_schema = std::move(*object);
        if (output != "null") spec.output_schema = output;
        spec.annotations = {.read_only = hint(annotations, "readOnlyHint"),
                            .destructive = hint(annotations, "destructiveHint"),
                            .idempotent = hint(annotations, "idempotentHint"),
                            .open_world = hint(annotations, "openWorldHint"),
                            .trusted = rules_.trust_annotations};
        spec.accepts_idempotency_key =
            raw_of(raw_of(entry, "_meta"), "crab/acceptsIdempotencyKey") == "true";
        spec.front_members = front_members(entry);
        const auto rule = rules_.overrides.find(name);
        const ToolRule* own = rule == rules_.overrides.end() ? nullptr : &rule->second;
        set_effects(spec, rules_, own);
        spec.default_timeout =
            own != nullptr ? own->timeout.value_or(rules_.timeout) : rules_.timeout;
        spec.max_timeout = std::max(rules_.max_timeout, spec.default_timeout);
        return spec;
    }

    /// Schemas without `$schema` are 2020-12 in every era; what does not compile so may still be
    /// written for draft 7, as by the older SDKs.
    Result<std::shared_ptr<core::Tool>> compile(core::ToolSpec spec) {
        core::ToolSpec older = spec;
        auto tool = core::make_tool(std::move(spec), budget_);
        if (tool || tool.error().code != ErrorCode::kInvalidArgs) return tool;
        const std::string input = older.input_schema, output = older.output_schema;
        older.input_schema = as_draft7(input);
        if (!output.empty()) older.output_schema = as_draft7(output);
        auto again = core::make_tool(std::move(older), budget_);
        if (!again) return tool;  // the reason of the dialect that counts
        (*again)->spec.input_schema = input;
        (*again)->spec.output_schema = output;
        return again;
    }
    static std::string as_draft7(const std::string& schema) {
        if (json::find_raw(schema, "$schema") || !schema.starts_with('{')) return schema;
        const bool empty = !json::RawParts(schema).next();
        return fmt::format(R"({{"$schema":"{}"{}{})", kDraft7, empty ? "" : ",",
                           std::string_view(schema).substr(1));
    }

    std::string clean(std::string_view text) {
        CleanText cleaned = clean_text(text);
        reading.removed += cleaned.removed;
        return std::move(cleaned.text);
    }

    /// Section 8, "Pins": name, title, description, schemas, annotations.
    std::string pinned_form(std::string_view entry) {
        std::string chosen;
        json::Writer writer(chosen);
        writer.begin_object();
        for (const std::string_view name :
             {"name", "title", "description", "inputSchema", "outputSchema", "annotations"}) {
            if (const auto value = json::find_raw(entry, name)) writer.key(name).raw(*value);
        }
        writer.end_object();
        auto value = json::Value::parse(chosen, kEntryLimits);
        if (!value) return chosen;
        sort_members(*value);
        return value->dump();
    }

    const ToolRules& rules_;
    const ParamHeaders headers_;
    json::Parser parser_{kEntryLimits};
    core::SchemaBudget budget_{.left = kAllSchemas};
    std::set<std::string> names_;
};

}  // namespace

ToolReading read_tools(std::span<const std::string> entries, const ToolRules& rules,
                       ParamHeaders headers) {
    Reader reader(rules, headers);
    for (const std::string& entry : entries) reader.add(entry);
    return std::move(reader.reading);
}

}  // namespace crab::mcp
