#include "gateway/listeners/public_service.hpp"

#include "adapters/rtp/calls/route_errors.hpp"
#include "admin/metrics_answer.hpp"
#include "gateway/listeners/change_records.hpp"
#include "gateway/listeners/token_watch.hpp"
#include "net/loop/own_user.hpp"
#include "trust/origin_policy.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

constexpr ApiDescription kAdminDescription{
    .title = "crab gateway: the admin socket",
    .text =
        "For the operator: HTTP on a Unix socket, which only the user who runs the gateway may "
        "open. No credential is sent.",
    .proof = CallerProof::kLocalUser,
    .body_bytes = net::RequestBodyLimits{}.max_bytes,
    .guest_bytes = net::RequestBodyLimits{}.max_bytes};

Error too_many_error(const core::Principal& caller) {
    return {.code = ErrorCode::kRateLimited,
            .message = fmt::format("too many requests of {} are being served already; wait for "
                                   "some of them",
                                   caller.id),
            .details = {},
            .retryable = true};
}

Error stopping_error() {
    return fail(ErrorCode::kUnavailable, "the gateway is stopping; call again when it is back")
        .error();
}

Error no_record_error() {
    return fail(ErrorCode::kUnavailable,
                "the audit log is too far behind to record this: see the disk; nothing has changed")
        .error();
}

Error cut_off_error() {
    return {.code = ErrorCode::kUnavailable,
            .message =
                "this gateway is cut off from its fleet and does not know who was revoked: use "
                "another one, or repeat later"};
}

Error only_metrics_error() {
    return {.code = ErrorCode::kForbidden,
            .message = "this token reads /metrics and nothing else; ask for one with another role"};
}

std::string_view token_of(const net::HttpRequest& request) {
    return trust::bearer_of(request.find("authorization").value_or(""));
}

}  // namespace

PublicService::PublicService(const clawseed::Front& front, trust::CredentialCache& credentials,
                             const core::MetricsPage& metrics, const config::ListenOptions& listen,
                             std::size_t max_body_bytes, ByteBudgets& budgets)
    : RoutedService(listen.path_prefix),
      front_(front),
      credentials_(credentials),
      authentication_(credentials, listen.open_loopback),
      max_body_bytes_(max_body_bytes),
      budgets_(budgets) {
    add_health_routes({"/healthz", "/readyz"}, {.who = net::Caller::kAnyone, .head = true});
    add_api_document(routes_, net::Caller::kGuest, description());
    add_metrics_route(metrics);
}

ApiDescription PublicService::description() const {
    return {.title = "crab gateway: the public listener",
            .text =
                "For devices, apps and callers of tools. Callers send a token as "
                "`Authorization: Bearer`. HEAD is answered where `x-head` says so, OPTIONS "
                "everywhere.",
            .proof = CallerProof::kBearer,
            .body_bytes = max_body_bytes_,
            .guest_bytes = std::min(kMostOfGuests, max_body_bytes_)};
}

std::string AdminService::api_document() const {
    return gateway::api_document(routes_.table(), kAdminDescription);
}

std::string PublicService::api_document() const {
    return gateway::api_document(routes_.table(), description());
}

/// For tokens with the role metrics, and operators'; to everybody else there is no such path
/// (docs/protocols/clawseed.md, section 8).
void PublicService::add_metrics_route(const core::MetricsPage& metrics) {
    routes_.add(
        {.path = "/metrics",
         .who = net::Caller::kScraper,
         .summary = "Metrics in the text format of Prometheus, or OpenMetrics",
         .head = true,
         .headers = {admin::metrics_header()},
         .answers = admin::metrics_answers()},
        [&metrics](const Request& request) { admin::answer_metrics(request.exchange, metrics); });
}

Result<trust::Proven> PublicService::authenticate(const net::HttpRequest& request, bool told) {
    const std::string_view token = token_of(request);
    const auto peer = [&] {
        return trust::RequestPeer{.loopback = request.peer.is_loopback(),
                                  .text = request.peer.ip()};
    };
    return told ? authentication_.authenticate(token, peer) : authentication_.prove(token, peer);
}

net::RequestBodyLimits PublicService::limits_for(const net::HttpRequest& request) {
    const net::RequestBodyLimits most{.max_bytes = max_body_bytes_};
    const net::Route* const route = request.match.route;
    if (route == nullptr) return most;
    if (route->who == net::Caller::kGuest)
        return {.max_bytes = std::min(kMostOfGuests, max_body_bytes_)};
    return route->limits(most);
}

std::optional<net::Refusal> PublicService::refuse_head(const net::HttpRequest& request) {
    return is_for_console(request) ? door_->refuse_head(request) : std::nullopt;
}

