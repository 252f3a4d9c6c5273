#include "core/pipeline/call_endings.hpp"

#include "base/exception_text.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "core/call/call.hpp"

#include <exception>
#include <string>

#include <fmt/format.h>

namespace crab::core {
namespace {

Error outcome_unknown(std::string message, std::string_view admitted_at) {
    return {.code = ErrorCode::kOutcomeUnknown,
            .message = std::move(message),
            .details = fmt::format(R"({{"admitted_at":"{}"}})", admitted_at),
            .retryable = false,
            .retry_after = {}};
}

}  // namespace

Error conflict() {
    return fail(ErrorCode::kConflict,
                "this call id or idempotency key was used for a call with other content; use a new "
                "one")
        .error();
}

Error cancelled() { return fail(ErrorCode::kCancelled, "the call was cancelled").error(); }

Error unknown_since(SystemTime admitted_at) {
    const std::string at = to_rfc3339(admitted_at);
    return outcome_unknown(
        fmt::format("this call was sent at {} and the gateway stopped before it had an answer: it "
                    "may or may not have run; look at the tool's effects, then use a new key",
                    at),
        at);
}

Error recorded_otherwise(SystemTime admitted_at) {
    const std::string at = to_rfc3339(admitted_at);
    return outcome_unknown(
        fmt::format("a call of this key was recorded at {} by an older gateway, and whether it was "
                    "this one cannot be told; look at the tool's effects, then use a new key",
                    at),
        at);
}

bool is_in_doubt(ErrorCode code) {
    return code == ErrorCode::kTimeout || code == ErrorCode::kCancelled ||
           code == ErrorCode::kOutcomeUnknown;
}

bool may_run_again(const Tool& tool) {
    return tool.spec.idempotent || tool.spec.accepts_idempotency_key;
}

bool leaves_no_trace(const Outcome& outcome, const Tool& tool, bool dispatched) {
    if (outcome) return false;
    const Error& error = outcome.error();
    if (dispatched && is_in_doubt(error.code)) return may_run_again(tool);
    return !dispatched || error.may_retry();
}

bool stands_in_for(const Tool& now, const Tool& before) {
    return now.unique_name == before.unique_name && now.source_text == before.source_text &&
           now.spec.input_schema == before.spec.input_schema &&
           now.spec.idempotent >= before.spec.idempotent &&
           now.spec.accepts_idempotency_key >= before.spec.accepts_idempotency_key &&
           now.spec.effects() <= before.spec.effects();
}

void log_thrown(std::string_view event, std::string_view who, const Call& call) {
    log::error(event, {{"name", who},
                       {"call_id", call.id},
                       {"trace_id", call.context.trace_id},
                       {"reason", text_of(std::current_exception())}});
}

}  // namespace crab::core
