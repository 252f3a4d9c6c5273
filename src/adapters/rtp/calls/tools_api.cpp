#include "adapters/rtp/calls/tools_api.hpp"

#include "adapters/rtp/calls/call_wire.hpp"
#include "adapters/rtp/calls/console_front.hpp"
#include "adapters/rtp/calls/route_errors.hpp"
#include "base/encoding.hpp"
#include "base/scope_exit.hpp"
#include "base/whole_number.hpp"
#include "json/writer.hpp"
#include "net/codec/http_text.hpp"
#include "net/codec/sse.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::rtp {
namespace {

constexpr std::size_t kMostNamed = 128;  // bytes of a principal's name
// for finding out whether a gateway sent a call before it said whose it is
constexpr std::chrono::seconds kRecalled{5};

std::string_view word_of(core::CancelAnswer answer) {
    switch (answer) {
        case core::CancelAnswer::kCancelling: return "cancelling";
        case core::CancelAnswer::kFinished: return "finished";
        case core::CancelAnswer::kNotFound:
        case core::CancelAnswer::kAmbiguous: return "not_found";  // a tenant is named always
    }
    return "not_found";
}

std::int64_t whole_ms(std::chrono::nanoseconds duration) {
    return std::chrono::duration_cast<Milliseconds>(duration).count();
}

bool wants_events(const net::HttpRequest& request) {
    const auto accept = request.find("accept");
    return accept && accept->find("text/event-stream") != std::string_view::npos;
}

/// Turns frames and progress into server-sent events on the answer to the call.
class EventSink final : public core::FrameSink {
public:
    explicit EventSink(net::HttpExchange& exchange) : exchange_(exchange) {}
    bool wants_progress() const override { return true; }
    Task<void> drained() override { return exchange_.drained(); }

    void on_frame(const core::ToolFrame& frame) override {
        std::string body;
        json::Writer writer(body);
        writer.begin_object()
            .key("frame_no")
            .unsigned_integer(frame.number)
            .key("final")
            .boolean(frame.final)
            .key("content_type")
            .string(frame.content_type);
        if (simdjson::validate_utf8(frame.data.data(), frame.data.size())) {
            writer.key("data").string(frame.data);
        } else {
            writer.key("data_base64")
                .string(to_base64(
                    {reinterpret_cast<const std::uint8_t*>(frame.data.data()), frame.data.size()}));
        }
        if (!frame.summary.empty()) writer.key("summary").raw(frame.summary);
        writer.end_object();
        send("frame", body);
    }
    void on_progress(const core::Progress& progress) override {
        std::string body;
        json::Writer writer(body);
        writer.begin_object();
        if (!progress.message.empty()) writer.key("message").string(progress.message);
        if (progress.progress) writer.key("progress").number(*progress.progress);
        if (progress.total) writer.key("total").number(*progress.total);
        writer.end_object();
        send("progress", body);
    }
    void send(std::string_view name, std::string_view body) {
        std::string event;
        if (net::append_sse_event(event, name, {}, body)) exchange_.write_chunk(event);
    }

private:
    net::HttpExchange& exchange_;
};

}  // namespace

/// Whose call or cancel a request is. A gateway may say for whom it asks: then that one has calls,
/// keys and cancels of its own here. Nobody gains by what is not true, for names of one gateway
/// stay its own.
core::PrincipalRef ToolsApi::caller_of(const net::HttpRequest& request,
                                       core::PrincipalRef proven) const {
    const auto named = request.find(kPrincipalHeader);
    if (!named || named->empty() || !pipeline_.rules()->callers_are_gateways) return proven;
    auto caller = std::make_shared<core::Principal>(*proven);
    caller->id += fmt::format(" for {}", named->substr(0, kMostNamed));
    return caller;
}

void ToolsApi::list(net::HttpExchange& exchange, const core::Principal& principal) {
    std::string& out = exchange.begin_response(200, net::kJsonType);
    out += R"({"version":"v1","service":)";
    json::append_quoted(out, service_);
    if (pipeline_.rules()->callers_are_gateways) out += R"(,"keeps_callers_apart":true)";
    out += R"(,"tools":[)";
    bool first = true;
    for (const auto& listed : pipeline_.list(principal)) {
        if (!first) out += ',';
        first = false;
        append_discovered_tool(out, listed.name, *listed.tool);
    }
    out += "]}";
    exchange.finish_response();
}

