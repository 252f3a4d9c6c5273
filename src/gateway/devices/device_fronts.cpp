#include "gateway/devices/device_fronts.hpp"

#include "agent/agent.hpp"
#include "gateway/devices/away_devices.hpp"
#include "gateway/devices/built_in_tools.hpp"
#include "gateway/rules/call_rules.hpp"

#include <chrono>

namespace crab::gateway {

std::span<const ConfigKey> DeviceFronts::keys() const {
    static constexpr ConfigKey kKeys[] = {
        reload_key("listen.allowed_origins",
                   [](auto& c) -> auto& { return c.listen.allowed_origins; }),
        reload_key("listen.host_names", [](auto& c) -> auto& { return c.listen.host_names; }),
        reload_key("listen.max_connections_per_principal",
                   [](auto& c) -> auto& { return c.listen.max_connections_per_principal; }),
        reload_key("limits.message_bytes", [](auto& c) -> auto& { return c.limits.message_bytes; }),
        reload_key("limits.json_depth", [](auto& c) -> auto& { return c.limits.json_depth; }),
        reload_key("limits.tools_per_connection",
                   [](auto& c) -> auto& { return c.limits.tools_per_connection; }),
        reload_key("limits.tool_name", [](auto& c) -> auto& { return c.limits.tool_name; }),
        reload_key("limits.description_bytes",
                   [](auto& c) -> auto& { return c.limits.description_bytes; }),
        reload_key("limits.parameters_bytes",
                   [](auto& c) -> auto& { return c.limits.parameters_bytes; }),
        reload_key("limits.calls_per_connection",
                   [](auto& c) -> auto& { return c.limits.calls_per_connection; }),
        reload_key("limits.waiting_turns", [](auto& c) -> auto& { return c.limits.waiting_turns; }),
        reload_key("devices.grace_ms", [](auto& c) -> auto& { return c.devices.grace; }),
        reload_key("devices.ping_after_s", [](auto& c) -> auto& { return c.devices.ping_after; }),
        reload_key("devices.permessage_deflate",
                   [](auto& c) -> auto& { return c.devices.permessage_deflate; }),
        reload_key("devices.query_token", [](auto& c) -> auto& { return c.devices.query_token; }),
        reload_key("calls.default_timeout_ms",
                   [](auto& c) -> auto& { return c.calls.default_timeout; }),
        reload_key("calls.max_timeout_ms", [](auto& c) -> auto& { return c.calls.max_timeout; }),
        reload_key("approvals.in_chat", [](auto& c) -> auto& { return c.approvals.in_chat; }),
        reload_key("approvals.new_tools", [](auto& c) -> auto& { return c.approvals.new_tools; }),
        reload_key("artifacts.inline_bytes",
                   [](auto& c) -> auto& { return c.artifacts.inline_bytes; }),
        reload_key("artifacts.uploads", [](auto& c) -> auto& { return c.artifacts.uploads; }),
        reload_key("tools", [](auto& c) -> auto& { return c.tools; })};
    return kKeys;
}

void DeviceFronts::make_hub() {
    trust::Tokens& tokens = uses_.credentials.tokens();
    hub_ = std::make_unique<clawseed::Hub>(
        clawseed::Hub::Services{
            .clock = uses_.context.clock,
            .registry = uses_.context.registry,
            .rules = uses_.rules.rules(),
            .audit = uses_.audit.log(),
            .chats = uses_.chats.chats(),
            .store_pool = uses_.session_workers.chats(),
            .schemas = &uses_.session_workers.schemas(),
            .device_tools = &uses_.approvals.device_tools(),
            .approvals = &uses_.approvals.approvals(),
            .turn_log = &uses_.events.turns(),
            .away = &uses_.rules.away(),
            .artifacts = &uses_.artifacts.store(),
            .artifact_pool = &uses_.artifacts.pool(),
            .on_left = [&tokens](const std::string& credential) { tokens.seen(credential); }},
        make_clawseed_options(uses_.context.config),
        [this](net::EventLoop& loop) { return uses_.turns.runner_of(loop); });
    tokens.on_revoked([this](const std::string& credential) {
        hub_->close_credential(credential);
        uses_.approvals.approvals().withdraw(credential);
    });
}

Result<void> DeviceFronts::start() {
    facts_.started = uses_.context.clock.steady_now();
    make_hub();
    uses_.context.registry.reserve(agent::kFindTools);
    register_built_in_tools(uses_.context.registry,
                            {.connected = [this] { return hub_->connected(); },
                             .paired =
                                 [this] {
                                     return devices_that_may_connect(
                                         uses_.credentials.tokens(),
                                         uses_.context.clock.system_now());
                                 }});
    uses_.context.registry.set_absent(std::make_shared<AwayDevices>(
        uses_.credentials.tokens(), uses_.approvals.device_tools(), uses_.context.clock));
    const auto session_deleted = [this, end_leases = uses_.access.on_session_deleted()](
                                     const core::Principal& owner,
                                     const core::ChatSession& session) {
        uses_.approvals.approvals().end_session(owner.id, session.id.text());
        end_leases(owner, session);
    };
    for (const auto& part : uses_.calls.parts()) {
        fronts_.push_back(std::make_unique<clawseed::Front>(
            part->loop,
            clawseed::Front::Services{.hub = *hub_,
                                      .pipeline = part->pipeline,
                                      .runner = *uses_.turns.runner_of(part->loop),
                                      .credentials = uses_.credentials.cache(part->place),
                                      .codes = uses_.credentials.codes(),
                                      .keys = uses_.credentials.keys_of_devices(),
                                      .pool = uses_.workers.pool(),
                                      .ledger = uses_.ledger.ledger(),
                                      .journal = uses_.ledger.journal(),
                                      .facts = facts_,
                                      .budgets = &uses_.context.budgets,
                                      .session_deleted = session_deleted}));
    }
    return {};
}

Result<Component::Change> DeviceFronts::prepare(const config::GatewayConfig& next) {
    return [this, options = make_clawseed_options(next)] { hub_->set_options(options); };
}

void DeviceFronts::add_metrics(core::MetricsPage& page) {
    page.add([this](std::string& out) { append_metrics(out); });
}

void DeviceFronts::append_metrics(std::string& out) const {
    const auto up = uses_.context.clock.steady_now() - facts_.started;
    core::append_metric(out, "crab_uptime_seconds", "gauge", "Since the start.",
                        std::chrono::duration<double>(up).count());
    core::append_metric(out, "crab_devices_connected", "gauge",
                        "Live connections of devices and chat clients.",
                        static_cast<double>(hub_->connected().size()));
    core::append_metric(out, "crab_device_links_kept", "gauge",
                        "Devices that may take up their calls again after a break.",
                        static_cast<double>(hub_->known_links()));
    const clawseed::Uploads& uploads = hub_->uploads();
    core::append_metric(out, "crab_artifact_uploads_running", "gauge", "Uploads under way.",
                        static_cast<double>(uploads.running()));
    core::append_metric(out, "crab_artifact_uploads_total", "counter", "Uploads that were stored.",
                        static_cast<double>(uploads.stored.value()));
    core::append_metric(out, "crab_artifact_uploads_refused_total", "counter",
                        "Uploads of which nothing was kept.",
                        static_cast<double>(uploads.refused.value()));
}

void DeviceFronts::add_routes(const ListenerRoutes& table) {
    if (table.kind == ListenerKind::kPublic) fronts_[table.loop]->add_routes(table.routes);
    if (table.kind == ListenerKind::kAdmin) fronts_[table.loop]->add_chat_routes(table.routes);
}

}  // namespace crab::gateway
