#include "admin/policy_api.hpp"

#include "json/writer.hpp"
#include "net/codec/url.hpp"
#include "trust/named_principal.hpp"

namespace crab::admin {

bool PolicyApi::serve(net::HttpExchange& exchange) {
    const net::HttpRequest& request = exchange.request();
    if (request.path() != "/v1/admin/policy") return false;
    if (request.method() != "GET") {
        exchange.respond_error(405, "INVALID_ARGS", "use GET", {{"Allow", "GET"}});
        return true;
    }
    const auto asked = [&](std::string_view name) {
        return net::find_query(request.query(), name).value_or("");
    };
    const std::string as = asked("as"), action = asked("action"), roles_text = asked("roles");
    const auto roles = core::Roles::parse(roles_text);
    if (as.empty() || action.empty() || (!roles_text.empty() && !roles)) {
        exchange.respond_error(400, "INVALID_ARGS",
                               "name a principal (as) and an action; roles are a list with commas");
        return true;
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
    return true;
}

}  // namespace crab::admin
