#pragma once

#include "core/call/tool.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace crab::cron {

inline constexpr std::string_view kCreateTool = "cron.create";
inline constexpr std::string_view kListTool = "cron.list";
inline constexpr std::string_view kRemoveTool = "cron.remove";

/// A job's input, as compact JSON.
inline constexpr std::size_t kMostInputBytes = 64 << 10;

/// The three tools of the cron host, sorted by name. Source: docs/protocols/rtp.md, section 11.
std::vector<core::ToolSpec> cron_tools();

}  // namespace crab::cron
