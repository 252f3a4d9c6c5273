#include "admin/policy_matrix.hpp"

#include "admin/query_number.hpp"
#include "json/writer.hpp"
#include "net/codec/http_text.hpp"
#include "net/codec/url.hpp"

#include <algorithm>
#include <string>

namespace crab::admin {
namespace {

/// `{name,verdict,rule}`; and `depends_on_arguments` where rules about arguments may decide
/// otherwise.
void append_verdict(json::Writer& writer, const core::RegistrySnapshot::Listed& listed,
                    const core::Principal& who, const core::Policy& policy) {
    const std::string_view tenant = policy.home_tenant(who);
    const core::Decision any = policy.decide_call(who, *listed.tool, std::nullopt, tenant);
    // Where nothing is seen of the arguments every rule about them refuses and asks.
    const core::Decision unseen =
        policy.decide_call(who, *listed.tool, core::CallArguments::not_json(), tenant);
    writer.begin_object().key("name").string(listed.name);
    writer.key("verdict").string(core::name_of(any.verdict));
    writer.key("rule").string_lossy(any.rule);
    if (any.verdict != unseen.verdict) writer.key("depends_on_arguments").boolean(true);
    writer.end_object();
}

}  // namespace

void PolicyMatrix::add_routes(net::Routes<core::PrincipalRef>& routes) {
    routes.add({.path = "/v1/admin/policy/matrix",
                .summary = "Which tools may this principal call now, and by which rule?",
                .query = {{"as", "the principal, such as caller/ci"},
                          {"cursor", "that of the page before; else from the first tool on"},
                          {"limit", "how many tools; 200, at most 1000"}},
                .answers = {{200, "policy_matrix"}},
                .refusals = {400}},
               [this](const Request& request) { answer(request); });
}

void PolicyMatrix::answer(const Request& request) {
    net::HttpExchange& exchange = request.exchange;
    const std::string_view query = exchange.request().query();
    const std::string as = net::find_query(query, "as").value_or("");
    const std::string after = net::find_query(query, "cursor").value_or("");
    const auto asked = number_in(query, "limit", kPageRows);
    if (!asked || *asked == 0)
        return exchange.respond_error(400, "INVALID_ARGS", "limit is a whole number from 1 on");
    const std::size_t limit = std::min(*asked, kMostRows);
    const core::PrincipalRef who = services_.principals.find(as);
    if (who->roles.empty()) return exchange.respond_error(400, "INVALID_ARGS", kNoSuchPrincipal);
    const auto rules = services_.rules.get();
    // One more than is shown tells whether there is another page.
    const auto listed = tools_.list(after, limit + 1);
    const std::size_t shown = std::min(listed.size(), limit);
    std::string& out = exchange.begin_response(200, net::kJsonType);
    json::Writer writer(out);
    writer.begin_object().key("tools").begin_array();
    for (std::size_t i = 0; i < shown; ++i) append_verdict(writer, listed[i], *who, *rules->policy);
    writer.end_array();
    if (shown < listed.size()) writer.key("cursor").string(listed[shown - 1].name);
    writer.end_object();
    exchange.finish_response();
}

}  // namespace crab::admin
