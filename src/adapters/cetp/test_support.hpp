#pragma once

#include "adapters/cetp/tool_list.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace crab::cetp::test {

/// What ToolListReader reads, in one step.
inline Result<ToolList> parse_tool_list(std::string data) {
    ToolListReader reader(std::move(data));
    while (reader.step(std::chrono::hours(1))) {}
    return reader.take();
}

}  // namespace crab::cetp::test
