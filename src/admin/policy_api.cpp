#include "admin/policy_api.hpp"

#include "json/writer.hpp"
#include "net/codec/url.hpp"
#include "trust/named_principal.hpp"

namespace crab::admin {

void PolicyApi::add_routes(net::Routes<core::PrincipalRef>& routes) {
    routes.add({.path = "/v1/admin/policy",
                .summary = "May this principal do this action now, and by which rule?",
                .query = {{"as", "the principal, such as caller/ci"},
                          {"action", "such as tools.call:search"},
                          {"tenant", "where"},
                          {"agent", "for which agent"},
                          {"session", "in which session"},
                          {"lease", "with which lease"},
                          {"roles", "a list with commas, instead of the principal's own"}},
                .answers = {{200, "policy_decision"}},
                .refusals = {400}},
               [this](const net::Routes<core::PrincipalRef>::Request& request) {
                   decide(request.exchange);
               });
}

void PolicyApi::decide(net::HttpExchange& exchange) const {
    const net::HttpRequest& request = exchange.request();
    const auto asked = [&](std::string_view name) {
        return net::find_query(request.query(), name).value_or("");
    };
    const std::string as = asked("as"), action = asked("action"), roles_text = asked("roles");
    const auto roles = core::Roles::parse(roles_text);
    if (as.empty() || action.empty() || (!roles_text.empty() && !roles)) {
        exchange.respond_error(400, "INVALID_ARGS",
                               "name a principal (as) and an action; roles are a list with commas");
        return;
    }
    const core::Principal principal =
        trust::principal_named(as, roles_text.empty() ? std::nullopt : roles);
    const std::string tenant = asked("tenant"), agent = asked("agent"), session = asked("session");
    const trust::ActionDecision decision = access_.decide(
        principal, action, {.tenant = tenant, .agent_id = agent, .session_id = session},
        asked("lease"));
    std::string& out = exchange.begin_response(200, "application/json");
    json::Writer(out)
        .begin_object()
        .key("verdict")
        .string(core::name_of(decision.verdict))
        .key("rule")
        .string_lossy(decision.rule)
        .end_object();
    exchange.finish_response();
}

}  // namespace crab::admin
