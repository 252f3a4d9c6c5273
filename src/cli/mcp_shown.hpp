#pragma once

#include "base/result.hpp"
#include "json/value.hpp"

#include <optional>
#include <string_view>

namespace crab::cli {

/// What `crab mcp diff` has shown this user of a server: `crab mcp approve` approves that, and not
/// what the server has made of it meanwhile. In `mcp_shown.json` of the user's state folder.
/// Entries: objects with kind, name and digest. Both block.
Result<void> keep_shown(std::string_view server, json::Value::Items entries);
/// Nothing when nothing was shown yet.
std::optional<json::Value::Items> find_shown(std::string_view server);

}  // namespace crab::cli
