#include "gateway/operator_api.hpp"

#include "gateway/device_page.hpp"
#include "setup/public_address.hpp"

namespace crab::gateway {

std::span<const ConfigKey> OperatorApi::keys() const {
    static constexpr ConfigKey kKeys[] = {restart_key(
        "devices.token_days", [](auto& c) -> auto& { return c.devices.token_lifetime; })};
    return kKeys;
}

Result<void> OperatorApi::start() {
    api_ = std::make_unique<admin::AdminApi>(
        admin::AdminApi::Services{.audit = uses_.audit.log(),
                                  .metrics = uses_.context.metrics,
                                  .tokens = uses_.credentials.tokens(),
                                  .codes = uses_.credentials.codes(),
                                  .pool = uses_.workers.pool()},
        view());
    start_tools();
    return {};
}

void OperatorApi::start_tools() {
    CallPath::LoopPart& part = uses_.calls.first();
    checks_ = std::make_unique<core::CallCheck>(
        core::CallServices{.clock = uses_.context.clock,
                           .registry = uses_.context.registry,
                           .rules = uses_.rules.rules(),
                           .ledger = uses_.ledger.ledger(),
                           .early_cancels = uses_.ledger.early_cancels(),
                           .audit = uses_.audit.log()},
        part.loop.executor(), part.loop.timers(), part.loop.ids());
    admin::Gateway seen = view();
    tools_ = std::make_unique<admin::ToolsApi>(
        admin::ToolsApi::Services{.sources = {.pipeline = part.pipeline,
                                              .presence = std::move(seen.presence),
                                              .waiting_tools = std::move(seen.waiting_tools)},
                                  .checks = *checks_,
                                  .tokens = uses_.credentials.tokens(),
                                  .clock = uses_.context.clock});
    matrix_ = std::make_unique<admin::PolicyMatrix>(
        admin::PolicyMatrix::Services{.registry = uses_.context.registry.published(),
                                      .rules = uses_.rules.rules(),
                                      .tokens = uses_.credentials.tokens(),
                                      .clock = uses_.context.clock});
}

void OperatorApi::add_routes(const ListenerRoutes& table) {
    if (table.kind != ListenerKind::kAdmin) return;
    api_->add_routes(table.routes);
    tools_->add_routes(table.routes);
    matrix_->add_routes(table.routes);
}

std::vector<admin::Presence> OperatorApi::presence() {
    std::vector<admin::Presence> all;
    for (const auto& device : uses_.devices.hub().connected()) {
        auto& shown = all.emplace_back(admin::Presence{.device = device.slug,
                                                       .name = device.display_name,
                                                       .principal = device.principal,
                                                       .tools = device.tools,
                                                       .since = device.since,
                                                       .battery = device.presence.battery,
                                                       .charging = device.presence.charging,
                                                       .metered = device.presence.metered,
                                                       .foreground = device.presence.foreground});
        for (const auto& refused : device.refused)
            shown.refused.push_back(
                {refused.name, std::string(token_of(refused.code)), refused.message});
    }
    return all;
}

admin::Gateway OperatorApi::view() {
    admin::Gateway view;
    view.presence = [this] { return presence(); };
    view.running = [this] { return uses_.calls.running(); };
    view.cancel = [this](const core::Principal& asker, std::string_view id) {
        return uses_.calls.cancel(asker, {}, id);
    };
    view.waiting_tools = [this](std::string_view device) {
        return uses_.approvals.device_tools().waiting(device);
    };
    view.approve_tools = [this](const std::string& device, const std::vector<std::string>& names) {
        auto approved = uses_.approvals.device_tools().approve(device, names);
        if (approved) uses_.devices.hub().release_tools(device, *approved);
        return approved;
    };
    view.reload = uses_.reload;
    view.unhealthy = uses_.unhealthy;
    view.version = CRAB_VERSION;
    fill_addresses(view);
    return view;
}

void OperatorApi::fill_addresses(admin::Gateway& view) {
    const config::GatewayConfig& config = uses_.context.config;
    const clawseed::StatusFacts& facts = uses_.devices.facts();
    view.public_endpoint = uses_.public_listener.endpoint();
    if (!view.public_endpoint.empty()) {
        if (const auto place = setup::public_address(config.listen, facts.port))
            view.reach = {.url = place->url("ws", "wss"),
                          .ca_file = place->ca_file,
                          .only_here = place->loopback,
                          .peers = {}};
        view.device_page = device_page_address(config.listen, facts.port);
    }
    view.reach.peers = setup::peer_url(config.listen);
    view.admin_socket = uses_.context.paths.admin_socket;
    view.state_dir = uses_.context.paths.state_dir;
    view.token_lifetime = std::chrono::duration_cast<Milliseconds>(config.devices.token_lifetime);
    view.started = facts.started;
}

}  // namespace crab::gateway
