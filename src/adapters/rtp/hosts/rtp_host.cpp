#include "adapters/rtp/hosts/rtp_host.hpp"

#include "adapters/rtp/calls/call_wire.hpp"
#include "net/codec/http_text.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <fmt/format.h>

namespace crab::rtp {
namespace {

constexpr std::chrono::seconds kCancelWithin{2};
// a parser keeps many times the largest text it has seen
constexpr std::size_t kLargeReply = 256 * 1024;
// for discovery and cancels, which must pass although calls hang
constexpr std::size_t kControlConnections = 4;
constexpr std::size_t kMostCancels = 256;

}  // namespace

/// The host's state on one event loop.
struct RtpHost::LoopPart {
    LoopPart(net::EventLoop& event_loop, const net::HttpAuthority& authority,
             const net::HttpClientOptions& for_calls, const net::HttpClientOptions& for_control)
        : loop(event_loop),
          calls(loop, authority, for_calls),
          control(loop, authority, for_control),
          tasks(loop.executor()) {}
    net::EventLoop& loop;
    net::HttpClient calls, control;
    json::Parser parser;
    TaskGroup tasks;   ///< cancels on their way
};

RtpHost::RtpHost(Options options, const std::vector<net::EventLoop*>& loops)
    : options_(std::move(options)),
      call_target_(options_.path + "/v1/tools/call"),
      cancel_target_(options_.path + "/v1/tools/cancel"),
      list_target_(options_.path + "/v1/tools") {
    const std::size_t count = std::max<std::size_t>(1, loops.size());
    net::HttpClientOptions for_calls;
    for_calls.max_connections = std::max<std::size_t>(1, options_.max_calls / count);
    for_calls.max_waiting = std::max<std::size_t>(1, options_.max_waiting / count);
    for_calls.max_body_bytes = options_.max_reply_bytes;
    net::HttpClientOptions for_control = for_calls;
    for_control.max_connections = kControlConnections;
    for (net::EventLoop* loop : loops)
        parts_.push_back(
            std::make_unique<LoopPart>(*loop, options_.authority, for_calls, for_control));
}

RtpHost::~RtpHost() = default;

RtpHost::LoopPart& RtpHost::part_here() const {
    const net::EventLoop* here = net::EventLoop::current();
    for (const auto& part : parts_) {
        if (&part->loop == here) return *part;
    }
    throw std::logic_error("a call runs on a loop that its host does not know");
}

Task<core::Outcome> RtpHost::run(core::AdmittedCall call, core::FrameSink&) {
    LoopPart& here = part_here();
    const SteadyTime now = here.loop.clock().steady_now();
    auto pass = breaker_.admit(now);
    if (!pass) {
        co_return fail(
            ErrorCode::kUnavailable,
            fmt::format("the host {} does not answer; the call was not started, call again later",
                        name()));
    }
    std::string body;
    body.reserve(512 + call.args().size());
    append_call_request(body, call, timeout_for_host(call.deadline() - now));
    const std::string caller = caller_of(call);
    std::array<net::HttpHeader, 2> headers;
    std::size_t given = 0;
    if (!call.call().traceparent.empty())
        headers[given++] = {"traceparent", call.call().traceparent};
    if (!caller.empty()) headers[given++] = {kPrincipalHeader, caller};
    const net::HttpCall request{.method = "POST",
                                .target = call_target_,
                                .content_type = net::kJsonType,
                                .body = body,
                                .headers = std::span(headers.data(), given)};
    net::HttpResult answer = co_await here.calls.send(request, call.deadline());
    if (!answer) co_return on_failure(here, call, *pass, std::move(answer.error()));
    pass->succeeded();
    const CallReply reply{.http_status = answer->status,
                          .body = answer->body,
                          .retry_after = answer->retry_after(here.loop.clock().system_now())};
    std::optional<json::Parser> large;
    json::Parser& parser = answer->body.size() > kLargeReply ? large.emplace() : here.parser;
    core::Outcome outcome = read_call_reply(reply, parser, call.call().id, call.tool().spec.name);
    if (!outcome && outcome.error().code == ErrorCode::kToolNotFound && told_of_unknown_tool_)
        told_of_unknown_tool_();
    co_return outcome;
}

core::Outcome RtpHost::on_failure(LoopPart& here, const core::AdmittedCall& call,
                                  core::CircuitBreaker::Pass& pass, net::HttpFailure failure) {
    const ErrorCode code = failure.error.code;
    const SteadyTime now = here.loop.clock().steady_now();
    // Short caller deadlines say nothing about the host: only connect timeouts count.
    if (code == ErrorCode::kUnavailable || (code == ErrorCode::kTimeout && now < call.deadline()))
        pass.failed(now);
    if (failure.written && code == ErrorCode::kTimeout)
        send_cancel(here, call, CancelReason::kTimeout);
    if (failure.written && code == ErrorCode::kCancelled)
        send_cancel(here, call, CancelReason::kCancelled);
    const std::string& why = failure.error.message;
    if (code == ErrorCode::kCancelled)
        return fail(ErrorCode::kCancelled,
                    fmt::format("the call was cancelled; {} was notified", name()));
    if (code == ErrorCode::kForbidden || code == ErrorCode::kPairingRequired ||
        code == ErrorCode::kRateLimited)
        return fail(std::move(failure.error));
    if (code == ErrorCode::kOversize)
        return fail(code, fmt::format("the answer of the host {} is too large: {}; ask for less; "
                                      "the call may have taken effect",
                                      name(), why));
    if (code == ErrorCode::kInvalidArgs || (failure.written && code == ErrorCode::kInternal)) {
        return fail(Error{
            .code = ErrorCode::kInternal,
            .message =
                fmt::format("the host {} gave no usable answer: {}; the call may have taken effect",
                            name(), why),
            .details = {},
            .retryable = false,
            .retry_after = {}});
    }
    if (!failure.written)
        return fail(ErrorCode::kUnavailable,
                    fmt::format("the host {} could not be reached, the call was not started: {}",
                                name(), why));
    if (code == ErrorCode::kTimeout)
        return fail(ErrorCode::kTimeout,
                    fmt::format("the host {} did not answer before the deadline", name()));
    return fail(
        ErrorCode::kOutcomeUnknown,
        fmt::format(
            "the host {} got the call and gave no answer: {}; the call may have taken effect",
            name(), why));
}

/// Empty: the host is not told.
std::string RtpHost::caller_of(const core::AdmittedCall& call) const {
    return callers_apart_ ? principal_on_wire(call.principal()->id) : std::string();
}

void RtpHost::send_cancel(LoopPart& here, const core::AdmittedCall& call, CancelReason reason) {
    if (here.tasks.size() >= kMostCancels) return;  // the host ends the call at its own deadline
    std::string body;
    append_cancel_request(body, tenant_on_wire(call.call()), call.call().id, reason);
    here.tasks.spawn("cancel at a tool host",
                     post_cancel(here, cancel_target_, std::move(body), caller_of(call)));
}

Task<void> RtpHost::post_cancel(LoopPart& here, std::string target, std::string body,
                                std::string caller) {
    const net::HttpHeader whose{kPrincipalHeader, caller};
    const net::HttpCall request{.method = "POST",
                                .target = target,
                                .content_type = net::kJsonType,
                                .body = body,
                                .headers = std::span(&whose, caller.empty() ? 0 : 1)};
    co_await here.control.send(request, here.loop.clock().steady_now() + kCancelWithin);
}

Task<Result<std::string>> RtpHost::fetch_tools(Deadline deadline) {
    LoopPart& here = part_here();
    const net::HttpCall request{
        .method = "GET", .target = list_target_, .content_type = {}, .body = {}, .headers = {}};
    net::HttpResult answer = co_await here.control.send(request, deadline);
    if (!answer) {
        // kRateLimited: what callers have cancelled takes all of the connections
        const ErrorCode code = answer.error().error.code;
        if (code != ErrorCode::kCancelled && code != ErrorCode::kRateLimited)
            breaker_.on_failure(here.loop.clock().steady_now());
        co_return fail(std::move(answer.error().error));
    }
    if (answer->status != 200)
        co_return fail(ErrorCode::kUnavailable,
                       fmt::format("the list of tools was answered with HTTP {}", answer->status));
    breaker_.on_success();
    co_return std::move(answer->body);
}

void RtpHost::retire(net::EventLoop& loop) {
    for (const auto& part : parts_) {
        if (&part->loop != &loop) continue;
        part->calls.retire();
        part->control.retire();
    }
}

void RtpHost::abort(net::EventLoop& loop) {
    for (const auto& part : parts_) {
        if (&part->loop != &loop) continue;
        part->calls.abort();
        part->control.abort();
    }
}

void RtpHost::stop(net::EventLoop& loop, std::function<void()> done) {
    for (const auto& part : parts_) {
        if (&part->loop != &loop) continue;
        part->calls.close();
        part->control.close();
        return part->tasks.stop(std::move(done));
    }
    done();
}

}  // namespace crab::rtp
