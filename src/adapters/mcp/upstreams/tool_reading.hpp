#pragma once

#include "adapters/mcp/client/upstream_session.hpp"
#include "adapters/mcp/upstreams/tool_rules.hpp"
#include "adapters/mcp/wire/header_params.hpp"
#include "core/call/tool.hpp"
#include "crypto/digest.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

/// An upstream's tools made into tools of the registry.
/// Source: docs/protocols/mcp.md, sections 3.5, 4.1, 4.2, 4.4, 8 "Text".
namespace crab::mcp {

/// What is not offered, and why.
struct SkippedEntry {
    std::string name;  ///< as the upstream has it, cleaned and cut; empty if it had none
    std::string reason;
    friend bool operator==(const SkippedEntry&, const SkippedEntry&) = default;
};

/// What calls of a tool need beside its registration.
struct UpstreamTool {
    std::string name;  ///< the upstream's own, for `tools/call`
    std::vector<HeaderParam> params;  ///< none towards upstreams without headers
    std::shared_ptr<const json::Schema> output;  ///< null: unchecked
    OutputCheck check = OutputCheck::kWarn;
    TaskUse tasks = TaskUse::kNone;  ///< `execution.taskSupport` (2025-11-25)
};

struct ReadTool {
    /// Without source and host. The schema of its results is in `facts`, for a result in the core's
    /// form is the object around what that schema describes.
    std::shared_ptr<core::Tool> tool;
    UpstreamTool facts;
    std::string pinned;  ///< what of it people and models rely on, in canonical form
    /// Of all that it was made of, except for the rules: two with one are the same tool
    crypto::Sha256Digest digest{};
};

struct ToolReading {
    std::vector<ReadTool> tools;  ///< in the upstream's order; no two with one name
    std::vector<SkippedEntry> left_out;
    std::size_t removed = 0;  ///< characters that nobody sees, in titles and descriptions
};

inline constexpr std::size_t kMaxDescription = 8 << 10;
inline constexpr std::size_t kMaxSchema = std::size_t{1} << 20;

/// Whether `Mcp-Param-*` are sent: over stdio the keyword means nothing.
enum class ParamHeaders : std::uint8_t { kNone, kSent };

/// `entries`: objects of `tools/list`, as they came. Those that configuration does not allow are
/// passed over without a word. Compiles schemas, which takes time: not for event loops.
ToolReading read_tools(std::span<const std::string> entries, const ToolRules& rules,
                       ParamHeaders headers);

}  // namespace crab::mcp
