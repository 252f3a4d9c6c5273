#pragma once

#include "base/clock.hpp"
#include "core/call/principal.hpp"
#include "core/call/tool_result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace crab::core {

/// A large result that a tool's host has stored and callers fetch. Immutable.
struct Artifact {
    /// 32 random hexadecimal characters; not derived from the content
    std::string id;
    std::string tenant;          ///< of the call
    std::string caller;          ///< principal that called; empty: stored before this was kept
    std::string owner;           ///< principal that stored it, such as `device/kitchen`
    std::string call_id;         ///< of the call that it answers, as given by the caller
    std::string tool;            ///< unique name of the tool
    std::string content_type;
    std::string sha256;          ///< 64 lower-case hexadecimal characters
    std::uint64_t bytes = 0;
    SystemTime created_at{};
    SystemTime expires_at{};
};

/// Whether it is the result of a call of `principal`'s own, in a tenant that it may act for.
/// Operators may read all.
bool may_read(const Principal& principal, const Artifact& artifact);
/// Whether `text` has the form of an artifact id.
bool is_artifact_id(std::string_view text);

/// The result of a call whose output is an artifact, the same JSON in every protocol:
/// `{"artifact":{"id","href","content_type","bytes","sha256","expires_at"}}`. `href` is a path of
/// the public listener. Source: docs/protocols/clawseed.md, section 9, "Large results".
ToolResult to_reference(const Artifact& artifact);
/// Whether a result is such a reference and not a tool's own JSON, by its content type.
bool is_reference(const ToolResult& result);
/// Appends the inner object to `out`, with tenant, owner, call and tool if `whole`.
void append_artifact(std::string& out, const Artifact& artifact, bool whole);

}  // namespace crab::core