net::BodyAdmission PublicService::admit_body(const net::HttpRequest& request) {
    const net::Route* const route = request.match.route;
    if (route != nullptr && is_for_console(request)) {
        const auto owner = door_->owner_of_body(request);
        return {.admitted = door_->is_open(),
                .budget = owner ? budgets_.of(*owner) : budget_of_stranger(request)};
    }
    if (route != nullptr && route->who == net::Caller::kGuest)
        return {.admitted = true, .budget = budget_of_stranger(request)};
    if (route == nullptr || route->who != net::Caller::kProven)
        return {.admitted = false, .budget = nullptr};
    if (is_issued(request)) {
        // proven in serve(), when its body is there; until then its network pays
        const auto known = issued_->find(token_of(request));
        return {.admitted = true,
                .budget = known ? budgets_.of(known->principal->id) : budget_of_stranger(request)};
    }
    const auto proven = authenticate(request, false);  // the answer tells it
    return {.admitted = proven.has_value(),
            .budget = proven ? budgets_.of(proven->principal->id) : nullptr};
}

std::shared_ptr<ByteBudget> PublicService::budget_of_stranger(const net::HttpRequest& request) {
    return strangers_.of(fmt::format("{:x}", request.peer.network()));
}

void PublicService::refusal_body(const net::HttpRequest* request, int status,
                                 std::string_view reason, std::string& body) {
    if (!rtp::append_refusal(routes_.table(), request, status, reason, body))
        HttpService::refusal_body(request, status, reason, body);
}

bool PublicService::is_issued(const net::HttpRequest& request) const {
    if (issued_ == nullptr || !issued_->covers(request.path())) return false;
    return issued_->may_be(token_of(request));
}

/// What a refusal asks for: clients of MCP look for a realm, and for where tokens come from.
std::string PublicService::challenge(const net::HttpRequest& request, const Error& why) const {
    const bool came = !token_of(request).empty();
    if (issued_ != nullptr && issued_->covers(request.path()))
        return issued_->challenge(came ? &why : nullptr);
    const std::string_view realm = request.match.route->realm;
    if (realm.empty()) return "Bearer";
    return fmt::format(R"(Bearer realm="{}"{})", realm, came ? R"(, error="invalid_token")" : "");
}

/// With an access token of an issuer. A call goes on when its token ends meanwhile; a stream that
/// would go on for ever does not.
Task<void> PublicService::serve_issued(net::HttpExchange& exchange) {
    const net::HttpRequest& request = exchange.request();
    const net::Route& route = *request.match.route;
    std::string token(token_of(request));
    Result<trust::Proven> proven = co_await issued_->verify(token);
    if (!proven) {
        const Error& why = proven.error();
        trust::log_refused_credential("access token", request.peer.ip(), why.message);
        if (why.code == ErrorCode::kUnauthenticated || why.code == ErrorCode::kForbidden) {
            co_return net::refuse(exchange, &route, why.code == ErrorCode::kForbidden ? 403 : 401,
                                  why, {{"WWW-Authenticate", challenge(request, why)}});
        }
        co_return net::refuse(exchange, &route, 503, why);
    }
    if (!exchange.prove_caller(proven->principal->id))
        co_return net::refuse(exchange, &route, 429, too_many_error(*proven->principal));
    const Request routed{exchange, proven->principal, request.match.arguments};
    std::optional<TokenWatch> watch;
    if (is_endless(request)) watch.emplace(exchange, *issued_, std::move(token), *proven);
    if (!routes_.serve_now(request.match, routed)) co_await routes_.serve(request.match, routed);
}

bool PublicService::may_scrape(const net::HttpRequest& request) {
    const auto proven = authenticate(request);
    return proven && (proven->principal->may(core::Role::kMetrics) ||
                      proven->principal->roles.has(core::Role::kCliAdmin));
}

/// False: the caller is answered as if there were no such path.
bool PublicService::may_know_path(const net::RouteMatch& match, const net::HttpRequest& request) {
    if (is_for_console(request)) return door_->is_open();
    if (match.route == nullptr || match.route->who != net::Caller::kScraper) return true;
    return match.found() && may_scrape(request);
}

bool PublicService::source_allowed(net::HttpExchange& exchange, const net::Route& route) {
    if (route.who != net::Caller::kGuest && route.who != net::Caller::kProven) return true;
    const net::HttpRequest& request = exchange.request();
    const bool plain = !request.find("origin").has_value();
    if (plain && !known_host_.empty() && request.head.host == known_host_) return true;
    if (const auto refused = front_.refused_source(request)) {
        net::refuse(exchange, &route, 403, {.code = ErrorCode::kForbidden, .message = *refused});
        return false;
    }
    known_host_ = request.head.host;
    if (!plain) exchange.share_with(*request.find("origin"));
    return true;
}

std::optional<net::Upgrade> PublicService::upgrade(const net::HttpRequest& request,
                                                   const net::WebSocketOffer& offer) {
    if (is_for_console(request)) return door_->upgrade(request, offer);
    return routes_.upgrade(request, offer, nullptr);
}

