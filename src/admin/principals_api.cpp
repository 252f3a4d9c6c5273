#include "admin/principals_api.hpp"

#include "admin/device_list.hpp"
#include "admin/pairing_wire.hpp"
#include "net/codec/http_text.hpp"

#include <algorithm>
#include <map>
#include <string_view>

namespace crab::admin {
namespace {

struct Known {
    OtherPrincipal principal;
    std::string_view kind;
    std::vector<trust::TokenRecord> tokens{};
};

void append_known(json::Writer& writer, const Known& known) {
    writer.begin_object().key("id").string_lossy(known.principal.id);
    if (!known.principal.name.empty()) writer.key("name").string_lossy(known.principal.name);
    writer.key("kind").string(known.kind);
    append_roles(writer, known.principal.roles);
    if (known.principal.last_seen)
        writer.key("last_seen_at").string(to_rfc3339(*known.principal.last_seen));
    writer.key("tokens").begin_array();
    for (const trust::TokenRecord& token : known.tokens) DeviceList::append_token(writer, token);
    writer.end_array().end_object();
}

core::Roles both(core::Roles one, core::Roles other) {
    auto merged = core::Roles::parse(one.empty()     ? other.to_text()
                                     : other.empty() ? one.to_text()
                                                     : one.to_text() + "," + other.to_text());
    return merged.value_or(one);
}

}  // namespace

void PrincipalsApi::add_routes(net::Routes<core::PrincipalRef>& routes) {
    routes.add({.path = "/v1/admin/principals",
                .summary = "Who may come in: roles and credentials, of which nothing is secret",
                .answers = {{200, "principal_list"}}},
               [this](const Request& request) { list(request); });
}

void PrincipalsApi::list(const Request& request) const {
    std::map<std::string, Known> all;
    const core::Principal& asker = *request.principal;
    all[asker.id] = {.principal = {.id = asker.id, .name = {}, .roles = asker.roles},
                     .kind = "local"};
    for (trust::TokenRecord& token : services_.tokens.list()) {
        const std::string id = token.principal_id();
        Known& known = all[id];
        known.principal.id = id;
        known.principal.name = token.name;
        known.kind = token.device.empty() ? "caller" : "device";
        if (!token.revoked_at) known.principal.roles = both(known.principal.roles, token.roles);
        known.principal.last_seen = std::max(known.principal.last_seen, token.last_used_at);
        known.tokens.push_back(std::move(token));
    }
    for (const trust::DeviceRecord& device : services_.tokens.devices())
        if (const auto known = all.find("device/" + device.slug); known != all.end())
            known->second.principal.name = device.display_name;
    for (OtherPrincipal& agent : services_.agents())
        all[agent.id] = {.principal = agent, .kind = "agent"};
    for (OtherPrincipal& peer : services_.peers())
        all[peer.id] = {.principal = peer, .kind = "peer"};
    net::HttpExchange& exchange = request.exchange;
    json::Writer writer(exchange.begin_response(200, net::kJsonType));
    writer.begin_object().key("principals").begin_array();
    for (const auto& [id, known] : all) append_known(writer, known);
    writer.end_array().end_object();
    exchange.finish_response();
}

}  // namespace crab::admin
