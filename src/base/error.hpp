#pragma once

#include "base/error_code.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace crab {

/// An expected failure, as a value. `message` says what failed and what to do next; it contains no
/// secret, stack or path.
struct Error {
    ErrorCode code = ErrorCode::kInternal;
    std::string message;
    std::string details;                                    ///< a JSON object as text, or empty
    std::optional<bool> retryable;  ///< set by the host; absent: the code's default
    std::optional<std::chrono::milliseconds> retry_after;  ///< when a repeat may help

    bool may_retry() const { return retryable.value_or(is_retryable(code)); }
};

}  // namespace crab