void ToolsApi::add_routes(net::Routes<core::PrincipalRef>& routes, std::string_view front) {
    using Request = net::Routes<core::PrincipalRef>::Request;
    routes.add({.path = "/v1/tools",
                .summary = "The tools that the caller may use",
                .errors = append_route_error,
                .answers = {{200, "tool_list"}}},
               [this](const Request& request) { list(request.exchange, *request.principal); });
    // No coroutine of its own: on this path a frame is worth saving.
    routes.add({.method = net::Method::kPost,
                .path = "/v1/tools/call",
                .proof = net::FreshProof::kNever,
                .unrecorded = "a call has its record",
                .summary = "Call a tool; with Accept: text/event-stream as a stream of events",
                .not_while_stopping = true,
                .errors = append_call_error,
                .headers = {{"Accept",
                             "text/event-stream: frames, progress and the result as "
                             "events"},
                            {"Crab-Away-Wait-Ms", "how long to wait for a device that is away"},
                            {"Traceparent", "W3C trace context"}},
                .request = "call_request",
                .answers = {{200, "call_response"}, {200, "event_stream", "text/event-stream"}},
                .refusals = {400}},
               [this, front](const Request& request) {
                   return call(request.exchange, request.principal, front);
               });
    routes.add({.method = net::Method::kPost,
                .path = "/v1/tools/cancel",
                .proof = net::FreshProof::kNever,
                .summary = "Cancel a call by its id",
                .errors = append_route_error,
                .request = "cancel_request",
                .answers = {{200, "cancel_response"}},
                .refusals = {400}},
               [this](const Request& request) {
                   cancel(request.exchange,
                          *caller_of(request.exchange.request(), request.principal));
               });
}

Task<void> ToolsApi::call(net::HttpExchange& exchange, core::PrincipalRef principal,
                          std::string_view front) {
    std::string texts = exchange.loop().take_buffer();
    const ScopeExit give_back([&] {
        texts.clear();
        exchange.loop().give_buffer(std::move(texts));
    });
    core::Call call;
    call.front = front_of(exchange.request(), front);
    call.canceller = &exchange.canceller();
    const auto parsed = parse_call_request(exchange.request().body, parser_, texts, call);
    parser_.shrink();
    if (!parsed) {
        const core::Outcome outcome = fail(ErrorCode::kInvalidArgs, parsed.error().message);
        append_call_response(exchange.begin_response(parsed.error().http_status, net::kJsonType),
                             call.id, call.tool, 0, outcome);
        exchange.finish_response();
        co_return;
    }
    if (auto caller = caller_of(exchange.request(), principal); caller != principal) {
        const Deadline soon = exchange.loop().clock().steady_now() + kRecalled;
        if (!co_await pipeline_.has_recorded(call, *principal, soon)) principal = std::move(caller);
    }
    if (const auto wait = exchange.request().find("crab-away-wait-ms"); wait && away_ != nullptr) {
        if (auto refused = co_await wait_for_device(exchange, principal, call, *wait)) {
            const core::Outcome outcome = fail(std::move(*refused));
            append_call_response(exchange.begin_response(200, net::kJsonType), call.id, call.tool,
                                 0, outcome);
            exchange.finish_response();
            co_return;
        }
    }
    if (const auto trace = exchange.request().find("traceparent")) call.traceparent = *trace;
    if (wants_events(exchange.request())) {
        co_await call_streaming(exchange, principal, call);
        co_return;
    }
    // a repeat may join (docs/protocols/rtp.md, section 3, "Cancel")
    exchange.keep_running_when_caller_leaves();
    core::FrameSink nobody;
    const core::AuthenticatedCall authenticated(call, principal);
    const core::CallEnd end = co_await runner_.run(authenticated, nobody);
    static constexpr net::HttpHeader kReplayed{"Crab-Replayed", "true"};
    std::string& out =
        exchange.begin_response(200, net::kJsonType, std::span(&kReplayed, end.replayed ? 1 : 0));
    append_call_response(out, call.id, call.tool, whole_ms(end.duration), *end.outcome,
                         end.tool.get());
    exchange.finish_response();
}

