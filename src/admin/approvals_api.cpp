#include "admin/approvals_api.hpp"

#include "admin/approvals_wire.hpp"
#include "base/scope_exit.hpp"
#include "json/element.hpp"
#include "net/codec/http_text.hpp"
#include "net/codec/sse.hpp"
#include "net/http/http_error.hpp"

#include <optional>

#include <fmt/format.h>

namespace crab::admin {
namespace {

constexpr std::string_view kRead = "control.sessions:approvals.read";
constexpr std::string_view kDecide = "control.sessions:approvals.decide";
constexpr std::chrono::seconds kKeepAlive{15};

Result<core::ApprovalDecision> parse_decision(std::string_view body, json::Parser& parser,
                                              const core::Principal& principal) {
    const auto root = parser.parse(body);
    if (!root || !root->element().is_object())
        return fail(ErrorCode::kInvalidArgs, "the body must be a JSON object");
    const std::string_view word = json::get_string(root->element(), "decision").value_or("");
    if (word != "allow" && word != "deny")
        return fail(ErrorCode::kInvalidArgs, "/decision: allow or deny");
    const auto scope =
        core::find_approval_scope(json::get_string(root->element(), "scope").value_or("once"));
    if (!scope) return fail(ErrorCode::kInvalidArgs, "/scope: once, session or always");
    return core::ApprovalDecision{.allow = word == "allow", .scope = *scope, .by = principal.id};
}

}  // namespace

void ApprovalsApi::add_routes(net::Routes<core::PrincipalRef>& routes) {
    using Request = net::Routes<core::PrincipalRef>::Request;
    routes.add({.path = "/v1/admin/approvals",
                .summary = "Questions that are open or ended lately, and how many watch",
                .action = kRead,
                .answers = {{200, "approval_list"}}},
               [this](const Request& request) { list(request.exchange); });
    routes.add({.path = "/v1/admin/approvals/watch",
                .summary = "A stream of questions and their ends",
                .action = kRead,
                .answers = {{200, "event_stream", "text/event-stream"}}},
               [this](const Request& request) { return watch(request.exchange); });
    routes.add({.path = "/v1/admin/approvals/remembered",
                .summary = "Decisions that hold for calls to come",
                .action = kRead,
                .answers = {{200, "remembered_approval_list"}}},
               [this](const Request& request) { remembered(request.exchange); });
    routes.add({.method = net::Method::kDelete,
                .path = "/v1/admin/approvals/remembered/{id}",
                .proof = net::FreshProof::kNever,
                .summary = "Forget such a decision",
                .action = kDecide,
                .answers = {{200, "remembered_approval"}},
                .refusals = {404, 503}},
               [this](const Request& request) {
                   return forget(request.exchange, request.arguments["id"]);
               });
    routes.add({.path = "/v1/admin/approvals/{id}",
                .summary = "One question",
                .action = kRead,
                .answers = {{200, "approval"}},
                .refusals = {404}},
               [this](const Request& request) { show(request.exchange, request.arguments["id"]); });
    routes.add({.method = net::Method::kPost,
                .path = "/v1/admin/approvals/{id}",
                .proof = net::FreshProof::kForLasting,
                .summary = "Decide a question",
                .action = kDecide,
                .request = "approval_decision",
                .answers = {{200, "approval"}},
                .refusals = {400, 403, 404, 409, 503}},
               [this](const Request& request) {
                   return decide(request.exchange, request.principal, request.arguments["id"]);
               });
}

void ApprovalsApi::list(net::HttpExchange& exchange) const {
    json::Writer writer(exchange.begin_response(200, net::kJsonType));
    writer.begin_object()
        .key("watchers")
        .unsigned_integer(watchers_)
        .key("approvals")
        .begin_array();
    for (const auto& request : approvals_.list())
        append_approval(writer, *request.question, request.end);
    writer.end_array().end_object();
    exchange.finish_response();
}

void ApprovalsApi::show(net::HttpExchange& exchange, std::string_view id) const {
    const auto request = approvals_.find(id);
    if (!request)
        return exchange.respond_error(
            404, "NOT_FOUND",
            "no such approval is open or ended lately; crab approvals list shows them");
    json::Writer writer(exchange.begin_response(200, net::kJsonType));
    append_approval(writer, *request->question, request->end);
    exchange.finish_response();
}

void ApprovalsApi::remembered(net::HttpExchange& exchange) const {
    json::Writer writer(exchange.begin_response(200, net::kJsonType));
    writer.begin_object().key("remembered").begin_array();
    for (const auto& decision : approvals_.remembered()) append_remembered(writer, decision);
    writer.end_array().end_object();
    exchange.finish_response();
}

Task<void> ApprovalsApi::decide(net::HttpExchange& exchange, core::PrincipalRef principal,
                                std::string id) {
    auto decision = parse_decision(exchange.request().body, parser_, *principal);
    if (!decision) {
        exchange.respond_error(decision.error());
        co_return;
    }
    exchange.keep_running_when_caller_leaves();
    auto work = [this, id = std::move(id), decision = std::move(*decision)] {
        return approvals_.decide(id, decision);
    };
    const auto request = co_await pool_.run(std::move(work));
    if (!request) {
        exchange.respond_error(request.error());
        co_return;
    }
    json::Writer writer(exchange.begin_response(200, net::kJsonType));
    append_approval(writer, *request->question, request->end);
    exchange.finish_response();
}

Task<void> ApprovalsApi::forget(net::HttpExchange& exchange, std::string id) {
    exchange.keep_running_when_caller_leaves();
    auto work = [this, id = std::move(id)] { return approvals_.forget(id); };
    const auto forgotten = co_await pool_.run(std::move(work));
    if (!forgotten) {
        exchange.respond_error(forgotten.error());
        co_return;
    }
    json::Writer writer(exchange.begin_response(200, net::kJsonType));
    append_remembered(writer, *forgotten);
    exchange.finish_response();
}

Task<void> ApprovalsApi::watch(net::HttpExchange& exchange) {
    net::EventLoop& loop = exchange.loop();
    const auto watcher = std::make_shared<ApprovalFeed::Watcher>(loop.executor(), loop.timers());
    feed_.add(watcher);
    const core::Approvals::Watch attending(approvals_);
    ++watchers_;
    const ScopeExit gone([&] { --watchers_; });
    const auto send = [&](std::string_view type, std::string_view json) {
        std::string event;
        if (net::append_sse_event(event, type, {}, json)) exchange.write_chunk(event);
    };
    exchange.start_stream(200, "text/event-stream", {{"Cache-Control", "no-store"}});
    send("watching", "{}");   // from here on nobody is refused for want of somebody to ask
    for (const auto& request : approvals_.list()) {
        if (request.end.state != core::ApprovalState::kPending) continue;
        std::string json;
        json::Writer writer(json);
        append_approval(writer, *request.question, request.end);
        send("question", json);
    }
    while (!exchange.caller_gone()) {
        const WaitEnd how = co_await watcher->wait(loop.now() + kKeepAlive);
        if (how == WaitEnd::kCancelled) break;
        for (const auto& news : watcher->take()) send(news.type, news.json);
        if (watcher->fell_behind()) break;
        if (how == WaitEnd::kExpired) {
            std::string ping;
            net::append_sse_ping(ping);
            exchange.write_chunk(ping);
        }
        co_await exchange.drained();
    }
    exchange.end_stream();
}

}  // namespace crab::admin
