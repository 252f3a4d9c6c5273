#pragma once

#include "base/error.hpp"

#include <expected>
#include <string>
#include <utility>

namespace crab {

template <class T>
using Result = std::expected<T, Error>;

/// `return fail(ErrorCode::kInvalidArgs, "what, and what to do")` from any function that returns a
/// Result.
inline std::unexpected<Error> fail(ErrorCode code, std::string message, std::string details = {}) {
    return std::unexpected(Error{.code = code,
                                 .message = std::move(message),
                                 .details = std::move(details),
                                 .retryable = {},
                                 .retry_after = {}});
}
inline std::unexpected<Error> fail(Error error) { return std::unexpected(std::move(error)); }

}  // namespace crab
