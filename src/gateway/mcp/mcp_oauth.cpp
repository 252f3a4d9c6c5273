#include "gateway/mcp/mcp_oauth.hpp"

namespace crab::gateway {
namespace {

mcp::ResourceOptions options_of(const config::GatewayConfig& config) {
    const config::McpOauthOptions& oauth = *config.mcp.oauth;
    return {.issuer = oauth.issuer,
            .issuer_name = oauth.issuer_name,
            .resource = oauth.resource,
            .path = config.listen.path_prefix + "/mcp",
            .jwks = oauth.jwks,
            .introspection = oauth.introspection,
            .introspection_client = oauth.introspection_client,
            .introspection_secret = oauth.introspection_secret.text,
            .scopes = oauth.scopes,
            .tenant_claim = oauth.tenant_claim,
            .roles_claim = oauth.roles_claim};
}

}  // namespace

std::span<const ConfigKey> McpOauth::keys() const {
    static constexpr ConfigKey kKeys[] = {
        restart_key("mcp.oauth", [](auto& c) -> auto& { return c.mcp.oauth; })};
    return kKeys;
}

Result<void> McpOauth::start() {
    const config::GatewayConfig& config = uses_.context.config;
    if (!config.mcp.oauth || !config.mcp.enabled) return {};
    mcp::ResourceOptions options = options_of(config);
    if (auto good = mcp::check_resource_options(options); !good) return good;
    auto tls = net::TlsContext::make({.role = net::TlsContext::Role::kClient,
                                      .peer_check = net::TlsContext::PeerCheck::kChainAndName,
                                      .alpn = "http/1.1"});
    if (!tls) return fail(std::move(tls.error()));
    for (net::EventLoop* loop : uses_.loops.all())
        parts_.push_back(std::make_unique<Part>(*loop, uses_.workers.names(), *tls, options));
    return {};
}

void McpOauth::add_routes(const ListenerRoutes& table) {
    if (table.kind == ListenerKind::kPublic && !parts_.empty())
        parts_[table.loop]->server.add_routes(table.routes);
}

}  // namespace crab::gateway
