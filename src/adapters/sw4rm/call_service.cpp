#include "adapters/sw4rm/call_service.hpp"

#include "adapters/sw4rm/call_request.hpp"
#include "adapters/sw4rm/call_summary.hpp"
#include "base/log.hpp"

#include <fmt/format.h>

namespace crab::sw4rm {
namespace {

constexpr Milliseconds kRequestTime{60'000};  // for a request's message to arrive
constexpr std::string_view kBuiltIn = "builtin";

std::string_view content_type_of(const core::ToolResult& result) {
    switch (result.kind) {
        case core::ContentKind::kText: return "text/plain";
        case core::ContentKind::kJson: return "application/json";
        case core::ContentKind::kBytes: break;
    }
    return result.content_type.empty() ? "application/octet-stream" : std::string_view(result.content_type);
}

struct CancelWord {
    std::string_view code, message;
};

CancelWord word_of(CallService::CancelAnswer answer) {
    switch (answer) {
        case CallService::CancelAnswer::kCancelling: return {"CANCELLED", "cancelled"};
        case CallService::CancelAnswer::kFinished: return {"ALREADY_COMPLETED", "the call had ended before"};
        case CallService::CancelAnswer::kNotFound: return {"NOT_FOUND", "no such call"};
        case CallService::CancelAnswer::kAmbiguous: return {"AMBIGUOUS_CALL", "several callers have a call of that id"};
    }
    return {"NOT_FOUND", "no such call"};
}

}  // namespace

/// What a call's views point into, beside the request's own bytes.
struct CallService::Request {
    core::Call call;
    std::string args;
    bool provider_stated = false;
};

// Everything that is decided before the pipeline; false: the RPC has been answered.
bool CallService::prepare(Rpc& rpc, std::string_view message, const core::Principal& principal, Request& request) {
    core::Call& call = request.call;
    const auto wire = parse_tool_call(message);
    if (!wire) {
        rpc.fail(form_of(ErrorCode::kInvalidArgs), "the request is no ToolCall");
        return false;
    }
    request.provider_stated = !wire->provider_id.empty();
    if (const auto parsed = parse_call(*wire, request.args, call); !parsed) {
        fail(rpc, request, parsed.error());
        return false;
    }
    if (call.id.empty()) {
        call.made_id = rpc.grpc().loop().ids().uuid_v7();
        call.id = call.made_id.view();
    }
    call.front = "grpc";
    call.canceller = &rpc.grpc().stream().canceller();
    call.caller_deadline = rpc.grpc().deadline();
    call.idempotency_key = rpc.metadata("idempotency-key").value_or("");
    call.traceparent = rpc.metadata("traceparent").value_or("");
    call.context.trace_id = rpc.correlation_id();
    call.context.agent_id = rpc.metadata("x-agent-id").value_or("");
    if (call.provider_id == kBuiltIn) {
        // Built-in names are reserved, so the plain name is theirs or leads elsewhere.
        const auto tool = pipeline_.resolve(principal, call.tenant, call.tool);
        if (!tool || (*tool)->source.kind != core::SourceKind::kBuiltIn) {
            fail(rpc, request, crab::fail(ErrorCode::kToolNotFound, fmt::format("no built-in tool {}", call.tool)).error());
            return false;
        }
        call.provider_id = {};
    }
    return true;
}

void CallService::fail(Rpc& rpc, const Request& request, const Error& error) {
    if (error.code == ErrorCode::kToolNotFound && request.provider_stated) {
        rpc.fail(kNoRoute, error.message, {.type = "provider", .id = request.call.provider_id});
    } else if (error.code == ErrorCode::kToolNotFound || error.code == ErrorCode::kAmbiguousTool) {
        rpc.fail(error, {.type = "tool", .id = request.call.tool});
    } else {
        rpc.fail(error, {.type = "call", .id = request.call.id});
    }
}

Task<void> CallService::call(Rpc rpc, core::PrincipalRef principal) {
    const Deadline request_due = rpc.grpc().loop().now() + kRequestTime;
    const auto message = co_await rpc.grpc().read_only(request_due);
    if (!message) {
        rpc.fail(message.error());
        co_return;
    }
    Request request;
    if (!prepare(rpc, *message, *principal, request)) co_return;
    core::FrameSink nobody;
    const core::AuthenticatedCall authenticated(request.call, principal);
    const core::CallEnd end = co_await pipeline_.run(authenticated, nobody);
    if (!*end.outcome) {
        fail(rpc, request, end.outcome->error());
        co_return;
    }
    const core::ToolResult& result = **end.outcome;
    const std::string summary = call_summary({.end = end, .status = "ok", .frames = 1, .bytes = result.content.size()});
    constexpr std::size_t kAround = 1024;  // ids, types and lengths of a frame
    if (result.content.size() + summary.size() + kAround > net::GrpcCall::kMostMessageBytes) {
        rpc.fail(form_of(ErrorCode::kOversize), fmt::format("the result has {} bytes, too many for one frame; use CallStream", result.content.size()),
                 {.type = "call", .id = request.call.id});
        co_return;
    }
    FrameWriter frames(rpc.grpc(), request.call.id);
    frames.write_only(result.content, content_type_of(result), summary);
    rpc.finish_ok();
}

Task<void> CallService::call_stream(Rpc rpc, core::PrincipalRef principal) {
    const Deadline request_due = rpc.grpc().loop().now() + kRequestTime;
    const auto message = co_await rpc.grpc().read_only(request_due);
    if (!message) {
        rpc.fail(message.error());
        co_return;
    }
    Request request;
    if (!prepare(rpc, *message, *principal, request)) co_return;
    request.call.wants_stream = true;
    FrameWriter frames(rpc.grpc(), request.call.id);
    const core::AuthenticatedCall authenticated(request.call, principal);
    const core::CallEnd end = co_await pipeline_.run(authenticated, frames);
    if (!*end.outcome) {
        fail(rpc, request, end.outcome->error());
        co_return;
    }
    // A tool that streams gives its whole output as its result as well, or nothing: what was not sent yet comes now.
    const core::ToolResult& result = **end.outcome;
    const std::string_view rest = std::string_view(result.content).substr(std::min<std::size_t>(result.content.size(), frames.bytes()));
    if (!co_await frames.write_rest(rest, content_type_of(result))) {
        rpc.fail(form_of(ErrorCode::kCancelled), "slow reader", {.type = "call", .id = request.call.id});
        co_return;
    }
    const std::string summary = call_summary({.end = end, .status = "ok", .frames = frames.frames() + 1, .bytes = frames.bytes()});
    frames.write_final(content_type_of(result), summary);
    rpc.finish_ok();
}

Task<void> CallService::cancel(Rpc rpc, core::PrincipalRef principal) {
    const Deadline request_due = rpc.grpc().loop().now() + kRequestTime;
    const auto message = co_await rpc.grpc().read_only(request_due);
    if (!message) {
        rpc.fail(message.error());
        co_return;
    }
    const auto wire = parse_tool_call(*message);
    if (!wire || !is_call_id(wire->call_id)) {
        rpc.fail(form_of(ErrorCode::kInvalidArgs), "call_id has to name a call, in 1 to 256 bytes");
        co_return;
    }
    const CancelWord word = word_of(cancel_(*principal, wire->call_id));
    to_wire(rpc.grpc().begin_message(), ToolError{.call_id = wire->call_id, .error_code = word.code, .message = word.message});
    rpc.grpc().end_message();
    rpc.finish_ok();
}

}  // namespace crab::sw4rm
