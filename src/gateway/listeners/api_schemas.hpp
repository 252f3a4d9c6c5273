#pragma once

#include <string_view>

namespace crab::gateway {

/// The text of `spec/http/<name>.schema.json` or `spec/event_envelope.schema.json`, which are part
/// of the program; empty for no such file.
std::string_view find_api_schema(std::string_view name);

}  // namespace crab::gateway
