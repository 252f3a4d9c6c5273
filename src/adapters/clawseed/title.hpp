#pragma once

#include <string>
#include <string_view>

namespace crab::clawseed {

/// A title for a chat session: the first non-blank line of its first question, at most 60 bytes,
/// cut between words if possible; may be empty.
std::string title_from(std::string_view question);

}  // namespace crab::clawseed
