#pragma once

#include "adapters/mcp/wire/names.hpp"
#include "base/glob.hpp"
#include "core/call/tool_scope.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace crab::mcp {

enum class Prefix : std::uint8_t { kAuto, kAlways, kNever };  ///< `mcp.names.prefix`

/// What `/mcp`, or `/mcp/<scope>`, shows of a caller's view, and how. It narrows what is listed and
/// called there; it gives no rights and takes none.
/// Source: docs/protocols/mcp.md, sections 2.2 and 4.1.
struct Scope {
    std::string name;  ///< of the path; empty: `/mcp`, which shows all
    core::ToolScope tools;
    Prefix prefix = Prefix::kAuto;
    NameOptions names;
    /// Names as listed, by the plain or qualified one; these are neither prefixed nor shortened
    std::map<std::string, std::string, std::less<>> renamed;
    std::string instructions;  ///< may be empty
    std::vector<Glob> pinned;  ///< tools that are listed though others have to be searched for
    std::size_t most_tools = 0;  ///< to list at once; 0: any number
    std::size_t most_tokens = 0;  ///< estimated, of the list; 0: any number

    bool is_whole() const { return name.empty(); }
};

}  // namespace crab::mcp
