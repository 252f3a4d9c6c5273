#include "adapters/mcp/wire/error_form.hpp"

#include "adapters/mcp/wire/content.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <fmt/format.h>

namespace crab::mcp {
namespace {

// What a client hears that may repeat a call and was not told when.
constexpr Milliseconds kRetryAfter{1000};

/// Codes whose clients are always told when a repeat may help.
bool says_when(ErrorCode code) {
    return code == ErrorCode::kRateLimited || code == ErrorCode::kUnavailable ||
           code == ErrorCode::kAlreadyInProgress;
}

std::string_view advice(ErrorCode code) {
    if (code == ErrorCode::kOutcomeUnknown)
        return "It may have run: do not simply repeat it, find out first whether it took effect.";
    return next_step(code);
}

/// Whether `details` are the result object of an upstream that said `isError`.
bool is_upstream_result(const Error& error) {
    return error.code == ErrorCode::kToolFailed && is_error_result(error.details) &&
           json::find_raw(error.details, "content").value_or("").starts_with('[');
}

/// `_meta` with what is told of the error, for programs.
std::string error_meta(const Error& error, std::string_view meta) {
    std::string out;
    json::Writer writer(out);
    writer.begin_object();
    for (json::RawParts parts(meta); parts.next();) writer.key(parts.name()).raw(parts.value());
    writer.key("crab/error").begin_object();
    writer.key("code").string(token_of(error.code));
    writer.key("retryable").boolean(error.may_retry());
    if (error.retry_after || says_when(error.code))
        writer.key("retry_after_ms").integer(error.retry_after.value_or(kRetryAfter).count());
    if (error.details.starts_with('{') && !is_upstream_result(error))
        writer.key("details").raw(error.details);
    writer.end_object().end_object();
    return out;
}

}  // namespace

ErrorForm form_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::kToolNotFound:
        case ErrorCode::kNotFound: return {ErrorShape::kRpcError, 200};
        case ErrorCode::kUnauthenticated: return {ErrorShape::kHttpStatus, 401};
        case ErrorCode::kPairingRequired: return {ErrorShape::kHttpStatus, 403};
        case ErrorCode::kInvalidArgs:
        case ErrorCode::kForbidden:
        case ErrorCode::kAuthRequired:
        case ErrorCode::kPairingFailed:
        case ErrorCode::kApprovalRequired:
        case ErrorCode::kPolicyUnenforceable:
        case ErrorCode::kWorktreeNotBound:
        case ErrorCode::kAmbiguousTool:
        case ErrorCode::kConflict:
        case ErrorCode::kAlreadyInProgress:
        case ErrorCode::kRateLimited:
        case ErrorCode::kOversize:
        case ErrorCode::kUnavailable:
        case ErrorCode::kTimeout:
        case ErrorCode::kWallTimeout:
        case ErrorCode::kCpuBudgetExceeded:
        case ErrorCode::kCancelled:
        case ErrorCode::kOutcomeUnknown:
        case ErrorCode::kToolFailed:
        case ErrorCode::kInternal: break;
    }
    return {ErrorShape::kToolResult, 200};
}

RpcError rpc_error(const Error& error, std::int64_t code, std::string_view uri) {
    RpcError out{.code = code, .message = error.message, .data = {}};
    json::Writer writer(out.data);
    writer.begin_object().key("code").string(token_of(error.code));
    if (!uri.empty()) writer.key("uri").string(uri);
    writer.end_object();
    return out;
}

RpcError with_token(RpcError error) {
    if (!error.data.empty()) return error;
    const bool is_internal = error.code == rpc_code::kInternalError;
    const bool is_unknown = error.code == rpc_code::kMethodNotFound;
    const ErrorCode code = is_internal  ? ErrorCode::kInternal
                           : is_unknown ? ErrorCode::kNotFound
                                        : ErrorCode::kInvalidArgs;
    json::Writer(error.data).begin_object().key("code").string(token_of(code)).end_object();
    return error;
}

RpcError resource_not_found(std::string_view uri, std::string message, Revision revision) {
    return rpc_error(Error{.code = ErrorCode::kNotFound, .message = std::move(message)},
                     features_of(revision).resource_not_found, uri);
}

void append_error_result(std::string& out, const Error& error, const ResultForm& form) {
    const std::string meta = error_meta(error, form.meta);
    ResultForm with_error = form;
    with_error.meta = meta;
    if (is_upstream_result(error)) return append_call_result(out, error.details, with_error);
    std::string text;
    append_text_block(text, fmt::format("{}\n{}", error.message, advice(error.code)));
    append_call_result(out, fmt::format(R"({{"content":[{}],"isError":true}})", text), with_error);
}

}  // namespace crab::mcp
