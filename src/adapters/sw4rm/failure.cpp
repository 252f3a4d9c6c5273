#include "adapters/sw4rm/failure.hpp"

#include "adapters/sw4rm/error_form.hpp"

#include <algorithm>
#include <charconv>

namespace crab::sw4rm {
namespace {

using Status = net::GrpcStatus;

constexpr std::size_t kMostMessage = 2048;
constexpr std::int64_t kLongestPause = 600'000;

bool is_token(std::string_view text) {
    const auto fits = [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    return text == "worktree_not_bound" ||
           (!text.empty() && text.size() <= 64 && std::ranges::all_of(text, fits));
}

/// `TOKEN: text` taken apart; an empty token when there is none.
struct CodedMessage {
    std::string_view token, text;
};
CodedMessage split_message(std::string_view message) {
    const std::size_t colon = message.find(": ");
    if (colon == message.npos || !is_token(message.substr(0, colon)))
        return {.token = {}, .text = message};
    return {.token = message.substr(0, colon), .text = message.substr(colon + 2)};
}

/// The code that has this token on our own wire; several spellings are read.
std::optional<ErrorCode> code_of_token(std::string_view token) {
    if (token == "CANCELED") return ErrorCode::kCancelled;
    if (token == kNoRoute.token) return ErrorCode::kToolNotFound;
    if (token == kShuttingDown.token) return ErrorCode::kUnavailable;
    const auto codes = all_error_codes();
    const auto found =
        std::ranges::find_if(codes, [&](ErrorCode code) { return form_of(code).token == token; });
    if (found == codes.end()) return std::nullopt;
    return *found;
}

ErrorCode code_of_status(Status status) {
    switch (status) {
        case Status::kCancelled: return ErrorCode::kCancelled;
        case Status::kInvalidArgument:
        case Status::kOutOfRange: return ErrorCode::kInvalidArgs;
        case Status::kDeadlineExceeded: return ErrorCode::kTimeout;
        case Status::kNotFound: return ErrorCode::kToolNotFound;
        case Status::kAlreadyExists: return ErrorCode::kConflict;
        case Status::kPermissionDenied:
        case Status::kUnauthenticated: return ErrorCode::kForbidden;
        case Status::kResourceExhausted: return ErrorCode::kRateLimited;
        case Status::kUnavailable: return ErrorCode::kOutcomeUnknown;
        case Status::kUnknown:
        case Status::kFailedPrecondition:
        case Status::kAborted: return ErrorCode::kToolFailed;
        case Status::kOk:
        case Status::kUnimplemented:
        case Status::kInternal:
        case Status::kDataLoss: break;
    }
    return ErrorCode::kInternal;
}

std::optional<bool> read_flag(std::optional<std::string_view> text) {
    if (text == "true") return true;
    if (text == "false") return false;
    return std::nullopt;
}

std::optional<Milliseconds> read_pause(std::optional<std::string_view> text) {
    std::int64_t value = 0;
    if (!text ||
        std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc() ||
        value < 0)
        return std::nullopt;
    return Milliseconds(std::min(value, kLongestPause));
}

}  // namespace

CallFailure read_failure(const net::GrpcClientCall& call) {
    const net::GrpcEnd& end = call.end();
    CallFailure failure{.error = {},
                        .status = end.status,
                        .answered = end.answered,
                        .retry_able = read_flag(call.trailer("retry-able"))};
    const CodedMessage said = split_message(end.message);
    auto code = code_of_token(said.token);
    if (!code) code = code_of_token(call.trailer("error-code").value_or(""));
    failure.error.code = code.value_or(code_of_status(end.status));
    if (end.unseen) failure.error.code = ErrorCode::kUnavailable;
    if (!end.answered && !end.unseen)
        failure.error.code =
            end.status == Status::kUnavailable ? ErrorCode::kOutcomeUnknown : ErrorCode::kInternal;
    // Nobody but its owner knows whether a call at a server that is "unavailable" has begun, unless
    // it says so.
    if (failure.error.code == ErrorCode::kUnavailable && end.answered && failure.retry_able != true)
        failure.error.code = ErrorCode::kOutcomeUnknown;
    failure.error.message = said.text.substr(0, kMostMessage);
    if (failure.error.message.empty()) failure.error.message = "the other side gave no reason";
    failure.error.retryable = failure.retry_able;
    failure.error.retry_after = read_pause(call.trailer("retry-after-ms"));
    return failure;
}

}  // namespace crab::sw4rm
