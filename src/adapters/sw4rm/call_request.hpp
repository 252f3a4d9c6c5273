#pragma once

#include "adapters/sw4rm/messages.hpp"
#include "core/call/call.hpp"

#include <expected>
#include <string>

namespace crab::sw4rm {

/// Texts that parse_call() converted.
struct CallTexts {
    std::string args;       ///< as JSON
    std::string body_type;  ///< the content type, in lower case and without parameters
};

/// Converts a ToolCall to a core::Call. `call` views `wire` and `texts`, which must outlive it; the
/// id is the caller's, or empty. Errors: kInvalidArgs, naming field, rule and value.
Result<void> parse_call(const ToolCall& wire, CallTexts& texts, core::Call& call);

/// Whether `id` is 1 to 256 bytes without control characters.
bool is_call_id(std::string_view id);

}  // namespace crab::sw4rm
