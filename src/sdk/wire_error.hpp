#pragma once

#include "base/error.hpp"

#include "crab/tool_error.hpp"

namespace crab::sdk {

/// Our error in the words that users of the SDK see.
inline ToolError to_tool_error(const Error& error) {
    return {.code = std::string(token_of(error.code)),
            .message = error.message,
            .details = error.details,
            .retryable = error.may_retry()};
}

}  // namespace crab::sdk
