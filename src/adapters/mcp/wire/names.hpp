#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// Names of tools and prompts as lists show them. Source: docs/protocols/mcp.md, section 4.1.
namespace crab::mcp {

inline constexpr std::size_t kMaxToolName = 128;   ///< of the registry's names
inline constexpr std::size_t kMaxListedName = 64;  ///< `mcp.names.max`

enum class Dots : bool { kKeep, kUnderscore };  ///< `mcp.names.dots`

struct NameOptions {
    std::size_t max = kMaxListedName;  ///< 16 to 128
    Dots dots = Dots::kKeep;
};

/// The name under which an upstream's tool is registered: its own if that matches
/// `[A-Za-z0-9_.-]{1,128}`; else each other character becomes `_`, and `_` with 8 hex digits of the
/// SHA-256 of its own name is appended, so that two odd names stay two. Upstream it keeps its own.
std::string tool_name(std::string_view upstream_name);
/// The same with a digest at its end always, for a name that means something else here.
std::string altered_name(std::string_view upstream_name);

/// `<source>__<name>`
std::string qualified_name(std::string_view source, std::string_view name);

/// The name that lists show for `name`, a plain or qualified one of the registry: within `max`
/// characters itself, else its first `max - 9`, `_`, and 8 hex digits of its SHA-256.
std::string listed_name(std::string_view name, const NameOptions& options = {});

}  // namespace crab::mcp
