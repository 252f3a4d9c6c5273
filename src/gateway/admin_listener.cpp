#include "gateway/admin_listener.hpp"

#include "gateway/device_page.hpp"
#include "setup/public_address.hpp"

namespace crab::gateway {

std::span<const ConfigKey> AdminListener::keys() const {
    using Config = const config::GatewayConfig&;
    static constexpr ConfigKey kKeys[] = {
        restart_key("listen.admin", [](Config c) { return c.listen.admin_socket; }),
        restart_key("devices.token_days", [](Config c) { return c.devices.token_lifetime; })};
    return kKeys;
}

Result<void> AdminListener::start() {
    auto listener =
        net::Listener::bind(net::Endpoint::unix_socket(uses_.context.paths.admin_socket));
    if (!listener) return fail(std::move(listener.error()));
    listener_ = std::move(*listener);
    make_apis();
    service_ =
        std::make_unique<AdminService>(AdminService::Apis{.admin = *admin_,
                                                          .tools = *tools_,
                                                          .peers = uses_.peer_records.api(),
                                                          .pairings = uses_.peers.pairings_api(),
                                                          .events = *events_,
                                                          .leases = uses_.access.leases_api(),
                                                          .policy = uses_.access.policy_api(),
                                                          .worktrees = *worktrees_,
                                                          .agents = *agents_,
                                                          .approvals = uses_.approvals.api(),
                                                          .artifacts = uses_.artifacts.api(),
                                                          .chat = uses_.devices.front(0)});
    server_ = std::make_unique<net::HttpServer>(uses_.loops.first(), *service_);
    return server_->listen(*listener_);
}

void AdminListener::make_apis() {
    core::Pipeline& pipeline = uses_.calls.first().pipeline;
    BlockingPool& pool = uses_.workers.pool();
    tools_ =
        std::make_unique<rtp::ToolsApi>(pipeline, uses_.context.config.gateway.name,
                                        uses_.public_listener.canceller(), &uses_.calls.away());
    admin_ = std::make_unique<admin::AdminApi>(
        admin::AdminApi::Services{.pipeline = pipeline,
                                  .audit = uses_.audit.log(),
                                  .metrics = uses_.context.metrics,
                                  .tokens = uses_.credentials.tokens(),
                                  .codes = uses_.credentials.codes(),
                                  .pool = pool},
        view());
    events_ = std::make_unique<rtp::EventsApi>(uses_.loops.first(),
                                               uses_.events.services(uses_.access.access()));
    worktrees_ = std::make_unique<admin::WorktreesApi>(uses_.commands.worktrees(),
                                                       uses_.commands.bindings_file(), pool);
    agents_ = std::make_unique<AgentsApi>(AgentsApi::Services{.setup = uses_.turns.setup(),
                                                              .pipeline = pipeline,
                                                              .turns = uses_.chats.event_turns(),
                                                              .chats = uses_.chats.chats(),
                                                              .pool = pool});
}

std::vector<admin::Presence> AdminListener::presence() {
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

admin::Gateway AdminListener::view() {
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
    view.ledger_failing = [this] { return uses_.ledger.journal().failing(); };
    view.version = CRAB_VERSION;
    fill_places(view);
    return view;
}

void AdminListener::fill_places(admin::Gateway& view) {
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

void AdminListener::add_metrics(core::MetricsPage& page) {
    std::vector<net::ListenerMetrics> listeners;
    listeners.push_back(uses_.public_listener.metrics());
    if (const PeerService* const peers = uses_.peers.service())
        listeners.push_back(
            {.name = "peers", .routes = &peers->table(), .loops = {&peers->metrics()}});
    listeners.push_back(
        {.name = "admin", .routes = &service_->table(), .loops = {&service_->metrics()}});
    page.add([listeners = std::move(listeners)](std::string& out) {
        net::append_route_metrics(out, listeners);
    });
}

void AdminListener::drain() {
    uses_.loops.first().post([this] {
        service_->stop();
        server_->stop_accepting();
    });
}

void AdminListener::stop(Deadline deadline) {
    net::EventLoop& loop = uses_.loops.first();
    uses_.loops.finish(loop, deadline,
                       [this](std::function<void()> done) { events_->stop(std::move(done)); });
    uses_.loops.finish(loop, deadline,
                       [this](std::function<void()> done) { server_->stop(std::move(done)); });
    listener_.reset();
}

}  // namespace crab::gateway
