#include "fleet/link_tools.hpp"

#include "fleet/message_body.hpp"

#include <cstdint>
#include <limits>
#include <utility>

namespace crab::fleet {
namespace {

using bus::FieldReader;
using bus::FieldWriter;

constexpr std::size_t kMostTools = 4'096;

// The numbers of fields are stored. Those of texts are in for_each_tool_text().
constexpr std::uint8_t kTool = 1;
constexpr std::uint8_t kToolTenants = 20, kAccepts = 21, kDefaultTimeout = 22, kMaxTimeout = 23,
                       kMaxConcurrency = 24, kReadOnly = 25, kDestructive = 26,
                       kIdempotentHint = 27, kOpenWorld = 28, kFlags = 29;

template <class Tool, class F>
void for_each_tool_text(Tool& tool, F&& text) {
    text(2, tool.spec.name);
    text(3, tool.spec.title);
    text(4, tool.spec.description);
    text(5, tool.spec.input_schema);
    text(6, tool.spec.output_schema);
    text(7, tool.spec.version);
    text(8, tool.spec.front_members);
    text(9, tool.source.name);
    text(10, tool.source.owner);
}

/// The flags of a tool with their bits.
template <class Tool, class F>
void for_each_flag(Tool& tool, F&& flag) {
    flag(0, tool.spec.annotations.trusted);
    flag(1, tool.spec.idempotent);
    flag(2, tool.spec.side_effects);
    flag(3, tool.spec.effects_known);
    flag(4, tool.spec.accepts_idempotency_key);
    flag(5, tool.spec.needs_worktree);
    flag(6, tool.spec.interactive);
    flag(7, tool.spec.streams);
    flag(8, tool.unique_name_only);
    flag(9, tool.unlisted);
    flag(10, tool.drops_nulls);
}

template <class Tool, class F>
void for_each_hint(Tool& tool, F&& hint) {
    hint(kReadOnly, tool.spec.annotations.read_only);
    hint(kDestructive, tool.spec.annotations.destructive);
    hint(kIdempotentHint, tool.spec.annotations.idempotent);
    hint(kOpenWorld, tool.spec.annotations.open_world);
}

std::string tool_to_wire(const core::Tool& tool) {
    FieldWriter body;
    for_each_tool_text(tool,
                       [&](std::uint8_t number, std::string_view text) { body.add(number, text); });
    body.add(11, tool.tenant.text());
    for (const TenantId& more : tool.more_tenants) body.add_always(kToolTenants, more.text());
    for (const std::string& type : tool.spec.accepts) body.add_always(kAccepts, type);
    body.add_number(kDefaultTimeout, static_cast<std::uint64_t>(tool.spec.default_timeout.count()));
    body.add_number(kMaxTimeout, static_cast<std::uint64_t>(tool.spec.max_timeout.count()));
    if (tool.spec.max_concurrency)
        body.add_number(kMaxConcurrency, *tool.spec.max_concurrency + 1ULL);
    for_each_hint(tool, [&](std::uint8_t number, const std::optional<bool>& hint) {
        if (hint) body.add_number(number, *hint ? 2 : 1);
    });
    std::uint64_t flags = 0;
    for_each_flag(tool, [&](int bit, bool flag) { flags |= std::uint64_t{flag} << bit; });
    body.add_number(kFlags, flags);
    return body.take();
}

/// A whole tool for its parts that are not texts.
struct Parts {
    core::ToolSpec spec;
    core::ToolSource source;
    TenantId tenant;
    std::vector<TenantId> more_tenants;
    bool unique_name_only = false, unlisted = false, drops_nulls = false;
};

bool read_number(const FieldReader::Field& field, core::ToolSpec& spec) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int32_t>::max();
    const std::uint64_t value = field.value();
    switch (field.number) {
        case kDefaultTimeout:
            spec.default_timeout = Milliseconds(static_cast<std::int64_t>(value));
            return value <= kMost;
        case kMaxTimeout:
            spec.max_timeout = Milliseconds(static_cast<std::int64_t>(value));
            return value <= kMost;
        case kMaxConcurrency:
            spec.max_concurrency = static_cast<std::uint32_t>(value - 1);
            return value > 0 && value <= kMost;
        default: return true;
    }
}

bool read_field(const FieldReader::Field& field, Parts& parts) {
    for_each_tool_text(parts, [&](std::uint8_t number, std::string& text) {
        if (field.number == number) text = field.bytes;
    });
    for_each_hint(parts, [&](std::uint8_t number, std::optional<bool>& hint) {
        if (field.number == number) hint = field.value() == 2;
    });
    switch (field.number) {
        case 11: parts.tenant = TenantId(std::string(field.bytes)); return true;
        case kToolTenants: parts.more_tenants.emplace_back(std::string(field.bytes)); return true;
        case kAccepts: parts.spec.accepts.emplace_back(field.bytes); return true;
        case kFlags:
            for_each_flag(parts, [flags = field.value()](int bit, bool& flag) {
                flag = (flags >> bit & 1) != 0;
            });
            return true;
        default: return read_number(field, parts.spec);
    }
}

Result<std::shared_ptr<core::Tool>> read_tool(std::string_view body) {
    Parts parts;
    const bool whole =
        each_field(body, [&](const FieldReader::Field& field) { return read_field(field, parts); });
    if (!whole || parts.source.name.empty() || parts.source.owner.empty())
        return unreadable("a link has what is no tool of a device");
    auto tool = core::make_tool(std::move(parts.spec));
    if (!tool) return tool;
    core::Tool& made = **tool;
    made.tenant = std::move(parts.tenant);
    made.more_tenants = std::move(parts.more_tenants);
    made.unique_name_only = parts.unique_name_only;
    made.unlisted = parts.unlisted;
    made.drops_nulls = parts.drops_nulls;
    parts.source.kind = core::SourceKind::kDevice;
    made.set_source(std::move(parts.source));
    return tool;
}

}  // namespace

std::string link_tools_to_wire(std::span<const core::ToolRef> tools) {
    FieldWriter body;
    for (const core::ToolRef& tool : tools) body.add_always(kTool, tool_to_wire(*tool));
    return body.take();
}

Result<std::vector<std::shared_ptr<core::Tool>>> parse_link_tools(std::string_view text) {
    std::vector<std::shared_ptr<core::Tool>> tools;
    Error error = unreadable("a link has no list of tools").error();
    const bool whole = each_field(text, [&](const FieldReader::Field& field) {
        if (field.number != kTool) return true;
        auto tool = read_tool(field.bytes);
        if (!tool || tools.size() == kMostTools) {
            if (!tool) error = std::move(tool.error());
            return false;
        }
        tools.push_back(std::move(*tool));
        return true;
    });
    if (!whole) return fail(std::move(error));
    return tools;
}

}  // namespace crab::fleet
