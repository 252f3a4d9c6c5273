#pragma once

#include <string>
#include <string_view>

namespace crab {

/// `CODE: message`, with the code said once: tools begin their own messages with `CODE: ` or
/// `[CODE] `, and some say nothing more.
std::string coded_text(std::string_view code, std::string_view message);

}  // namespace crab
