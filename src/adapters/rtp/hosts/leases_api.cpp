#include "adapters/rtp/hosts/leases_api.hpp"

#include "adapters/rtp/calls/call_wire.hpp"
#include "adapters/rtp/calls/route_errors.hpp"
#include "adapters/rtp/hosts/leases_wire.hpp"
#include "json/writer.hpp"
#include "net/codec/http_text.hpp"

#include <fmt/format.h>

namespace crab::rtp {
namespace {

int status_of(ErrorCode code) {
    if (code == ErrorCode::kInvalidArgs) return 400;
    if (code == ErrorCode::kForbidden) return 403;
    if (code == ErrorCode::kNotFound) return 404;
    if (code == ErrorCode::kConflict) return 409;
    if (code == ErrorCode::kRateLimited) return 429;
    return code == ErrorCode::kUnavailable ? 503 : 500;
}

void refuse(net::HttpExchange& exchange, const Error& error) {
    const std::string_view code =
        error.code == ErrorCode::kNotFound ? std::string_view("NOT_FOUND") : wire_code(error.code);
    exchange.respond_error(status_of(error.code), code, error.message);
}

void respond(net::HttpExchange& exchange, int status, const Result<trust::Lease>& lease) {
    if (!lease) return refuse(exchange, lease.error());
    json::Writer writer(exchange.begin_response(status, net::kJsonType));
    append_lease(writer, *lease);
    exchange.finish_response();
}

}  // namespace

void LeasesApi::add_routes(net::Routes<core::PrincipalRef>& routes) {
    using Request = net::Routes<core::PrincipalRef>::Request;
    routes.add({.path = "/v1/leases",
                .summary = "The caller's leases, and those that its policy lets it see",
                .errors = append_route_error,
                .answers = {{200, "lease_list"}}},
               [this](const Request& request) { list(request.exchange, *request.principal); });
    routes.add(
        {.method = net::Method::kPost,
         .path = "/v1/leases",
         .summary = "Ask for a lease",
         .errors = append_route_error,
         .request = "lease_request",
         .answers = {{201, "lease"}},
         .refusals = {400, 403, 429, 503}},
        [this](const Request& request) { return make(request.exchange, request.principal); });
    routes.add({.method = net::Method::kDelete,
                .path = "/v1/leases/{lease_id}",
                .summary = "End a lease",
                .errors = append_route_error,
                .answers = {{200, "lease"}},
                .refusals = {403, 404, 503}},
               [this](const Request& request) {
                   return end(request.exchange, request.principal, request.arguments["lease_id"]);
               });
    routes.add({.method = net::Method::kPost,
                .path = "/v1/leases/{lease_id}/renew",
                .summary = "Renew a lease",
                .errors = append_route_error,
                .answers = {{200, "lease"}},
                .refusals = {403, 404, 409, 503}},
               [this](const Request& request) {
                   return renew(request.exchange, request.principal, request.arguments["lease_id"]);
               });
}

Task<void> LeasesApi::make(net::HttpExchange& exchange, core::PrincipalRef principal) {
    auto request = parse_lease_request(exchange.request().body);
    if (!request) {
        refuse(exchange, request.error());
        co_return;
    }
    auto work = [&access = services_.access, principal = std::move(principal),
                 request = std::move(*request)] { return access.grant(*principal, request); };
    const auto lease = co_await services_.pool.run(std::move(work));
    respond(exchange, 201, lease);
}

void LeasesApi::list(net::HttpExchange& exchange, const core::Principal& principal) {
    json::Writer writer(exchange.begin_response(200, net::kJsonType));
    writer.begin_object().key("leases").begin_array();
    for (const trust::Lease& lease : services_.leases.list({})) {
        if (sees(principal, lease)) append_lease(writer, lease);
    }
    writer.end_array().end_object();
    exchange.finish_response();
}

Task<void> LeasesApi::renew(net::HttpExchange& exchange, core::PrincipalRef principal,
                            std::string lease_id) {
    auto work = [&access = services_.access, principal = std::move(principal),
                 id = std::move(lease_id)] { return access.renew(*principal, id); };
    const auto lease = co_await services_.pool.run(std::move(work));
    respond(exchange, 200, lease);
}

/// Another's lease answers like an unknown one.
Task<void> LeasesApi::end(net::HttpExchange& exchange, core::PrincipalRef principal,
                          std::string lease_id) {
    const auto known = services_.leases.find(lease_id);
    if (!known || !sees(*principal, *known)) {
        refuse(exchange,
               Error{.code = ErrorCode::kNotFound, .message = "no such lease, or it has ended"});
        co_return;
    }
    std::string reason = known->owner == principal->id
                             ? std::string("deleted by its owner")
                             : fmt::format("revoked by {}", principal->id);
    auto work = [&leases = services_.leases, id = std::move(lease_id), reason = std::move(reason)] {
        return leases.revoke(id, reason);
    };
    const auto lease = co_await services_.pool.run(std::move(work));
    respond(exchange, 200, lease);
}

bool LeasesApi::sees(const core::Principal& principal, const trust::Lease& lease) const {
    if (lease.owner == principal.id) return true;
    return services_.access
        .decide(principal, "control.sessions:leases",
                {.tenant = lease.tenant_id, .agent_id = {}, .session_id = {}}, {})
        .allowed();
}

}  // namespace crab::rtp
