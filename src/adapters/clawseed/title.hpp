#pragma once

#include <string>
#include <string_view>

namespace crab::clawseed {

/// A name for a chat session from what was asked first: its first line that says something, at most
/// 60 bytes, cut between words if there are any; empty when there is none.
std::string title_from(std::string_view question);

}  // namespace crab::clawseed
