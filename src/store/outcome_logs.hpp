#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace crab::store {

/// Log lines of a result as they are stored: a JSON array, empty without lines.
std::string logs_to_text(const std::vector<std::string>& logs);
std::vector<std::string> logs_from_text(std::string_view text);

}  // namespace crab::store
