#pragma once

#include <string>
#include <string_view>

namespace crab {

/// `CODE: message`, without repeating the code for messages that start with `CODE: ` or `[CODE] `
/// or consist of it.
std::string coded_text(std::string_view code, std::string_view message);

}  // namespace crab
