#pragma once

#include "cli/admin_client.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crab::cli {

/// The names of all tools; none when the gateway does not answer.
std::vector<std::string> tool_names(AdminClient& client);
/// `no tool named x; did you mean y?`
std::string no_such_tool(std::string_view name, std::span<const std::string> names);

}  // namespace crab::cli
