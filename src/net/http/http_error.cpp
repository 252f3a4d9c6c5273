#include "net/http/http_error.hpp"

namespace crab::net {
namespace {

void append_json_string(std::string& out, std::string_view text) {
    constexpr std::string_view kHex = "0123456789abcdef";
    out += '"';
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (byte < 0x20) {
            out += "\\u00";
            out += kHex[byte >> 4];
            out += kHex[byte & 15];
        } else {
            out += c;
        }
    }
    out += '"';
}

}  // namespace

void append_error_body(std::string& out, std::string_view code, std::string_view message) {
    out += "{\"error\":";
    append_json_string(out, message);
    out += ",\"code\":";
    append_json_string(out, code);
    out += '}';
}

int http_status(ErrorCode code) {
    switch (code) {
        case ErrorCode::kInvalidArgs: return 400;
        case ErrorCode::kToolNotFound:
        case ErrorCode::kNotFound: return 404;
        case ErrorCode::kUnauthenticated: return 401;
        case ErrorCode::kForbidden:
        case ErrorCode::kAuthRequired:
        case ErrorCode::kPairingRequired:
        case ErrorCode::kApprovalRequired:
        case ErrorCode::kWorktreeNotBound:
        case ErrorCode::kPolicyUnenforceable: return 403;
        case ErrorCode::kAmbiguousTool:
        case ErrorCode::kConflict:
        case ErrorCode::kAlreadyInProgress: return 409;
        case ErrorCode::kOversize: return 413;
        case ErrorCode::kRateLimited: return 429;
        case ErrorCode::kCancelled: return 499;
        case ErrorCode::kInternal: return 500;
        case ErrorCode::kPairingFailed:
        case ErrorCode::kOutcomeUnknown:
        case ErrorCode::kCpuBudgetExceeded:
        case ErrorCode::kToolFailed: return 502;
        case ErrorCode::kUnavailable: return 503;
        case ErrorCode::kTimeout:
        case ErrorCode::kWallTimeout: return 504;
    }
    return 500;
}

std::string_view code_for_status(int status) {
    switch (status) {
        case 408: return token_of(ErrorCode::kTimeout);
        case 413:
        case 431: return token_of(ErrorCode::kOversize);
        case 429: return token_of(ErrorCode::kRateLimited);
        case 503: return token_of(ErrorCode::kUnavailable);
        default: return token_of(status >= 500 ? ErrorCode::kInternal : ErrorCode::kInvalidArgs);
    }
}

}  // namespace crab::net
