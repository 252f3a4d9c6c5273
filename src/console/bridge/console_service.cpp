#include "console/bridge/console_service.hpp"

#include "base/task/gather.hpp"
#include "console/bridge/answer_relay.hpp"
#include "net/http/http_error.hpp"

#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace crab::console {
namespace {

constexpr std::string_view kApi = "/console/api";
/// Fields of a browser's request that the gateway's routes read.
constexpr std::array<std::string_view, 6> kRelayed = {
    "accept", "if-none-match", "last-event-id", "idempotency-key", "range", "traceparent"};

bool is_api(const net::HttpRequest& request) { return request.path().starts_with("/console/api/"); }

net::Refusal refusal(const Error& error) {
    net::Refusal refused{.status = net::http_status(error.code)};
    net::append_error_body(refused.body, token_of(error.code), error.message);
    return refused;
}

}  // namespace

ConsoleService::ConsoleService(ConsoleAccess& access, net::HttpClient& gateway, bool read_only)
    : access_(access), gateway_(gateway), read_only_(read_only) {
    access_.add_routes(routes_);
    for (const net::Method method : {net::Method::kGet, net::Method::kPost, net::Method::kPut,
                                     net::Method::kPatch, net::Method::kDelete}) {
        routes_.add({.method = method,
                     .path = "/console/api/{path...}",
                     .summary = "What the gateway answers the operator",
                     .body = net::RequestBodyLimits{.max_bytes = kMostBytes}},
                    [this, method](const Request& request) {
                        return serve_api(request, net::name_of(method));
                    });
    }
    routes_.add({.path = "/console/{file...}", .summary = "The page's files"},
                [this](const Request& request) { return serve_file(request); });
    for (const std::string_view path : {"/", "/console"}) {
        routes_.add({.path = path, .summary = "The way to the page"}, [](const Request& request) {
            request.exchange.respond(308, "", "", {{"Location", "/console/"}});
        });
    }
}

std::optional<net::Refusal> ConsoleService::refuse_head(const net::HttpRequest& request) {
    if (const auto refused = access_.refuse_source(request)) return refusal(*refused);
    if (!is_api(request)) return std::nullopt;
    if (!access_.session_of(request)) return refusal(no_session());
    if (read_only_ && request.method() != "GET") {
        return refusal({.code = ErrorCode::kForbidden,
                        .message = "this console only reads: it was started with --read-only"});
    }
    return std::nullopt;
}

net::BodyAdmission ConsoleService::admit_body(const net::HttpRequest& request) {
    return {.admitted = is_api(request) || request.path() == "/console/session", .budget = nullptr};
}

Task<void> ConsoleService::serve(net::HttpExchange& exchange) {
    if (is_api(exchange.request()) && !exchange.prove_caller("session"))
        co_return exchange.respond_error(429, "RATE_LIMITED", "too many requests are under way");
    co_await routes_.answer(exchange, {});
}

Task<void> ConsoleService::serve_api(const Request& request, std::string_view method) {
    const net::HttpRequest& asked = request.exchange.request();
    std::string target(asked.path().substr(kApi.size()));
    if (!asked.query().empty()) target.append("?").append(asked.query());
    return relay(request.exchange, method, std::move(target));
}

Task<void> ConsoleService::serve_file(const Request& request) {
    return relay(request.exchange, "GET", std::string(request.exchange.request().path()));
}

// The views of the request hold until its exchange has ended.
Task<void> ConsoleService::relay(net::HttpExchange& exchange, std::string_view method,
                                 std::string target) {
    const net::HttpRequest& asked = exchange.request();
    std::vector<net::HttpHeader> headers;
    for (const std::string_view name : kRelayed) {
        if (const auto value = asked.find(name)) headers.push_back({name, *value});
    }
    AnswerRelay answer(exchange);
    const net::HttpCall call{.method = method,
                             .target = target,
                             .content_type = asked.body.empty() ? "" : "application/json",
                             .body = asked.body,
                             .headers = headers,
                             .sink = &answer,
                             .max_body_bytes = UINT64_MAX};
    const auto fetch = [&]() -> Task<bool> {
        answer.finish(co_await gateway_.send(call, kNoDeadline));
        co_return true;
    };
    std::vector<Task<bool>> both;
    both.push_back(fetch());
    both.push_back(answer.pace());
    co_await gather(std::move(both));
}

}  // namespace crab::console
