#pragma once

#include "base/clock.hpp"
#include "core/call/tool.hpp"
#include "core/call/tool_result.hpp"

#include <string_view>

namespace crab::core {

struct Call;

// Errors and rules about repeats that several stages share.

/// A different call with this id or key exists.
Error conflict();
Error cancelled();
/// The call was admitted, and its outcome is unknown.
Error unknown_since(SystemTime admitted_at);
/// The call was recorded by an older version and cannot be compared.
Error recorded_otherwise(SystemTime admitted_at);

/// Whether the tool may have run although the call ended with this code; such calls are never safe
/// to repeat.
bool is_in_doubt(ErrorCode code);
/// Whether the tool is idempotent, or deduplicates by the key of the first attempt.
bool may_run_again(const Tool& tool);
/// Whether a repeat under the same key may run again after this outcome.
bool leaves_no_trace(const Outcome& outcome, const Tool& tool, bool dispatched);
/// Whether a call that was authorized, validated and recorded for `before` may run on `now`, a
/// later registration.
bool stands_in_for(const Tool& now, const Tool& before);

/// Logs the exception being handled.
void log_thrown(std::string_view event, std::string_view who, const Call& call);

}  // namespace crab::core
