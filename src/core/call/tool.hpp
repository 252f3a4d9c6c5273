#pragma once

#include "base/clock.hpp"
#include "base/id.hpp"
#include "base/result.hpp"
#include "core/call/effective_policy.hpp"
#include "core/call/tool_gate.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::json {
class Schema;
}

namespace crab::core {

class ToolHost;

/// Claims of the tool's author about its behaviour. Untrusted claims can only make the gateway more
/// careful.
struct Annotations {
    std::optional<bool> read_only, destructive, idempotent, open_world;
    bool trusted = false;
};

/// Whether a tool has side effects. kDeclared: its author or the operator declared them. kUnknown:
/// no trusted declaration. kNone: declared read-only by a trusted source.
enum class Effects : std::uint8_t { kNone, kUnknown, kDeclared };
std::string_view name_of(Effects effects);  ///< `none`, `unknown`, `declared`

/// A named operation: its input, output and permissions.
struct ToolSpec {
    std::string name;  ///< `[A-Za-z0-9_.-]{1,128}`
    std::string title;
    std::string description;
    std::string input_schema;  ///< JSON Schema, compact text
    std::string output_schema;  ///< empty: unchecked
    std::string version;
    /// Media types, in lower case, of arguments that it accepts as bytes instead of a JSON object
    std::vector<std::string> accepts;
    bool takes(std::string_view media_type) const {
        return std::ranges::find(accepts, media_type) != accepts.end();
    }
    Milliseconds default_timeout{30'000};
    Milliseconds max_timeout{120'000};
    std::optional<std::uint32_t> max_concurrency;
    Annotations annotations;
    bool idempotent = false;  ///< a repeat has no second effect
    /// Declared by the tool; effective because it makes the gateway more careful
    bool side_effects = false;
    bool effects_known = false;  ///< a trusted source declared whether there are any
    /// The definition of "effects" for lists, events and rules; calls of tools that declare some
    /// are recorded before they run. An untrusted `read_only` is ignored.
    Effects effects() const {
        return side_effects    ? Effects::kDeclared
               : effects_known ? Effects::kNone
                               : Effects::kUnknown;
    }
    /// Whether to treat the tool as one with side effects.
    bool may_have_effects() const { return effects() != Effects::kNone; }
    bool accepts_idempotency_key = false;
    bool needs_worktree = false;
    bool interactive = false;
    bool streams = false;
    /// Members that only a front of the source's own protocol passes on (icons, `_meta`), a JSON
    /// object as text; may be empty
    std::string front_members;
};

enum class SourceKind : std::uint8_t { kBuiltIn, kDevice, kPeer, kProvider, kCommand, kMcpServer };
std::string_view name_of(SourceKind kind);
/// The kind of a source as texts write it: `device/phone`, `built_in`.
std::optional<SourceKind> kind_of_source(std::string_view source);

/// Where a tool comes from, as callers see it.
struct ToolSource {
    SourceKind kind = SourceKind::kBuiltIn;
    std::string name;  ///< device slug, host name, provider id; prefix of the qualified name
    std::string owner;  ///< principal id behind it; empty for built-ins
    ConnectionId connection{};  ///< for devices
};

/// A registered tool: its spec, its compiled validators, and who runs it. Immutable; shared between
/// threads.
struct Tool {
    TenantId tenant;  ///< empty: every tenant sees it; first, for every resolve looks at it
    std::vector<TenantId> more_tenants{};  ///< that also see it
    ToolSpec spec;
    ToolSource source;
    std::shared_ptr<const json::Schema> input;
    std::shared_ptr<const json::Schema> output;  ///< null: unchecked
    std::shared_ptr<ToolHost> host;
    std::shared_ptr<ToolGate> gate;  ///< null: unlimited
    /// Null: execution policies are not enforced for it
    std::shared_ptr<const PolicyLimits> limits;

    std::string source_text;  ///< `built_in`, `device/kitchen-tablet`, … for policy and audit
    /// `<source>__<name>`; for built-ins the plain name, which is reserved
    std::string unique_name;
    /// Its plain name is reserved for another tool
    bool unique_name_only = false;
    /// Callable, but in no list: what a front calls to serve a method of its protocol
    bool unlisted = false;
    /// A null that the schema refuses counts as an absent member, where that is valid
    bool drops_nulls = false;

    /// Sets the source and the unique name that follows from it; before the tool is registered.
    void set_source(ToolSource from);
    /// Whether it has a qualified name.
    bool is_qualified() const { return !source.name.empty(); }
    bool has_plain_name() const { return is_qualified() && !unique_name_only; }
};
using ToolRef = std::shared_ptr<const Tool>;

/// Whether `name` is a valid tool name.
bool is_tool_name(std::string_view name);

/// Checks `spec` (name, schemas, timeouts) and compiles its schemas; the caller sets source and
/// host. Errors: kInvalidArgs with the reason.
Result<std::shared_ptr<Tool>> make_tool(ToolSpec spec);

}  // namespace crab::core
