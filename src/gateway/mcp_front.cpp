#include "gateway/mcp_front.hpp"

#include "runtime/event_loops.hpp"

#include <array>
#include <utility>

namespace crab::gateway {

namespace {

mcp::ServerOptions options_of(const config::McpOptions& mcp) {
    std::vector<mcp::Revision> versions;
    for (const std::string& name : mcp.versions) {
        if (const auto revision = mcp::find_revision(name)) versions.push_back(*revision);
    }
    mcp::ServerOptions options;
    if (!versions.empty()) options.versions = mcp::RevisionSet(versions);
    options.version = CRAB_VERSION;
    options.instructions = mcp.instructions;
    options.max_request = mcp.max_request;
    options.stream_after = mcp.stream_after;
    options.keepalive = mcp.keepalive;
    options.list_ttl = mcp.list_ttl;
    options.page = mcp.page;
    options.listens_per_principal = mcp.streams_per_principal;
    options.names.max = mcp.names.max;
    if (mcp.names.dots_to_underscores) options.names.dots = mcp::Dots::kUnderscore;
    options.sessions = {.idle = mcp.session_idle, .per_principal = mcp.sessions_per_principal};
    return options;
}

}  // namespace

/// All but the servers, which the other half has.
std::span<const ConfigKey> McpFront::keys() const {
    using Config = const config::GatewayConfig&;
    static constexpr ConfigKey kKeys[] = {
        restart_key("mcp.enabled", [](Config c) { return c.mcp.enabled; }),
        restart_key("mcp.versions", [](Config c) { return c.mcp.versions; }),
        restart_key("mcp.instructions", [](Config c) { return c.mcp.instructions; }),
        restart_key("mcp.names", [](Config c) { return c.mcp.names; }),
        restart_key("mcp.page", [](Config c) { return c.mcp.page; }),
        restart_key("mcp.max_request", [](Config c) { return c.mcp.max_request; }),
        restart_key("mcp.sessions_per_principal",
                    [](Config c) { return c.mcp.sessions_per_principal; }),
        restart_key("mcp.streams_per_principal",
                    [](Config c) { return c.mcp.streams_per_principal; }),
        restart_key("mcp.stream_after", [](Config c) { return c.mcp.stream_after; }),
        restart_key("mcp.keepalive", [](Config c) { return c.mcp.keepalive; }),
        restart_key("mcp.list_ttl", [](Config c) { return c.mcp.list_ttl; }),
        restart_key("mcp.session_idle", [](Config c) { return c.mcp.session_idle; })};
    return kKeys;
}

/// The key that seals cursors is of this start: a client whose cursor is older begins anew.
Result<void> McpFront::start() {
    state_.emplace(options_of(uses_.context.config.mcp), uses_.context.clock, random_,
                   crypto::AesKey(random_.bytes<32>()));
    for (const auto& lane : uses_.calls.lanes()) {
        const mcp::Endpoint::Uses uses{
            .loop = lane->loop,
            .pipeline = lane->pipeline,
            .registry = uses_.context.registry,
            .catalogs = uses_.shared.catalogs,
            .watches = uses_.shared.watches,
            .state = *state_,
            .artifacts = {&uses_.artifacts.store(), &uses_.artifacts.pool()}};
        endpoints_.push_back(std::make_unique<mcp::Endpoint>(uses));
        loops_.push_back(&lane->loop);
    }
    uses_.credentials.tokens().on_revoked(
        [this](const std::string& credential) { end_credential(credential); });
    return {};
}

void McpFront::end_credential(const std::string& credential) {
    state_->sessions.end_credential(credential);
    state_->parked.end_credential(credential);
    for (std::size_t i = 0; i < endpoints_.size(); ++i)
        loops_[i]->post(
            [endpoint = endpoints_[i].get(), credential] { endpoint->end_credential(credential); });
}

void McpFront::add_routes(const ListenerRoutes& table) {
    if (!uses_.context.config.mcp.enabled) return;
    // The admin socket is where `crab mcp stdio` comes in.
    if (table.kind == ListenerKind::kPublic) endpoints_[table.loop]->add_routes(table.routes);
    if (table.kind == ListenerKind::kAdmin)
        endpoints_[table.loop]->add_routes(table.routes, mcp::Carrier::kStdio);
}

void McpFront::drain() {
    state_->parked.give_up();
    for (std::size_t i = 0; i < endpoints_.size(); ++i)
        loops_[i]->post([endpoint = endpoints_[i].get()] { endpoint->stop(); });
}

void McpFront::stop(Deadline deadline) {
    uses_.loops.finish_on_each(deadline, [this](std::size_t i, std::function<void()> done) {
        endpoints_[i]->end(std::move(done));
    });
}

}  // namespace crab::gateway