/// A tool that only reads may be waited for while its device is away: `Crab-Away-Wait-Ms`,
/// docs/protocols/clawseed.md, section 9. Nothing: the call goes on, to whatever the pipeline says.
Task<std::optional<Error>> ToolsApi::wait_for_device(net::HttpExchange& exchange,
                                                     core::PrincipalRef principal, core::Call& call,
                                                     std::string_view wait_ms) {
    constexpr std::int64_t kMostMs = 120'000;
    const auto given = parse_whole_number<std::int64_t>(wait_ms);
    if (!given || *given < 0 || *given > kMostMs) {
        co_return fail(ErrorCode::kInvalidArgs, "Crab-Away-Wait-Ms: must be 0 to 120000").error();
    }
    const auto is_away = [&] {
        const auto tool = pipeline_.resolve(*principal, call.tenant, call.tool);
        return !tool && (tool.error().code == ErrorCode::kToolNotFound ||
                         tool.error().code == ErrorCode::kUnavailable);
    };
    if (*given == 0 || !is_away()) co_return std::nullopt;
    net::EventLoop& loop = exchange.loop();
    const SteadyTime now = loop.clock().steady_now();
    const auto place = away_->enter(call, principal, loop.executor(), loop.timers());
    if (!place && place.error().code == ErrorCode::kRateLimited) co_return place.error();
    if (!place) co_return std::nullopt;
    if (call.timeout) call.caller_deadline = now + *call.timeout;
    const Deadline until = std::min<Deadline>(call.caller_deadline, now + Milliseconds(*given));
    while (is_away()) {
        if (auto ended = (*place)->ended()) co_return std::move(*ended);
        const WaitEnd how = co_await (*place)->wait(until);
        if (how == WaitEnd::kCancelled && !(*place)->ended())
            co_return fail(ErrorCode::kCancelled,
                           "the caller left while its call waited for a device; nothing was run")
                .error();
        if (how == WaitEnd::kExpired && is_away()) co_return core::AwayCalls::not_back();
    }
    co_return std::nullopt;
}

Task<void> ToolsApi::call_streaming(net::HttpExchange& exchange,
                                    const core::PrincipalRef& principal, core::Call& call) {
    call.wants_stream = true;
    exchange.start_stream(200, "text/event-stream", {{"Cache-Control", "no-store"}});
    EventSink sink(exchange);
    exchange.goes_on_when_caller_leaves(
        [&call] { return core::Pipeline::goes_on_for_others(call); });
    const ScopeExit answered([&] { exchange.goes_on_when_caller_leaves({}); });
    const core::AuthenticatedCall authenticated(call, principal);
    const core::CallEnd end = co_await runner_.run(authenticated, sink);
    std::string body;
    append_call_response(body, call.id, call.tool, whole_ms(end.duration), *end.outcome,
                         end.tool.get());
    sink.send("result", body);
    exchange.end_stream();
}

void ToolsApi::cancel(net::HttpExchange& exchange, const core::Principal& principal) {
    std::string texts;
    const auto request = parse_cancel_request(exchange.request().body, parser_, texts);
    if (!request) {
        exchange.respond_error(400, "INVALID_ARGS", request.error());
        return;
    }
    // In another tenant there is no call of this caller's, and none will come.
    const bool its_own = pipeline_.may_act_in(principal, request->tenant_id);
    const core::CancelAnswer answer = its_own
                                          ? cancel_(principal, request->tenant_id, request->call_id)
                                          : core::CancelAnswer::kNotFound;
    std::string& out = exchange.begin_response(200, net::kJsonType);
    json::Writer writer(out);
    writer.begin_object().key("version").string("v1").key("call_id").string(request->call_id);
    writer.key("status").string(word_of(answer)).end_object();
    exchange.finish_response();
}

}  // namespace crab::rtp
