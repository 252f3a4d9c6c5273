#pragma once

#include "base/clock.hpp"
#include "core/call/tool.hpp"
#include "core/call/tool_result.hpp"

#include <string_view>

namespace crab::core {

struct Call;

// What callers are told by more than one stage, and what the stages agree about repeats.

/// Another call has this id or key.
Error conflict();
Error cancelled();
/// The call was recorded, and its end was not.
Error unknown_since(SystemTime admitted_at);
/// An older program recorded the call in a way that does not say what it was.
Error recorded_otherwise(SystemTime admitted_at);

/// Whether the tool may have run although the call ended so; no host's word makes that safe to
/// repeat.
bool is_in_doubt(ErrorCode code);
/// Whether a second run under the same key has no second effect; calls to such a tool have the key
/// of the first attempt.
bool may_run_again(const Tool& tool);
/// Whether a repeat under the same key may run again although this call ended so.
bool leaves_no_trace(const Outcome& outcome, const Tool& tool, bool dispatched);
/// Whether what was authorized, validated and made durable for `before` holds for `now`, a later
/// registration, as well.
bool stands_in_for(const Tool& now, const Tool& before);

/// Of the exception that is being handled.
void log_thrown(std::string_view event, std::string_view who, const Call& call);

}  // namespace crab::core