// An early return of another coroutine costs a frame; the hot path takes just this one and the
// handler's.
Task<void> PublicService::serve(net::HttpExchange& exchange) {
    const net::HttpRequest& request = exchange.request();
    const net::RouteMatch& match = request.match;
    if (!may_know_path(match, request)) co_return net::respond_unknown_path(exchange);
    if (match.route != nullptr && !source_allowed(exchange, *match.route)) co_return;
    if (!net::found_or_refused(exchange, match)) co_return;
    const net::Route& route = *match.route;
    if (route.not_while_stopping && stopping_)
        co_return net::refuse(exchange, &route, 503, stopping_error());
    core::PrincipalRef principal;
    std::optional<ExpiryWatch> watch;
    if (route.who == net::Caller::kSession) {
        if (const auto refused = door_->refuse_session(request))
            co_return exchange.respond_error(*refused);
    }
    if (route.who == net::Caller::kProven) {
        if (credentials_.is_cut_off())
            co_return net::refuse(exchange, &route, 503, cut_off_error());
        if (is_issued(request)) co_return co_await serve_issued(exchange);
        auto proven = authenticate(request);
        if (!proven)
            co_return net::refuse(exchange, &route, 401, proven.error(),
                                  {{"WWW-Authenticate", challenge(request, proven.error())}});
        principal = std::move(proven->principal);
        if (principal->only_reads_metrics())
            co_return net::refuse(exchange, &route, 403, only_metrics_error());
        if (proven->good_until && is_endless(request)) watch.emplace(exchange, *proven->good_until);
        if (!exchange.prove_caller(principal->id))
            co_return net::refuse(exchange, &route, 429, too_many_error(*principal));
    }
    const Request routed{exchange, principal, match.arguments};
    if (!routes_.serve_now(match, routed)) co_await routes_.serve(match, routed);
}

AdminService::AdminService() {
    add_health_routes({"/healthz", "/readyz"}, {});
    add_api_document(routes_, net::Caller::kProven, kAdminDescription);
}

void AdminService::refusal_body(const net::HttpRequest* request, int status,
                                std::string_view reason, std::string& body) {
    if (!rtp::append_refusal(routes_.table(), request, status, reason, body))
        HttpService::refusal_body(request, status, reason, body);
}

core::PrincipalRef AdminService::caller_of(const net::HttpRequest& request) {
    if (const auto acting = request.find("crab-acting"))
        return kept_ != nullptr ? kept_->find_acting(*acting) : nullptr;
    core::PrincipalRef& principal = operators_[request.peer.uid()];
    if (!principal) principal = trust::local_operator(request.peer.uid());
    return principal;
}

bool AdminService::knows(const net::Connection& connection) {
    return net::is_own_user(connection.peer());
}

std::optional<net::Refusal> AdminService::refuse_head(const net::HttpRequest& request) {
    const auto origin = request.find("origin");
    if (!origin) return std::nullopt;
    const std::string_view host = request.head.host;
    if (trust::is_host_allowed(host, {}) && trust::is_origin_allowed(origin, "http", host, {}))
        return std::nullopt;
    net::Refusal refusal{.status = 403};
    net::append_route_error(
        refusal.body, request.match.route,
        {.code = ErrorCode::kForbidden, .message = "this origin may not use the admin socket"});
    return refusal;
}

std::optional<net::Upgrade> AdminService::upgrade(const net::HttpRequest& request,
                                                  const net::WebSocketOffer& offer) {
    if (!net::is_own_user(request.peer))
        return net::Refusal{
            .status = 403,
            .body = R"({"error":"the admin socket is for the user who runs the gateway",)"
                    R"("code":"FORBIDDEN"})"};
    const core::PrincipalRef principal = caller_of(request);
    if (!principal)
        return net::Refusal{.status = 401,
                            .body = R"({"error":"this session has ended",)"
                                    R"("code":"UNAUTHENTICATED"})"};
    return routes_.upgrade(request, offer, principal);
}

Task<void> AdminService::serve(net::HttpExchange& exchange) {
    const net::HttpRequest& request = exchange.request();
    const net::RouteMatch& match = request.match;
    if (!net::is_own_user(request.peer))
        co_return net::refuse(exchange, match.route, 403,
                              {.code = ErrorCode::kForbidden,
                               .message = "the admin socket is for the user who runs the gateway"});
    if (!net::found_or_refused(exchange, match)) co_return;
    if (match.route->not_while_stopping && stopping_)
        co_return net::refuse(exchange, match.route, 503, stopping_error());
    const core::PrincipalRef principal = caller_of(request);
    if (!principal)
        co_return net::refuse(
            exchange, match.route, 401,
            {.code = ErrorCode::kUnauthenticated, .message = "this session has ended"});
    const bool recorded = audit_ != nullptr && is_change(*match.route);
    if (recorded && !audit_->accepts(principal->id))
        co_return net::refuse(exchange, match.route, 503, no_record_error());
    const Request routed{exchange, principal, match.arguments};
    if (!routes_.serve_now(match, routed)) co_await routes_.serve(match, routed);
    if (recorded) record_change(*audit_, exchange, *principal);
}

}  // namespace crab::gateway
