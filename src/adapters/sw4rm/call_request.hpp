#pragma once

#include "adapters/sw4rm/messages.hpp"
#include "core/call.hpp"

#include <expected>
#include <string>

namespace crab::sw4rm {

/// A ToolCall in plain words. `call` views `wire` and `args`, which must live as long; the id is as the caller gave it, or
/// empty. `args` holds arguments that had to be rewritten as JSON. Errors: kInvalidArgs, naming field, rule and value.
Result<void> parse_call(const ToolCall& wire, std::string& args, core::Call& call);

/// Whether `id` is 1 to 256 bytes without control characters.
bool is_call_id(std::string_view id);

}  // namespace crab::sw4rm
