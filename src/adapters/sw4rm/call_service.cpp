#include "adapters/sw4rm/call_service.hpp"

#include "adapters/sw4rm/call_request.hpp"
#include "adapters/sw4rm/call_summary.hpp"
#include "base/log.hpp"
#include "base/scope_exit.hpp"
#include "core/call/plain_form.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace crab::sw4rm {
namespace {

constexpr Milliseconds kCallRequestTime{60'000};  // for a request's message to arrive
constexpr std::string_view kBuiltIn = "builtin";

std::string_view content_type_of(const core::ToolResult& result) {
    switch (result.kind) {
        case core::ContentKind::kText: return "text/plain";
        case core::ContentKind::kJson: return "application/json";
        case core::ContentKind::kBytes: break;
    }
    return result.content_type.empty() ? "application/octet-stream"
                                       : std::string_view(result.content_type);
}

/// Whether a stored outcome has all of its output: a long stream is not kept.
bool is_whole(const core::CallEnd& end) {
    const core::ToolResult& result = **end.outcome;
    return !end.replayed || result.content.size() >= result.usage.output_bytes;
}

struct CancelWord {
    std::string_view code, message;
};

CancelWord word_of(core::CancelAnswer answer) {
    switch (answer) {
        case core::CancelAnswer::kCancelling: return {"CANCELLED", "cancelled"};
        case core::CancelAnswer::kFinished:
            return {"ALREADY_COMPLETED", "the call had ended before"};
        case core::CancelAnswer::kNotFound: return {"NOT_FOUND", "no such call"};
        case core::CancelAnswer::kAmbiguous:
            return {"AMBIGUOUS_CALL", "several callers have a call of that id"};
    }
    return {"NOT_FOUND", "no such call"};
}

}  // namespace

/// Storage for a call's views, in addition to the request's own bytes.
struct CallService::Request {
    core::Call call;
    CallTexts texts;
    bool provider_stated = false;
};

// Everything that is decided before the pipeline; false: the RPC has been answered.
bool CallService::prepare(Rpc& rpc, std::string_view message, const core::Principal& principal,
                          Request& request) {
    core::Call& call = request.call;
    const auto wire = parse_tool_call(message);
    if (!wire) {
        rpc.fail(form_of(ErrorCode::kInvalidArgs), "the request is not a ToolCall");
        return false;
    }
    request.provider_stated = !wire->provider_id.empty();
    if (const auto parsed = parse_call(*wire, request.texts, call); !parsed) {
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
    call.approval_stops_clock = true;
    call.idempotency_key = rpc.metadata("idempotency-key").value_or("");
    call.traceparent = rpc.metadata("traceparent").value_or("");
    call.context.trace_id = rpc.correlation_id();
    call.context.agent_id = rpc.metadata("x-agent-id").value_or("");
    const bool built_in = call.provider_id == kBuiltIn;
    const bool labelled =
        !call.policy.network_policy.empty() || !call.policy.privilege_level.empty();
    if (built_in || labelled) {
        const std::string name = request.provider_stated && !built_in
                                     ? fmt::format("{}__{}", call.provider_id, call.tool)
                                     : std::string(call.tool);
        const auto tool = pipeline_.resolve(principal, call.tenant, name);
        // Built-in names are reserved, so the plain name is theirs or leads elsewhere.
        if (built_in && (!tool || (*tool)->source.kind != core::SourceKind::kBuiltIn)) {
            fail(rpc, request,
                 crab::fail(ErrorCode::kToolNotFound, fmt::format("no built-in tool {}", call.tool))
                     .error());
            return false;
        }
        // What runs on a device or a peer lies outside the sandbox: no label can be kept there
        // (section 4).
        if (labelled && tool && !(*tool)->limits &&
            (*tool)->source.kind != core::SourceKind::kBuiltIn) {
            const std::string text = fmt::format(
                "{} runs where no network policy or privilege level can be kept; leave both empty",
                call.tool);
            rpc.fail(form_of(ErrorCode::kPolicyUnenforceable), text,
                     {.type = "tool", .id = call.tool});
            return false;
        }
        if (built_in) call.provider_id = {};
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

void CallService::fail(Rpc& rpc, const Request& request, const core::CallEnd& end) const {
    if (*end.outcome) {
        return rpc.fail(
            form_of(ErrorCode::kConflict),
            "the call has ended well, but its output was too large to be kept; use a new call_id",
            {.type = "call", .id = request.call.id});
    }
    const Error& error = end.outcome->error();
    if (error.code == ErrorCode::kApprovalRequired && !end.approval_id.empty())
        return rpc.fail(error, {.type = "approval", .id = end.approval_id});
    if (form_of(error).status == net::GrpcStatus::kDeadlineExceeded) {
        const Milliseconds limit =
            end.policy ? end.policy->timeout
                       : request.call.timeout.value_or(end.tool ? end.tool->spec.default_timeout
                                                                : Milliseconds(0));
        const std::string configured = std::to_string(limit.count());
        const std::string elapsed =
            std::to_string(std::chrono::duration_cast<Milliseconds>(end.duration).count());
        const std::array<net::HttpHeader, 2> times{
            {{"configured-timeout-ms", configured}, {"elapsed-ms", elapsed}}};
        return rpc.fail(error, {.type = "call", .id = request.call.id}, times);
    }
    if (!draining_ || error.code != ErrorCode::kCancelled || !end.cancelled_by.empty())
        return fail(rpc, request, error);
    const bool harmless = end.tool && end.tool->spec.idempotent;
    rpc.fail(
        harmless ? kShuttingDown : form_of(ErrorCode::kOutcomeUnknown),
        harmless
            ? "the gateway stopped before the call had ended; call again when it is back"
            : "the gateway stopped before the call had ended; it may or may not have taken effect",
        {.type = "call", .id = request.call.id});
}

Task<void> CallService::call(Rpc rpc, core::PrincipalRef principal) {
    const Deadline request_due = rpc.grpc().loop().now() + kCallRequestTime;
    const auto message = co_await rpc.grpc().read_only(request_due);
    if (!message) {
        rpc.fail(message.error());
        co_return;
    }
    Request request;
    if (!prepare(rpc, *message, *principal, request)) co_return;
    core::FrameSink nobody;
    const core::AuthenticatedCall authenticated(request.call, principal);
    net::Http2Stream& stream = rpc.grpc().stream();
    // While others wait for the call that this RPC began, neither its end nor its deadline ends the
    // call.
    stream.goes_on_when_gone(
        [&request] { return core::Pipeline::goes_on_for_others(request.call); });
    const ScopeExit answered([&] { stream.goes_on_when_gone({}); });
    bool late = false;
    request.call.on_overtime = [&] {
        late = true;
        rpc.fail(form_of(ErrorCode::kTimeout),
                 "the deadline passed; the call goes on for others who wait for it",
                 {.type = "call", .id = request.call.id});
    };
    const core::CallEnd end = co_await runner_.run(authenticated, nobody);
    if (late) co_return;
    if (!*end.outcome || !is_whole(end)) {
        fail(rpc, request, end);
        co_return;
    }
    const auto plain = core::plain_form(**end.outcome);
    const core::ToolResult& result = plain ? *plain : **end.outcome;
    const std::string summary =
        call_summary({.end = end, .status = "ok", .frames = 1, .bytes = result.content.size()});
    constexpr std::size_t kAround = 1024;  // ids, types and lengths of a frame
    if (result.content.size() + summary.size() + kAround > net::GrpcCall::kMostMessageBytes) {
        rpc.fail(form_of(ErrorCode::kOversize),
                 fmt::format("the result has {} bytes, too many for one frame; use CallStream",
                             result.content.size()),
                 {.type = "call", .id = request.call.id});
        co_return;
    }
    FrameWriter frames(rpc.grpc(), request.call.id);
    frames.write_only(result.content, content_type_of(result), summary);
    rpc.finish_ok();
}

Task<void> CallService::call_stream(Rpc rpc, core::PrincipalRef principal) {
    const Deadline request_due = rpc.grpc().loop().now() + kCallRequestTime;
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
    const core::CallEnd end =
        co_await runner_.run(authenticated, frames, core::WhileRunning::kBusy);
    if (frames.reader_was_slow()) {
        rpc.fail(form_of(ErrorCode::kCancelled), "slow reader",
                 {.type = "call", .id = request.call.id});
        co_return;
    }
    if (!*end.outcome && end.outcome->error().code == ErrorCode::kCancelled &&
        !end.cancelled_by.empty()) {
        // Other callers must not mistake a partial result for a complete one (section 6).
        frames.write_final({}, call_summary({.end = end,
                                             .status = "cancelled",
                                             .frames = frames.frames() + 1,
                                             .bytes = frames.bytes(),
                                             .partial_result = true}));
        if (end.cancelled_by == principal->id) {
            rpc.finish_ok();
        } else {
            fail(rpc, request, end.outcome->error());
        }
        co_return;
    }
    if (!*end.outcome || !is_whole(end)) {
        fail(rpc, request, end);
        co_return;
    }
    // A tool that streams gives its whole output as its result as well, or nothing: what was not
    // sent yet comes now.
    const auto plain = core::plain_form(**end.outcome);
    const core::ToolResult& result = plain ? *plain : **end.outcome;
    const std::string_view rest =
        std::string_view(result.content)
            .substr(std::min<std::size_t>(result.content.size(), frames.bytes()));
    if (!co_await frames.write_rest(rest, content_type_of(result))) {
        rpc.fail(form_of(ErrorCode::kCancelled), "slow reader",
                 {.type = "call", .id = request.call.id});
        co_return;
    }
    const std::string summary = call_summary(
        {.end = end, .status = "ok", .frames = frames.frames() + 1, .bytes = frames.bytes()});
    frames.write_final(content_type_of(result), summary);
    rpc.finish_ok();
}

Task<void> CallService::cancel(Rpc rpc, core::PrincipalRef principal) {
    const Deadline request_due = rpc.grpc().loop().now() + kCallRequestTime;
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
    to_wire(rpc.grpc().begin_message(),
            ToolError{.call_id = wire->call_id, .error_code = word.code, .message = word.message});
    rpc.grpc().end_message();
    rpc.finish_ok();
}

}  // namespace crab::sw4rm
