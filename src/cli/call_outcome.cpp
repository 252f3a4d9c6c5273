#include "cli/call_outcome.hpp"

#include "base/coded_text.hpp"
#include "base/encoding.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"

#include <fmt/format.h>

namespace crab::cli {
namespace {

/// The one text or blob that the result is made of; nullptr when it is JSON.
const std::string* only_member(const json::Value& result, std::string_view name) {
    const json::Value* member = result.find(name);
    if (!member || !member->as_string()) return nullptr;
    const std::size_t known =
        1 + (result.find("content_type") ? 1u : 0u) + (result.find("operation_id") ? 1u : 0u);
    return result.as_object()->size() == known ? member->as_string() : nullptr;
}

void show_result(const json::Value& result) {
    const bool interactive = Terminal::out().interactive();
    const std::string* text = result.as_string();
    for (const std::string_view name : {"text", "content"})
        text = text ? text : only_member(result, name);
    if (text) {
        print(interactive ? printable(*text, Lines::kKeep) : *text);
        if (interactive && !text->ends_with('\n')) print("\n");
    } else if (const std::string* blob = only_member(result, "data_base64");
               blob && from_base64(*blob)) {
        if (interactive)
            print_line(fmt::format("({} bytes of {}; send them to a file)",
                                   from_base64(*blob)->size(),
                                   printable(text_of(result, "content_type"))));
        else
            print(*from_base64(*blob));
    } else {
        print_json(result);
    }
}

void show_error(const json::Value& error, const std::string& call_id) {
    const std::string message = text_of(error, "message");
    complain(coded_text(text_of(error, "code"), message));
    const json::Value none = json::Value::object();
    const json::Value* const given = error.find("details");
    const json::Value& details = given ? *given : none;
    for (const json::Value& violation : items_of(details, "errors")) {
        const std::string pointer = text_of(violation, "pointer"),
                          what = text_of(violation, "message");
        // said already
        if (fmt::format("; {}; ", message).find(fmt::format("; {}; ", what)) != std::string::npos)
            continue;
        complain(fmt::format("  {}  {}  {}", pointer.empty() ? "(arguments)" : pointer,
                             text_of(violation, "rule"), what));
    }
    if (details.find("retry_after_ms"))
        complain(fmt::format("  try again after {} ms", number_of(details, "retry_after_ms")));
    if (const auto code = find_error_code(text_of(error, "code"))) {
        if (const std::string_view next = advice_of(*code, details); !next.empty()) complain(next);
    }
    if (!call_id.empty())
        complain(fmt::format("call {0}; crab calls show {0} tells more", call_id));
}

}  // namespace

std::string_view advice_of(ErrorCode code, const json::Value& details) {
    switch (code) {
        case ErrorCode::kInvalidArgs:
            return items_of(details, "errors").empty() ? std::string_view() : next_step(code);
        case ErrorCode::kRateLimited:
            return details.find("retry_after_ms")
                       ? std::string_view()
                       : std::string_view("Wait a little and call again.");
        // What the code is for is all there is to know.
        case ErrorCode::kUnauthenticated:
        case ErrorCode::kAuthRequired:
        case ErrorCode::kPairingRequired:
        case ErrorCode::kPolicyUnenforceable:
        case ErrorCode::kWorktreeNotBound:
        case ErrorCode::kConflict:
        case ErrorCode::kAlreadyInProgress:
        case ErrorCode::kOversize:
        case ErrorCode::kTimeout:
        case ErrorCode::kWallTimeout:
        case ErrorCode::kCpuBudgetExceeded:
        case ErrorCode::kOutcomeUnknown: return next_step(code);
        // A rule, a hook, a person, a device, the tool: the message says who and what.
        case ErrorCode::kToolNotFound:
        case ErrorCode::kNotFound:
        case ErrorCode::kForbidden:
        case ErrorCode::kPairingFailed:
        case ErrorCode::kApprovalRequired:
        case ErrorCode::kAmbiguousTool:
        case ErrorCode::kUnavailable:
        case ErrorCode::kCancelled:
        case ErrorCode::kToolFailed:
        case ErrorCode::kInternal: break;
    }
    return {};
}

int exit_code_of_outcome(const json::Value& response) {
    if (text_of(response, "status") == "ok") return kExitOk;
    const json::Value* error = response.find("error");
    const std::string token = error ? text_of(*error, "code") : "";
    if (!token.empty()) return exit_code_of(token);
    return text_of(response, "status") == "timeout" ? kExitTimeout : kExitFailed;
}

int show_outcome(const json::Value& response) {
    for (const json::Value& line : items_of(response, "logs")) {
        if (line.as_string()) complain("log: " + *line.as_string());
    }
    const int code = exit_code_of_outcome(response);
    if (code == kExitOk) {
        const json::Value* result = response.find("result");
        show_result(result ? *result : json::Value::object());
    } else if (const json::Value* error = response.find("error")) {
        show_error(*error, text_of(response, "call_id"));
    } else {
        complain("the call ended with status " + text_of(response, "status"));
    }
    return code;
}

}  // namespace crab::cli
