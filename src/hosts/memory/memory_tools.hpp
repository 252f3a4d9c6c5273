#pragma once

#include "core/call/tool.hpp"

#include <string_view>
#include <vector>

namespace crab::memory {

inline constexpr std::string_view kAppendTool = "memory.append";
inline constexpr std::string_view kQueryTool = "memory.query";
inline constexpr std::string_view kDeleteTool = "memory.delete";

/// A memory's metadata, as compact JSON.
inline constexpr std::size_t kMostMetadataBytes = 8 << 10;

/// The three tools of the memory host, sorted by name. Source: docs/protocols/rtp.md, "Memory
/// host".
std::vector<core::ToolSpec> memory_tools();

}  // namespace crab::memory
