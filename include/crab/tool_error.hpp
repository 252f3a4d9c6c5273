#pragma once

#include <string>

namespace crab {

/// Why something failed: a code such as `RATE_LIMITED` (spec/errors.json) and a sentence that says
/// what to do next.
struct ToolError {
    std::string code{};
    std::string message{};
    std::string details{};   ///< a JSON object as text, or empty
    bool retryable = false;  ///< a repeat may help and does no harm
};

}  // namespace crab
